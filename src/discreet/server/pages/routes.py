"""The addresses of the pages: which handler answers which, and what anybody may see before signing in."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.routing import BaseRoute

from discreet.server.http_guard import LoggedRoute
from discreet.server.pages import (
    answer_pages,
    ask_pages,
    curator_pages,
    dataset_pages,
    entrance_pages,
    interface_page,
    oversight_pages,
    series_pages,
)
from discreet.server.pages.assets import serve_asset
from discreet.server.pages.page_site import Handler, PageSite, endpoint
from discreet.service.service import Service

OPEN: Mapping[tuple[str, str], Handler] = {
    ("GET", "/sign-in"): entrance_pages.sign_in_page,
    ("POST", "/sign-in"): entrance_pages.sign_in,
    ("GET", "/signed-in"): entrance_pages.signed_in,
    ("POST", "/theme"): entrance_pages.choose_theme,
    ("GET", "/api"): interface_page.interface_page,
}
"""What a visitor may do who is not signed in."""

SIGNED_IN: Mapping[tuple[str, str], Handler] = {
    ("GET", "/"): entrance_pages.first_page,
    ("POST", "/sign-out"): entrance_pages.sign_out,
    ("GET", "/datasets"): entrance_pages.datasets_page,
    ("GET", "/datasets/{dataset}"): dataset_pages.declaration_page,
    ("GET", "/datasets/{dataset}/ask"): ask_pages.ask_page,
    ("POST", "/datasets/{dataset}/ask"): ask_pages.ask,
    ("GET", "/datasets/{dataset}/series"): series_pages.series_page,
    ("GET", "/datasets/{dataset}/series/{series}"): series_pages.numbers_page,
    ("GET", "/datasets/{dataset}/series/{series}/download/{format}"): series_pages.series_file,
    ("GET", "/datasets/{dataset}/questions"): dataset_pages.questions_page,
    ("GET", "/datasets/{dataset}/budget"): dataset_pages.budget_page,
    ("POST", "/datasets/{dataset}/budget"): dataset_pages.request_more,
    ("GET", "/datasets/{dataset}/people"): curator_pages.people_page,
    ("POST", "/datasets/{dataset}/people"): curator_pages.change_people,
    ("GET", "/datasets/{dataset}/requests"): curator_pages.requests_page,
    ("POST", "/datasets/{dataset}/requests"): curator_pages.decide,
    ("GET", "/datasets/{dataset}/spending"): oversight_pages.spending_page,
    ("GET", "/datasets/{dataset}/log"): oversight_pages.log_page,
    ("POST", "/datasets/{dataset}/log"): oversight_pages.verify,
    ("GET", "/datasets/{dataset}/refusals"): oversight_pages.refusals_page,
    ("GET", "/answers/{job}"): answer_pages.answer_page,
    ("GET", "/answers/{job}/state"): answer_pages.answer_state,
    ("GET", "/answers/{job}/receipt"): answer_pages.receipt_page,
    ("GET", "/answers/{job}/download/{format}"): answer_pages.download,
}
"""What whoever is signed in may try; the service decides."""

ELSE: Mapping[tuple[str, str], Handler] = {
    ("GET", "/datasets/{dataset}/{rest:path}"): entrance_pages.nothing_here,
    ("GET", "/answers/{job}/{rest:path}"): entrance_pages.nothing_here,
}
"""What none of the pages above has."""


def pages(service: Service, *, sign_in_elsewhere: Mapping[str, str] | None = None) -> list[BaseRoute]:
    """The routes of all pages of a service.

    Args:
        service: decides everything that the pages show and do.
        sign_in_elsewhere: of a provider that signs people in, the ``label`` of its button and the ``href`` behind it.
    """
    site = PageSite(service, sign_in_elsewhere=sign_in_elsewhere)
    tables = ((OPEN, True), (SIGNED_IN, False), (ELSE, False))
    made: list[BaseRoute] = [
        LoggedRoute(path, endpoint(site, handler, open_to_all=open_to_all), methods=[method])
        for table, open_to_all in tables
        for (method, path), handler in table.items()
    ]
    return [*made, LoggedRoute("/static/{name}", serve_asset, methods=["GET"])]
