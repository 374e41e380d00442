"""What every page is made with: templates, the visit that asks for it, and the way that refusals take to a browser."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.errors import DiscreetError, InvalidParameter, LedgerError
from discreet.server.pages import browser_session as browser
from discreet.server.pages.assets import asset_path
from discreet.server.pages.form_fields import Fields, read_fields
from discreet.service.roles import Principal
from discreet.service.service import Service
from discreet.service.service_errors import Conflict, Forbidden, Late, NotSignedIn, OverLimit

logger = logging.getLogger("discreet.server")

THEMES = ("system", "light", "dark")
FRAGMENT = "x-fragment"
"""The header of a request for a piece of a page, which a script puts into its place."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A refusal as a page shows it: what was expected and got, and the cure."""

    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: Exception) -> Problem:
        r"""The two halves of an error's text; what a ledger or a store says may name a place, and is not shown.

        >>> Problem.of(DiscreetError("Expected a, got b.\nHint: write a."))
        Problem(message='Expected a, got b.', hint='Write a.')
        """
        if isinstance(error, LedgerError):
            return BROKEN
        message, _, hint = str(error).partition("\nHint: ")
        return cls(message=message, hint=hint[:1].upper() + hint[1:])


NOT_THERE = Problem(
    message="There is nothing here for you.",
    hint="It does not exist, or your roles do not reach it: the two look the same. Ask the curator to admit you.",
)
BROKEN = Problem(
    message="The server could not do this.", hint="Its log has the cause. Try again later, or tell who runs it."
)
NOT_OWN = Problem(
    message="This form was not made for your session.", hint="Go back, load the page again, and send it once more."
)
TITLES: tuple[tuple[type[Exception], int, str], ...] = (
    (Forbidden, 404, "Not found"),
    (OverLimit, 429, "Too much at once"),
    (Conflict, 409, "Changed meanwhile"),
    (Late, 409, "Not ready yet"),
    (InvalidParameter, 422, "Not possible"),
    (LedgerError, 503, "Something went wrong"),
    (DiscreetError, 422, "Not possible"),
)
"""What a refusal that no page shows in its own place is called; the first kind that fits."""


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One request of a browser: by whom, in which session, with which form."""

    request: Request
    secret: str
    principal: Principal | None = None
    fields: Fields = field(default_factory=lambda: Fields([]))

    @property
    def who(self) -> Principal:
        """Who is signed in."""
        if self.principal is None:
            raise NotSignedIn("Expected somebody who is signed in, got nobody.")
        return self.principal

    @property
    def theme(self) -> str:
        """The colors that this browser asked for."""
        found = browser.given_cookie(self.request, browser.THEME)
        return found if found in THEMES else "system"

    @property
    def is_fragment(self) -> bool:
        """Whether a script asks for a piece of the page."""
        return FRAGMENT in self.request.headers

    @property
    def here(self) -> str:
        """The address of the page, to come back to."""
        url: URL = self.request.url
        return browser.own_place(url.path + (f"?{url.query}" if url.query else ""))

    def name(self, part: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[part])

    def query(self, part: str) -> str:
        """A part of the query, or nothing."""
        return self.request.query_params.get(part, "").strip()


def moment(given: float | str | None) -> Markup:
    """A time, in seconds since 1970 or as ISO 8601, as a page shows it, in UTC; a dash where there is none.

    >>> moment(0)
    Markup('<time datetime="1970-01-01T00:00:00+00:00">1 Jan 1970, 00:00 UTC</time>')
    """
    if given is None or given == "":
        return Markup("—")
    at = datetime.fromisoformat(given) if isinstance(given, str) else datetime.fromtimestamp(given, UTC)
    shown = f"{at.day} {at:%b %Y, %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(timespec="seconds"), shown)


class PageSite:
    """The templates, and the service that decides about everything that they show."""

    def __init__(self, service: Service, *, sign_in_elsewhere: Mapping[str, str] | None = None) -> None:
        self.service = service
        self.sign_in_elsewhere = sign_in_elsewhere
        """Where a provider signs people in: its ``label``, and the ``href`` that begins it."""
        self._templates = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals["asset"] = asset_path
        self._templates.filters["moment"] = moment

    def show(self, visit: Visit, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """The page of a template, for one visit."""
        token = browser.form_token(visit.secret)
        field_of_token = Markup('<input type="hidden" name="form_token" value="{}">').format(token)
        own = {
            "principal": visit.principal,
            "theme": visit.theme,
            "here": visit.here if visit.request.method == "GET" else "/",
            "csrf_field": lambda: field_of_token,
        }
        text = self._templates.get_template(template).render(**(own | values))
        response = HTMLResponse(text, status_code=status)
        if visit.principal is None and not browser.given_cookie(visit.request, browser.VISITOR):
            browser.set_cookie(response, visit.request, browser.VISITOR, visit.secret)
        return response

    def problem(self, visit: Visit, title: str, problem: Problem, status: int) -> HTMLResponse:
        """A page that says what is wrong, and nothing else."""
        return self.show(visit, "problem.html", status=status, title=title, problem=problem)

    def visit(self, request: Request) -> Visit:
        """Who asks: somebody whose session holds, or a visitor."""
        session = browser.given_cookie(request, browser.SESSION)
        if session:
            try:
                return Visit(request=request, secret=session, principal=self.service.authenticate(session))
            except NotSignedIn:
                pass
        return Visit(request=request, secret=browser.given_cookie(request, browser.VISITOR) or browser.new_visitor())


Handler = Callable[[PageSite, Visit], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def endpoint(site: PageSite, handler: Handler, *, open_to_all: bool = False) -> Endpoint:
    """A page as the server calls it: who asks is known, the form is theirs, and refusals become pages."""

    async def answer(request: Request) -> Response:
        visit = await run_in_threadpool(site.visit, request)
        try:
            if request.method == "POST":
                visit = replace(visit, fields=await read_fields(request))
                if not browser.is_own_form(visit.secret, visit.fields.text("form_token")):
                    return browser.with_headers(site.problem(visit, "Not your form", NOT_OWN, 403))
            if visit.principal is None and not open_to_all:
                return browser.with_headers(_to_sign_in(visit))
            with _within_limits(visit):
                found = await run_in_threadpool(handler, site, visit)
        except NotSignedIn:
            found = _to_sign_in(visit)
        except DiscreetError as error:
            status, title = next((status, title) for kind, status, title in TITLES if isinstance(error, kind))
            problem = NOT_THERE if isinstance(error, Forbidden) else Problem.of(error)
            found = await run_in_threadpool(site.problem, visit, title, problem, status)
        except Exception:
            logger.exception("a page failed")
            found = await run_in_threadpool(site.problem, visit, "Something went wrong", BROKEN, 500)
        return browser.with_headers(found)

    return answer


def _within_limits(visit: Visit) -> AbstractContextManager[None]:
    """Counts the visit among its principal's requests, where the application counts them."""
    allotments = getattr(visit.request.app.state, "allotments", None)
    if visit.principal is None or allotments is None:
        return nullcontext()
    visit.request.state.principal = visit.principal.name
    allotments.take(visit.principal.name)
    found: AbstractContextManager[None] = allotments.one_more(visit.principal.name)
    return found


def _to_sign_in(visit: Visit) -> Response:
    if visit.is_fragment:
        return Response(status_code=401)
    place = URL("/sign-in")
    if visit.request.method == "GET" and visit.here != "/":
        place = place.include_query_params(next=visit.here)
    return RedirectResponse(str(place), status_code=303)
