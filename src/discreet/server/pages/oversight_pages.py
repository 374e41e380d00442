"""The pages of those who watch over a data set: what was spent over time, and the log of its ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from starlette.responses import Response

from discreet.exact.amounts import decimal_text
from discreet.server.pages.answer_view import charge_text
from discreet.server.pages.dataset_pages import question_view
from discreet.server.pages.dataset_tabs import LevelView, base_of, levels_of, or_again, show_tab
from discreet.server.pages.entrance_pages import go
from discreet.server.pages.page_site import PageSite, Problem, Visit
from discreet.service.answer_timing import State
from discreet.service.roles import Action

VERIFIED = {
    "chain": "Verified: every line and every answer of the ledger is as it was written.",
    "head": "Verified: every line and every answer is as it was written, and the ledger continues the published head.",
}
LINES = 50
"""Entries on one page of the log."""


def spending_page(site: PageSite, visit: Visit) -> Response:
    """Every charge that can be seen by now, with the sum of all before it."""
    name = visit.name("dataset")
    site.service.check(visit.who, Action.ALL_QUESTIONS, name)
    whole = next(iter(levels_of(site, visit)), None)
    listed = site.service.questions(visit.who, name)
    entries = [] if whole is None else spending(listed, whole, visit.who.name)
    allowance = whole.allowance if whole else "0"
    unit = whole.unit if whole else "epsilon"
    return show_tab(site, visit, "spending.html", "spending", entries=entries, allowance=allowance, unit=unit)


def spending(listed: Sequence[Mapping[str, Any]], whole: LevelView, who: str) -> list[dict[str, Any]]:
    """The charges of listed questions, the latest first, each with what the whole data set had spent by then.

    What was spent before the first of them, or through another door, is below all of them.
    """
    charged = [one for one in reversed(listed) if _was_charged(one["job"])]
    costs = [Fraction(one["job"].cost.get(whole.unit) or 0) for one in charged]
    total = max(Fraction(whole.spent or 0) - sum(costs), Fraction(0))
    found = []
    for one, cost in zip(charged, costs, strict=True):
        total += cost
        at = datetime.fromtimestamp(one["job"].accepted_at, UTC).isoformat(timespec="milliseconds")
        line = question_view(dict(one), who)
        found.append(line | {"iso": at, "total": float(total), "total_shown": decimal_text(total, digits=6)})
    return found[::-1]


def _was_charged(job: Any) -> bool:
    """Whether a job that has ended was paid for; of one that has not, it is not told."""
    return (job.state is State.READY and bool(job.paid)) or (
        job.state is State.FAILED and job.failure != "budget_exceeded"
    )


def log_page(site: PageSite, visit: Visit, problem: Problem | None = None) -> Response:
    """The entries of the ledger, page by page, and who changed which policy."""
    name = visit.name("dataset")
    given = visit.query("after")
    after = int(given) if given.isdecimal() and len(given) < 16 else 0
    found = site.service.entries(visit.who, name, after, LINES + 1)
    return show_tab(
        site,
        visit,
        "audit.html",
        "log",
        status=200 if problem is None else 422,
        entries=[entry_view(one) for one in found[:LINES]],
        earlier=max(0, after - LINES) if after else None,
        later=found[LINES - 1]["number"] if len(found) > LINES else None,
        changes=[change_view(one) for one in site.service.changes(visit.who, name)],
        problem=problem,
        note=VERIFIED.get(visit.query("verified"), ""),
        given={"head": visit.fields.text("head")},
    )


@or_again(log_page)
def verify(site: PageSite, visit: Visit) -> Response:
    """Verifies the ledger, and that it continues a published head."""
    name, head = visit.name("dataset"), visit.fields.text("head")
    site.service.verify_ledger(visit.who, name, head)
    return go(f"{base_of(name)}/log?verified={'head' if head else 'chain'}")


def refusals_page(site: PageSite, visit: Visit) -> Response:
    """Who was refused what, page by page, the latest first."""
    given = visit.query("before")
    before = int(given) if given.isdecimal() and len(given) < 16 else None
    found, removed = site.service.refusals(visit.who, visit.name("dataset"), before, LINES + 1)
    older = found[LINES - 1]["number"] if len(found) > LINES else None
    shown = [one | {"time": one["made"], "hint": one["hint"][:1].upper() + one["hint"][1:]} for one in found[:LINES]]
    return show_tab(
        site, visit, "refusals.html", "refusals", refusals=shown, older=older, newest=before is None, removed=removed
    )


def entry_view(one: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of a ledger as a line of the log."""
    amounts = {name: one.get(name) for name in ("epsilon", "delta")}
    return {
        "number": one["number"],
        "time": str(one["time"]),
        "who": one.get("who") or "",
        "text": one.get("what") or "",
        "charge": charge_text(amounts),
        "answered": bool(one.get("answered")),
    }


def change_view(one: Mapping[str, Any]) -> dict[str, Any]:
    """A change of policy as a line of the log."""
    detail = {name: value for name, value in one["detail"].items() if value is not None}
    told = [(name, charge_text(value) if isinstance(value, Mapping) else str(value)) for name, value in detail.items()]
    return {"time": one["made"], "who": one["principal"], "what": one["what"], "detail": told}
