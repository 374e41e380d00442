"""Who was refused what is on record: as it was told, within bounds, and for nobody else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter, InvalidQuery
from discreet.server.http_errors import refusal_response
from discreet.service import recorded_refusals
from discreet.service.analyst_budgets import ANALYST
from discreet.service.recorded_refusals import MOST, REFUSALS, RefusalBook
from discreet.service.roles import Action, Principal, Role
from discreet.service.service import Service
from discreet.service.service_errors import FORBIDDEN, Conflict, Forbidden, OverLimit
from discreet.service.state_store import StateStore, sqlite_file
from service_fixtures import Clock, ask, data_set, service_in

Refused = list[tuple[int, str, str, str]]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = service_in(tmp_path, Clock(), data_set("people", tmp_path), data_set("secret", tmp_path))
    yield made
    made.close()


def somebody(service: Service, name: str) -> Principal:
    return service.members.principal(name)


def on_record(service: Service, dataset: str = "people", who: str = "dora") -> Refused:
    """The refusals of a data set, the first first: number, who, kind and message."""
    found, _ = service.refusals(somebody(service, who), dataset, None, 500)
    return [(one["number"], one["principal"], one["kind"], one["message"]) for one in found[::-1]]


def test_what_is_refused_is_on_record_as_it_was_told(service: Service) -> None:
    ada = somebody(service, "ada")
    told = []
    for asked, kind in (
        (ask(epsilon="1.5"), BudgetExceeded),
        (ask("SELECT ghost FROM people"), InvalidQuery),
        (ask("SELECT \x1b[2J\x00\ud800<b>"), InvalidQuery),
        (ask(epsilon="-1"), InvalidParameter),
        ({"nonsense": 1}, InvalidParameter),
    ):
        with pytest.raises(kind) as refused:
            service.submit(ada, asked)
        told.append(str(refused.value))
    found, removed = service.refusals(somebody(service, "dora"), "people")
    lines = [f"{one['message']}\nHint: {one['hint']}" for one in found[::-1]]
    assert lines[:2] == told[:2]
    assert all(one["message"].isprintable() and one["hint"].isprintable() for one in found)
    assert {(one["principal"], one["what"], one["made"]) for one in found} == {
        ("ada", Action.RELEASE.value, service.settings.clock())
    }
    assert [one["number"] for one in found] == [5, 4, 3, 2, 1]
    assert removed == 0
    assert service.refusals(somebody(service, "dora"), "people", before=3)[0] == found[3:]


def test_prices_and_what_is_answered_are_not(service: Service) -> None:
    ada = somebody(service, "ada")
    service.submit(ada, ask())
    with pytest.raises(InvalidQuery):
        service.explain(ada, ask("SELECT ghost FROM people"))
    assert on_record(service) == []


def test_changes_that_are_refused_are_on_record(service: Service) -> None:
    ada, cleo = somebody(service, "ada"), somebody(service, "cleo")
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    wanted: tuple[Callable[[], Any], ...] = (
        lambda: service.admit(cleo, "people", "ada", group="staff"),
        lambda: service.raise_allowance(cleo, "people", (ANALYST, "ada"), {"epsilon": "0.01"}, "less"),
        lambda: service.set_standing(cleo, "people", (ANALYST, "ada"), "thaw", "why not"),
        lambda: service.open_group(cleo, "people", "staff", {}),
        lambda: service.request(ada, "people", {"epsilon": "0.1"}, ""),
    )
    for do in wanted:
        with pytest.raises(DiscreetError):
            do()
    request = service.request(ada, "people", {"epsilon": "0.1"}, "more")
    service.decide(cleo, request.id, approve=False)
    with pytest.raises(Conflict):
        service.decide(cleo, request.id, approve=True)
    assert [line[1:3] for line in on_record(service)] == [
        ("cleo", "conflict"),
        ("cleo", "conflict"),
        ("cleo", "invalid_parameter"),
        ("cleo", "invalid_parameter"),
        ("ada", "invalid_parameter"),
        ("cleo", "conflict"),
    ]


def test_who_oversteps_a_role_is_on_record_and_who_has_none_is_not(service: Service) -> None:
    ada, dora = somebody(service, "ada"), somebody(service, "dora")
    for do in (
        lambda: service.entries(ada, "people"),
        lambda: service.refusals(ada, "people"),
        lambda: service.spending(ada, "people"),
        lambda: service.admit(ada, "people", "bob"),
        lambda: service.submit(dora, ask()),
        lambda: service.entries(ada, "secret"),
        lambda: service.entries(ada, "absent"),
    ):
        with pytest.raises(Forbidden):
            do()
    message, _, _ = FORBIDDEN.partition("\n")
    found, _ = service.refusals(dora, "people")
    assert [(one["principal"], one["what"]) for one in found[::-1]] == [
        ("ada", Action.AUDIT.value),
        ("ada", Action.REFUSALS.value),
        ("ada", Action.ALL_QUESTIONS.value),
        ("ada", Action.ADMIT.value),
        ("dora", Action.RELEASE.value),
    ]
    assert {(one["kind"], one["message"]) for one in found} == {("not_found", message)}
    service.members.give("sam", "secret", Role.AUDITOR)
    assert on_record(service, "secret", "sam") == []


def test_a_text_that_names_another_data_set_is_on_record_without_its_words(service: Service) -> None:
    """Its auditors are others. What a refusal proposes counts as well, and so does a statement that names none."""
    for name in ("people", "secret"):
        service.members.give("eve", name, Role.ANALYST)
    service.members.give("sam", "secret", Role.AUDITOR)
    eve = somebody(service, "eve")
    for sql in (
        "SELECT ghost FROM people",
        "SELECT COUNT(*) FROM people JOIN secret USING (person)",
        "SELECT COUNT(*) FROM people JOIN secre USING (person)",
        "SELECT COUNT(*) FROM nowhere_at_all",
        "SELECT ghost FROM secret",
    ):
        with pytest.raises(InvalidQuery):
            service.submit(eve, ask(sql))
    people, secret = on_record(service), on_record(service, "secret", "sam")
    assert [bool(message) for *_, message in people] == [True, False, False, False]
    assert [bool(message) for *_, message in secret] == [False, False, False, True]
    assert not any("secre" in message for *_, message in people)
    assert not any("people" in message for *_, message in secret)


def test_refusals_without_end_push_out_nobody_elses(
    opened: Callable[[], StateStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_refusals, "MOST", 10)
    flood(RefusalBook(opened(), Clock()), RefusalBook(opened(), Clock()), most=10, times=25)


@pytest.mark.long
def test_ten_thousand_refusals_leave_the_newest_thousand(tmp_path: Path) -> None:
    store = StateStore(sqlite_file(tmp_path / "state.db"))
    flood(RefusalBook(store, Clock()), most=MOST, times=1250)
    store.close()
    assert (tmp_path / "state.db").stat().st_size < 2_000_000


def flood(book: RefusalBook, *others: RefusalBook, most: int, times: int) -> None:
    """Eight requests at once, over and over, to one process or to several."""
    books = (book, *others)
    book.note("bob", ["people"], Action.AUDIT, Forbidden(FORBIDDEN))
    refused = OverLimit("Expected less, got more.\nHint: wait.")

    def repeat(client: int) -> None:
        for _ in range(times):
            books[client % len(books)].note("ada", ["people", "secret"], Action.RELEASE, refused)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(repeat, range(8)))
    found, removed = book.of("people", None, 10_000)
    last = 8 * times + 1
    assert [one["number"] for one in found] == [*range(last, last - most, -1), 1]
    assert removed == last - most - 1
    assert book.of("secret", None, 10_000)[1] == 8 * times - most
    assert book.of("absent", None, 10_000) == ([], 0)


def test_a_long_text_is_cut(opened: Callable[[], StateStore]) -> None:
    book = RefusalBook(opened(), Clock())
    book.note("ada", ["people"], Action.RELEASE, InvalidQuery("x" * 10**6 + "\nHint: " + "\u202e" * 10**6))
    [line] = book.of("people", None, 1)[0]
    assert {len(line["message"]), len(line["hint"])} == {recorded_refusals.LONGEST}
    assert line["hint"].isascii() is False  # the mark that it goes on, behind escapes
    assert line["hint"][:6] == r"\u202e"


def test_kinds_are_those_that_are_told(opened: Callable[[], StateStore]) -> None:
    book = RefusalBook(opened(), Clock())
    for kind in REFUSALS:
        problem = kind("Expected a count, got none.")
        book.note("ada", ["people"], Action.RELEASE, problem)
        [line] = book.of("people", None, 1)[0]
        assert line["kind"] == json.loads(bytes(refusal_response(problem).body))["error"]
