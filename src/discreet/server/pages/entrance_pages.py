"""The pages before any data set: sign in, sign out, colors, and the list of data sets."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from discreet.server.pages import browser_session as browser
from discreet.server.pages.dataset_tabs import base_of, levels_of
from discreet.server.pages.page_site import THEMES, PageSite, Problem, Visit
from discreet.service.service_errors import NotSignedIn, forbidden

BAD_TOKEN = Problem(
    message="This token does not sign anybody in.",
    hint="Check that all of it was pasted, and ask your curator for a new one if it has expired.",
)
BAD_ACCOUNT = Problem(
    message="Your organization's account does not sign anybody in here.",
    hint="Try once more from here, or ask your curator whether this account has been admitted.",
)
LONGEST_TOKEN = 4_000


def go(place: str) -> Response:
    """To another page, which the browser fetches anew."""
    return RedirectResponse(place, status_code=303)


def first_page(site: PageSite, visit: Visit) -> Response:
    """The data sets of whoever is signed in."""
    del site, visit
    return go("/datasets")


def nothing_here(site: PageSite, visit: Visit) -> Response:
    """Refuses an address that no page has, like one that somebody may not see."""
    del site, visit
    raise forbidden()


def sign_in_page(site: PageSite, visit: Visit) -> Response:
    """The form that takes a token, and the way to the provider where there is one."""
    if visit.principal is not None:
        return go(browser.own_place(visit.query("next") or "/"))
    return _sign_in(site, visit, browser.own_place(visit.query("next")), None)


def signed_in(site: PageSite, visit: Visit) -> Response:
    """Whether somebody is: a page that was opened from elsewhere is sent no cookie, but may ask for itself."""
    del site
    return JSONResponse({"signed_in": visit.principal is not None})


def sign_in(site: PageSite, visit: Visit) -> Response:
    """Begins a session, or says that the token is none, whatever is wrong with it."""
    token, place = visit.fields.text("token"), browser.own_place(visit.fields.text("next"))
    try:
        session = site.service.sign_in(token[:LONGEST_TOKEN])
    except NotSignedIn:
        return _sign_in(site, visit, place, BAD_TOKEN)
    response = go(place)
    browser.set_cookie(response, visit.request, browser.SESSION, session)
    browser.set_cookie(response, visit.request, browser.VISITOR, "", lasts=0)
    return response


def refused_elsewhere(site: PageSite, request: Request) -> Response:
    """Says that what a provider answered signs nobody in, whatever is wrong with it."""
    return browser.with_headers(_sign_in(site, site.visit(request), "/", BAD_ACCOUNT))


def _sign_in(site: PageSite, visit: Visit, place: str, problem: Problem | None) -> Response:
    status = 200 if problem is None else 401
    elsewhere = site.sign_in_elsewhere
    return site.show(visit, "sign_in.html", status=status, next=place, problem=problem, oidc=elsewhere)


def sign_out(site: PageSite, visit: Visit) -> Response:
    """Ends the session, here and at the service."""
    site.service.sign_out(visit.secret)
    response = go("/sign-in")
    browser.set_cookie(response, visit.request, browser.SESSION, "", lasts=0)
    return response


def choose_theme(site: PageSite, visit: Visit) -> Response:
    """Keeps the colors that somebody likes better."""
    del site
    theme = visit.fields.text("theme")
    # Back to the button that was pressed.
    response = go(f"{browser.own_place(visit.fields.text('next') or '/')}#colors")
    if theme in THEMES:
        browser.set_cookie(response, visit.request, browser.THEME, theme, lasts=365 * 86400)
    return response


def datasets_page(site: PageSite, visit: Visit) -> Response:
    """The data sets that somebody has a role for, each with the innermost allowance that they spend from."""
    found = [
        one | {"href": base_of(one["name"]), "levels": levels_of(site, visit, one["name"])[-1:]}
        for one in site.service.datasets(visit.who)
    ]
    return site.show(visit, "datasets.html", datasets=found)
