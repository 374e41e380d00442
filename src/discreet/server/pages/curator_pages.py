"""The curator's pages: who may ask and how much each may spend, and the requests for more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.responses import Response

from discreet.errors import InvalidParameter, expected
from discreet.server.pages.dataset_pages import request_view
from discreet.server.pages.dataset_tabs import LevelView, base_of, level_view, or_again, show_tab
from discreet.server.pages.entrance_pages import go
from discreet.server.pages.page_site import PageSite, Problem, Visit
from discreet.service.analyst_budgets import ANALYST, DATA_SET, GROUP
from discreet.service.roles import Action
from discreet.service.service_errors import forbidden

NOTES = {
    "admit": "The analyst is admitted.",
    "group": "The group is made.",
    "raise": "The allowance is raised.",
    "freeze": "The level is frozen: nothing is charged to it until it is unfrozen.",
    "unfreeze": "The level is open again.",
    "close": "The level is closed for ever.",
    "approved": "The request is approved, and the allowance raised.",
    "approving": "The request is approved. The ledger did not answer; the allowance is raised as soon as it does.",
    "declined": "The request is declined.",
}
"""What a page says after each thing that a curator can do."""


def people_page(site: PageSite, visit: Visit, problem: Problem | None = None) -> Response:
    """Who may ask, and the allowances of all levels."""
    name = visit.name("dataset")
    accounts = accounts_of(site, visit)
    members = site.service.analysts(visit.who, name)
    return show_tab(
        site,
        visit,
        "people.html",
        "people",
        status=200 if problem is None else 422,
        accounts=accounts,
        members=members,
        groups=[one.name for one in accounts if one.kind == GROUP],
        problem=problem,
        note=NOTES.get(visit.query("done"), ""),
        given={part: visit.fields.text(part) for part in ("who", "group", "allowance")},
    )


@or_again(people_page)
def change_people(site: PageSite, visit: Visit) -> Response:
    """Admits, makes a group, or changes a level."""
    name, done = visit.name("dataset"), visit.fields.text("do")
    _verb(done, VERBS)(site, visit, name)
    return go(f"{base_of(name)}/people?done={done}")


def accounts_of(site: PageSite, visit: Visit) -> list[LevelView]:
    """The allowances of a data set: of the whole, of its groups, and of its analysts."""
    name = visit.name("dataset")
    whole = site.service.budget(visit.who, name)[:1]
    groups = site.service.groups(visit.who, name)
    analysts = [one["level"] for one in site.service.analysts(visit.who, name) if one["level"] is not None]
    return [level_view(one) for one in (*whole, *groups, *analysts)]


Verb = Callable[[PageSite, Visit, str], object]


def _verb(name: str, known: Mapping[str, Verb]) -> Verb:
    if name not in known:
        raise InvalidParameter(expected("a button of the form", "do", name[:40], "press one of its buttons."))
    return known[name]


def _amount(visit: Visit) -> dict[str, str]:
    return {"epsilon": visit.fields.text("allowance")}


def _level(visit: Visit) -> tuple[str, str]:
    kind, _, name = visit.fields.text("level").partition(":")
    if kind not in {DATA_SET, GROUP, ANALYST}:
        raise InvalidParameter(expected("a level of the list", "level", kind[:40], "choose one of the list."))
    return kind, name


def _admit(site: PageSite, visit: Visit, name: str) -> object:
    group = visit.fields.text("group") or None
    allowance = _amount(visit) if visit.fields.text("allowance") else None
    return site.service.admit(visit.who, name, visit.fields.text("who"), group=group, allowance=allowance)


def _group(site: PageSite, visit: Visit, name: str) -> object:
    return site.service.open_group(visit.who, name, visit.fields.text("group"), _amount(visit))


def _raise(site: PageSite, visit: Visit, name: str) -> object:
    return site.service.raise_allowance(visit.who, name, _level(visit), _amount(visit), visit.fields.text("why"))


def _stand(site: PageSite, visit: Visit, name: str) -> object:
    change = visit.fields.text("do")
    return site.service.set_standing(visit.who, name, _level(visit), change, visit.fields.text("why"))


def _close(site: PageSite, visit: Visit, name: str) -> object:
    if visit.fields.text("sure") != "yes":
        cure = "tick the box if you are sure: what is closed is never opened again."
        raise InvalidParameter(expected("the box ticked", "sure", "not ticked", cure))
    return _stand(site, visit, name)


VERBS: Mapping[str, Verb] = {
    "admit": _admit,
    "group": _group,
    "raise": _raise,
    "freeze": _stand,
    "unfreeze": _stand,
    "close": _close,
}


def requests_page(site: PageSite, visit: Visit, problem: Problem | None = None) -> Response:
    """The requests of all analysts: those to decide, and those that are decided."""
    name = visit.name("dataset")
    site.service.check(visit.who, Action.DECIDE, name)
    found = [request_view(one) for one in site.service.requests(visit.who, name)]
    return show_tab(
        site,
        visit,
        "requests.html",
        "requests",
        status=200 if problem is None else 422,
        pending=[one for one in found if one["state"] == "open"],
        decided=[one for one in found if one["state"] != "open"],
        problem=problem,
        note=NOTES.get(visit.query("done"), ""),
    )


@or_again(requests_page)
def decide(site: PageSite, visit: Visit) -> Response:
    """Approves or declines a request, with the curator's words."""
    name, done = visit.name("dataset"), visit.fields.text("do")
    if done not in {"approve", "decline"}:
        raise InvalidParameter(expected("approve or decline", "do", done[:40], "press one of the buttons."))
    request, why = visit.fields.text("request"), visit.fields.text("why")
    if request not in {one.id for one in site.service.requests(visit.who, name)}:
        raise forbidden()
    decided = site.service.decide(visit.who, request, approve=done == "approve", reason=why)
    return go(f"{base_of(name)}/requests?done={decided.state}")
