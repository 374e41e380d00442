"""First looks at small tables whose histograms and key totals can be counted by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.first_looks import key_totals, unit_histogram
from discreet.planning.auto_bounds import LOWEST
from discreet.planning.open_question_plan import Subject, plan_open_question
from discreet.query.question import Question
from discreet.selection.gaussian_partition_selection import STEPS, GaussianKeys
from discreet.testing.neighbors import array
from neighbor_bench import Bench


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def keyed(bench: Bench, data: pa.Table, *names: str, **facts: Any) -> Question:
    stated = {"unit": "person", "max_rows": 1, "max_groups": 3} | facts
    question = bench.protect(data, **stated).group_by(*names, keys=dp.UNKNOWN).agg(n=lambda t: t.count())
    assert question._is_open
    return question


def visits(groups: Mapping[int, Sequence[str | None]]) -> pa.Table:
    rows = [(person, page) for person, pages in groups.items() for page in pages]
    return pa.table({"person": pa.array([r[0] for r in rows], pa.int64()), "page": pa.array([r[1] for r in rows])})


def test_units_are_counted_and_not_rows(bench: Bench) -> None:
    question = keyed(bench, visits({1: ["a", "a", "b"], 2: ["a"], 3: ["b", None], 4: [None]}), "page")
    assert bench.found(question, key_totals(question._query, max_groups=3, steps=1)) == {"a": 2, "b": 2}


def test_rows_are_counted_where_each_is_a_unit(bench: Bench) -> None:
    facts = {"unit": dp.ROW, "max_rows": None, "max_groups": None}
    question = keyed(bench, visits({1: ["a", "a", "b", None]}), "page", **facts)
    assert bench.found(question, key_totals(question._query, max_groups=1, steps=1)) == {"a": 2, "b": 1}


def test_a_unit_adds_to_few_keys(bench: Bench) -> None:
    """Which of them does not depend on other units, nor on the order of rows."""
    pages = [f"p{i}" for i in range(50)]
    alone = keyed(bench, visits({1: pages}), "page")
    chosen = bench.found(alone, key_totals(alone._query, max_groups=3, steps=1))
    assert list(chosen.values()) == [1, 1, 1]
    assert set(chosen) != set(sorted(pages)[:3])
    others = keyed(bench, visits({2: pages[:2], 1: pages[::-1], 3: [None, "z"]}), "page")
    beside = bench.found(others, key_totals(others._query, max_groups=3, steps=1))
    assert beside == dict(Counter([*chosen, *pages[:2], "z"]))


def test_rows_of_a_unit_are_limited_in_each_key(bench: Bench) -> None:
    """Of a unit with four rows in one of its keys, three count there, and in all of as many keys as it may have."""
    rows = visits({1: ["a", "a", "a", "a", "b"], 2: ["a"], 3: ["b", "b", None, None]})
    question = keyed(bench, rows, "page")
    assert bench.found(question, key_totals(question._query, max_groups=2, steps=1, max_rows=3)) == {"a": 4, "b": 3}
    few = bench.found(question, key_totals(question._query, max_groups=1, steps=1, max_rows=3))
    assert few in ({"a": 4, "b": 2}, {"a": 1, "b": 3})


def test_units_choose_for_themselves(bench: Bench) -> None:
    """The same keys are not chosen by everybody: all of ten keys are among the choices of fifty units."""
    question = keyed(bench, visits({person: list("abcdefghij") for person in range(50)}), "page")
    chosen = bench.found(question, key_totals(question._query, max_groups=3, steps=1))
    assert sorted(chosen) == list("abcdefghij")
    assert sum(chosen.values()) == 150


def test_weights_have_norm_one(bench: Bench) -> None:
    """For each number of keys the largest whole number whose squares add up to no more than the square of STEPS."""
    groups = {t: [f"{t}-{i}" for i in range(t)] for t in range(1, 41)}
    question = keyed(bench, visits(groups), "page", max_groups=30)
    totals = bench.found(question, key_totals(question._query, max_groups=30, steps=STEPS))
    law = GaussianKeys(variance=Fraction(1), threshold=1, weighted=True)
    for t in range(1, 41):
        own = [number for page, number in totals.items() if page.startswith(f"{t}-")]
        assert own == [law.weight(min(t, 30))] * min(t, 30)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_far_away_in_time_choose_as_well(bench: Bench, unit: str) -> None:
    """Moments that cannot be written as text: the engine may neither raise nor lose anybody."""
    ends = (-(2**63), -(2**63) + 1, 0, 2**62, 2**63 - 1)
    person = array([end for end in ends for _page in range(5)], pa.timestamp(unit))
    data = pa.table({"person": person, "page": list("abcde") * len(ends)})
    question = keyed(bench, data, "page")
    assert sum(bench.found(question, key_totals(question._query, max_groups=2, steps=1)).values()) == 2 * len(ends)


def test_hostile_keys_are_told_apart(bench: Bench) -> None:
    pages = ["é", "e\u0301", "A", "a", "", " ", "a\x00b", "NULL", "ß", "ss", "\U0010ffff", "x" * 5000]
    question = keyed(bench, visits({1: pages}), "page", max_groups=99)
    totals = bench.found(question, key_totals(question._query, max_groups=99, steps=1))
    assert totals == dict.fromkeys(pages, 1)


def test_keys_of_two_columns(bench: Bench) -> None:
    data = visits({1: ["a", "b"], 2: ["a"]}).append_column("hot", pa.array([True, None, False]))
    question = keyed(bench, data, "page", "hot")
    assert bench.found(question, key_totals(question._query, max_groups=3, steps=1)) == {
        ("a", True): 1,
        ("a", False): 1,
    }


def findings_of(bench: Bench, data: pa.Table, subject: Subject, **facts: Any) -> dict[Any, int]:
    stated = {"unit": "person", "max_rows": "auto", "max_groups": "auto", "bounds": {"v": "auto"}} | facts
    table = bench.protect(data, **stated)
    grouped: Any = table if "page" not in data.column_names else table.group_by("page", keys=dp.UNKNOWN)
    question: Any = grouped.agg(s=lambda t: t.v.sum())
    priced = plan_open_question(question._query, question._open, epsilon=1, delta=1e-6)
    [histogram] = [s for s in priced.histograms if s.subject is subject]
    return bench.found(question, unit_histogram(question._query, histogram))


def test_each_unit_is_in_one_bin(bench: Bench) -> None:
    rng = np.random.default_rng(1)
    person, page = rng.integers(0, 40, 500), rng.zipf(1.5, 500).clip(0, 99)
    data = pa.table({"person": person, "page": page.astype(str), "v": rng.normal(size=500) * 10})
    pairs = {(int(a), str(b)) for a, b in zip(person, page, strict=True)}
    groups, rows = Counter(a for a, _ in pairs), Counter(zip(person.tolist(), page.tolist(), strict=True))
    most = {a: max(n for (b, _), n in rows.items() if a == b) for a in groups}
    for subject, numbers in ((Subject.GROUPS, groups), (Subject.ROWS, most)):
        wanted = Counter((n - 1).bit_length() for n in numbers.values())
        assert findings_of(bench, data, subject) == dict(wanted)
    assert sum(findings_of(bench, data, Subject.SIZE).values()) == len(groups)


def test_sizes_are_those_of_the_value_farthest_from_zero(bench: Bench) -> None:
    values: dict[int, list[float | None]] = {
        1: [0.0],
        2: [1.0, -0.5],
        3: [3.0, -5.0],
        4: [None],
        5: [1e300],
        6: [2.0**-40],
        7: [-1024.0],
        8: [1025.0],
    }
    rows = [(person, v) for person, own in values.items() for v in own]
    data = pa.table({"person": [r[0] for r in rows], "v": pa.array([r[1] for r in rows], pa.float64())})
    bins = findings_of(bench, data, Subject.SIZE)
    assert bins == {0: 2, -LOWEST: 1, -(3 - LOWEST): 1, 53 - LOWEST: 1, -(10 - LOWEST): 1, 11 - LOWEST: 1}


def test_rows_that_do_not_count_have_no_size(bench: Bench) -> None:
    table = bench.protect(pa.table({"v": [1, 8, 100]}), unit=dp.ROW, bounds={"v": "auto"})
    question: Any = table.agg(s=lambda t: t.v.sum(where=t.v < 50))
    [histogram] = plan_open_question(question._query, question._open, epsilon=1).histograms
    assert bench.found(question, unit_histogram(question._query, histogram)) == {-LOWEST: 1, 3 - LOWEST: 1}
