"""What is held has a number and a size, whatever is asked."""

from __future__ import annotations

from pathlib import Path

from discreet.service.question_desk import BYTES, CHARACTERS
from discreet.service.recently_used import RecentlyUsed
from service_fixtures import Clock, ask, finished, service_in


def test_what_was_used_last_is_held_up_to_a_size() -> None:
    recent = RecentlyUsed[str](most=3, most_size=10)
    for name, size in (("a", 4), ("b", 4), ("a", 4), ("c", 4), ("a", 4), ("d", 1)):
        assert recent.get(name, lambda name=name: name, size) == name  # type: ignore[misc]  # bound now
    assert [recent.held(name) for name in "abcd"] == ["a", None, "c", "d"]
    assert recent.get("whole", lambda: "whole", 11) == "whole"
    assert [recent.held(name) for name in ("a", "whole")] == ["a", None]
    recent.get("e", lambda: "e", 10)
    assert [recent.held(name) for name in "acde"] == [None, None, None, "e"]


def test_large_answers_do_not_pile_up(tmp_path: Path) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    ada, answers = service.members.principal("ada"), service._desk._answers
    assert answers._most_size == BYTES
    for place in range(1, 5):
        job = service.submit(ada, ask(epsilon=f"0.0{place}")).id
        assert finished(service, ada, job, clock) == "ready"
        shown = service.answer(ada, job)
        assert service.answer(ada, job) is shown
        answers._most_size = 5 * len(service._book.answer(job) or b"") // 2
    assert len(answers._held) == 2
    service.close()


def test_long_questions_do_not_pile_up(tmp_path: Path) -> None:
    """Prices of questions with 40,000 constants, which are free, kept 115 MB each, up to 500 of them."""
    service = service_in(tmp_path, Clock())
    ada = service.members.principal("ada")
    caches = (service._desk._questions, service._desk._explained)
    listed = ", ".join(str(number) for number in range(200))
    for cache in caches:
        assert cache._most_size == CHARACTERS
        cache._most_size = 4 * len(listed)
    for place in range(8):
        service.explain(ada, ask(f"SELECT COUNT(*) AS n FROM people WHERE age IN ({listed}, {place - 50})"))  # noqa: S608 - numbers
    assert [len(cache._held) for cache in caches] == [3, 3]
    service.close()
