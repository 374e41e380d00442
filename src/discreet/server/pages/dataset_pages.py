"""The pages of a data set that its analysts use beside asking: declaration, questions, budget and requests."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from discreet.server.pages.answer_pages import sql_of
from discreet.server.pages.answer_view import charge_text
from discreet.server.pages.dataset_tabs import base_of, declared, levels_of, or_again, show_tab
from discreet.server.pages.entrance_pages import go
from discreet.server.pages.page_site import PageSite, Problem, Visit
from discreet.service.answer_timing import State
from discreet.service.roles import Action

SENT = "Your request has been sent. The curator sees it under Requests."


def declaration_page(site: PageSite, visit: Visit) -> Response:
    """What the curator stated about a data set."""
    return show_tab(site, visit, "declaration.html", "", dataset=declared(site, visit), levels=levels_of(site, visit))


def question_view(one: dict[str, Any], who: str) -> dict[str, Any]:
    """A question as a line of a list; its answer is linked for whoever asked it."""
    job = one["job"]
    return {
        "text": sql_of(one["ask"]) or job.what,
        "time": job.accepted_at,
        "who": one["who"],
        "charge": charge_text({} if job.paid is False and job.state is State.READY else job.cost),
        "state": job.state.value,
        "href": f"/answers/{job.id}" if one["who"] == who else "",
    }


def questions_page(site: PageSite, visit: Visit) -> Response:
    """One's own questions; everybody's for those who may see them."""
    name = visit.name("dataset")
    found = [question_view(one, visit.who.name) for one in site.service.questions(visit.who, name)]
    every = visit.who.may(Action.ALL_QUESTIONS, name) or any(one["who"] != visit.who.name for one in found)
    return show_tab(site, visit, "questions.html", "questions", questions=found, all_questions=every)


def budget_page(site: PageSite, visit: Visit, problem: Problem | None = None) -> Response:
    """What is spent and left at every level, and the requests for more."""
    name = visit.name("dataset")
    site.service.check(visit.who, Action.BUDGET, name)
    levels = levels_of(site, visit)
    asks = visit.who.may(Action.REQUEST, name)
    requests = [request_view(one) for one in site.service.requests(visit.who, name)] if asks else []
    given = {part: visit.fields.text(part) for part in ("amount", "reason")}
    return show_tab(
        site,
        visit,
        "budget.html",
        "budget",
        status=200 if problem is None else 422,
        levels=levels,
        requests=[one for one in requests if one["who"] == visit.who.name],
        problem=problem,
        note=SENT if visit.query("sent") else "",
        given=given,
    )


@or_again(budget_page)
def request_more(site: PageSite, visit: Visit) -> Response:
    """Sends a request to the curator."""
    name = visit.name("dataset")
    amount = {"epsilon": visit.fields.text("amount")}
    site.service.request(visit.who, name, amount, visit.fields.text("reason"))
    return go(f"{base_of(name)}/budget?sent=1")


def request_view(one: Any) -> dict[str, Any]:
    """A request as a line of a list."""
    return {
        "id": one.id,
        "who": one.principal,
        "amount": charge_text(one.amount),
        "reason": one.reason,
        "time": one.made,
        "state": one.state,
        "answer": one.answer,
    }
