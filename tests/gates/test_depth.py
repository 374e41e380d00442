"""Random tests end in time, never pass for it where an example failed, and say what they tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from depth import FUZZ, Patience, TimeIsOver, examples, is_tried


def test_examples_are_parts_of_the_widest() -> None:
    assert examples() == FUZZ
    assert examples(10**9) == 1


def tried(patience: Patience, most: int) -> None:
    @settings(max_examples=most, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 10**6))
    def run(number: int) -> None:
        patience(number)

    run()


def test_a_share_of_the_cases_is_tried_and_others_each_time() -> None:
    cases = [f"test_x[{i}]" for i in range(1000)]
    tried = {run: {case for case in cases if is_tried(case, run, 40)} for run in "abcdefghij"}
    assert all(300 < len(those) < 500 for those in tried.values())
    assert len(set.union(*tried.values())) > 980
    assert all(is_tried(case, "a", 100) for case in cases)


def with_many_cases(pytester: pytest.Pytester, mark: str, number: int) -> None:
    """A file of one test with a mark and so many cases, under this project's own conftest."""
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers =\n    long: takes long\n    cases: many")
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.{mark}
        @pytest.mark.parametrize("case", range({number}))
        def test_each(case):
            assert case >= 0
    """)


def test_a_third_of_the_long_tests_is_tried_unless_all_are_wanted(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_many_cases(pytester, "long", 300)
    for share, least, most in ((33, 60, 140), (100, 300, 300)):
        monkeypatch.setattr("depth.SHARES", {"cases": 1, "long": share})
        counted = pytester.runpytest_inprocess("-p", "no:cacheprovider").parseoutcomes()
        assert least <= counted["passed"] <= most
        assert counted["passed"] + counted.get("deselected", 0) == 300


def test_cases_that_are_left_out_are_counted(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    with_many_cases(pytester, "cases", 50)
    monkeypatch.setattr("depth.is_tried", lambda *of: "[7]" in of[0])
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, deselected=49)
    file = next(pytester.path.glob("test_*.py")).name
    named = pytester.runpytest_inprocess("-p", "no:cacheprovider", f"{file}::test_each")
    named.assert_outcomes(passed=50)


def test_all_examples_are_tried_in_time() -> None:
    seen: list[int] = []
    patience = Patience(seen.append, 60)
    tried(patience, 20)
    assert (len(seen), patience.tried) == (20, 20)


def test_no_more_examples_are_tried_after_it() -> None:
    seen: list[int] = []
    patience = Patience(seen.append, -1)
    with pytest.raises(TimeIsOver):
        tried(patience, 20)
    assert (seen, patience.tried) == ([], 0)


def test_a_test_that_draws_within_ends_in_time_and_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those do that ask `st.data()`: one that ended early without drawing would be flaky."""
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makepyfile("""
        import time
        from hypothesis import given, settings, strategies as st

        @settings(max_examples=10**4)
        @given(data=st.data())
        def test_slow(data):
            time.sleep(0.02 * data.draw(st.integers(1, 3)) * len(data.draw(st.lists(st.none()))))

        seen = []

        @settings(max_examples=10**4)
        @given(number=st.integers())
        def test_wrong(number):
            seen.append(number)
            assert len(seen) < 4
    """)
    monkeypatch.setattr("depth.SECONDS", 0.5)
    monkeypatch.setattr("depth.Patience.__init__.__defaults__", (0.5,))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["random tests: *; 1 reached their *", "*::test_slow: * tried"])


def test_an_example_that_failed_fails_whenever_it_is_run_again() -> None:
    patience = Patience(lambda _number: pytest.fail("wrong"), 60)

    def fails_late(number: int) -> None:
        try:
            patience(number)
        finally:
            patience.seconds, patience._until = -1.0, 0.0

    for _run in range(2):
        with pytest.raises(pytest.fail.Exception, match="wrong"):
            fails_late(1)


def test_an_example_that_does_not_count_is_no_failure() -> None:
    def even(number: int) -> None:
        assume(number % 2 == 0)

    patience = Patience(even, 60)
    tried(patience, 10)
    assert not patience._has_failed
