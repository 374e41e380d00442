"""The series that a service publishes: which there are, and their numbers, page by page."""

from __future__ import annotations

import json
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Query, Response

from discreet.series.step_windows import MOST_OPEN
from discreet.server.answer_formats import WRITERS, AnswerFormat, json_rows
from discreet.server.http_models import SeriesLine, moment_or_none
from discreet.server.signed_in_requests import Served, SignedIn
from discreet.workloads.ordered_queries import MOST_CELLS

router = APIRouter(prefix="/api/v1", tags=["series"])


class Steps(NamedTuple):
    """Which steps are wanted."""

    after: int
    most: int


def wanted(
    after: Annotated[int, Query(ge=0, le=MOST_OPEN, description="How many steps to leave out.")] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_CELLS, description="So many steps at most.")] = MOST_CELLS,
) -> Steps:
    """The steps that a request names."""
    return Steps(after, most)


@router.get("/datasets/{name}/series")
def series(service: Served, principal: SignedIn, name: str) -> list[SeriesLine]:
    """The series of a data set: what each measures, its price, the error of each window, and its next public moment."""
    found = service.series(principal, name)
    return [SeriesLine(**{**one, "next": moment_or_none(one["next"])}) for one in found]


@router.get(
    "/datasets/{name}/series/{series}/numbers",
    response_class=Response,
    responses={200: {"content": {kind.split(";")[0]: {} for kind, _ in WRITERS.values()}}},
)
def numbers(
    service: Served,
    principal: SignedIn,
    name: str,
    series: str,
    steps: Annotated[Steps, Depends(wanted)],
    *,
    form: Annotated[AnswerFormat, Query(alias="format")] = AnswerFormat.JSON,
) -> Response:
    """The published numbers with their intervals, in the order of steps; a page has 100,000 rows at most, unless one
    step has more. Where there is another page, the header `Link` names it, and `next` in JSON what it comes `after`.
    """
    if form is AnswerFormat.STORED:
        found = service.stored_series(principal, name, series, **steps._asdict())
        return Response(json.dumps(found), media_type="application/json")
    page = service.series_numbers(principal, name, series, **steps._asdict())
    headers = {}
    if page.following is not None:
        place = (
            f"/api/v1/datasets/{name}/series/{series}/numbers?format={form}&after={page.following}&most={steps.most}"
        )
        headers["Link"] = f'<{place}>; rel="next"'
    if form is AnswerFormat.JSON:
        body = json_rows(page, steps=page.steps, next=page.following)
        return Response(body, media_type="application/json", headers=headers)
    kind, write = WRITERS[form]
    headers["Content-Disposition"] = f'attachment; filename="{series}.{form}"'
    return Response(write(page), media_type=kind, headers=headers)
