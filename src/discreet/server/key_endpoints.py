"""The public keys of a data set, page by page: those declared of a column, and the tuples that its curator named."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Response

from discreet.planning.group_keys import ARROW_TYPES
from discreet.server.answer_formats import TABLE_WRITERS, plain
from discreet.server.http_models import KeyPage
from discreet.server.signed_in_requests import Served, SignedIn

router = APIRouter(prefix="/api/v1", tags=["analysts"])

MOST = 100_000
"""Of one page."""
LAST = 2**40
"""More than any file of keys has."""
LISTED = 10_000
"""Keys of a column that a declaration lists; where there are more, it has their number instead."""
KINDS = {arrow: kind.value for kind, arrow in ARROW_TYPES.items()}


def with_short_lists(facts: dict[str, Any]) -> dict[str, Any]:
    """A declaration without long lists of keys, and with how many there are."""

    def short(column: dict[str, Any]) -> dict[str, Any]:
        is_long = column["keys"] is not None and len(column["keys"]) > LISTED
        return {**column, "keys": None, "key_count": len(column["keys"])} if is_long else column

    return {**facts, "columns": [short(column) for column in facts["columns"]]}


class Page(NamedTuple):
    """Which keys are wanted, and how."""

    after: int
    most: int
    form: str


def wanted(
    after: Annotated[int, Query(ge=0, le=LAST, description="How many keys to leave out.")] = 0,
    most: Annotated[int, Query(ge=1, le=MOST, description="So many keys at most.")] = MOST,
    form: Annotated[Literal["json", "arrow", "csv", "parquet"], Query(alias="format")] = "json",
) -> Page:
    """The keys that a request names."""
    return Page(after, most, form)


DESCRIBED: dict[str, Any] = {
    "response_model": KeyPage,
    "responses": {200: {"content": {kind.split(";")[0]: {} for kind, _ in TABLE_WRITERS.values()}}},
}


@router.get("/datasets/{name}/columns/{column:path}/keys", **DESCRIBED)
def keys(
    service: Served, principal: SignedIn, name: str, column: str, page: Annotated[Page, Depends(wanted)]
) -> Response:
    """The declared keys of a column, in their order. Where there is another page, the header `Link` names it, and
    `next` in JSON what it comes `after`.
    """
    place = f"datasets/{name}/columns/{quote(column, safe='')}/keys"
    return _page(service.keys(principal, name, column), place, page)


@router.get("/datasets/{name}/public_keys/{keys:path}", **DESCRIBED)
def public_keys(
    service: Served, principal: SignedIn, name: str, keys: str, page: Annotated[Page, Depends(wanted)]
) -> Response:
    """The public tuples that the curator of a data set gave this name, page by page as the keys of a column."""
    return _page(
        service.public_keys(principal, name, keys), f"datasets/{name}/public_keys/{quote(keys, safe='')}", page
    )


def _page(found: Any, place: str, page: Page) -> Response:
    table, end = found.page(page.after, page.most), page.after + page.most
    following = end if end < found.size else None
    headers = {}
    if following is not None:
        next_one = f"/api/v1/{place}?format={page.form}&after={following}&most={page.most}"
        headers["Link"] = f'<{next_one}>; rel="next"'
    if page.form == "json":
        columns = [[plain(key) for key in column.to_pylist()] for column in table.columns]
        body = {
            "columns": table.column_names,
            "types": [KINDS[column.type] for column in table.columns],
            "size": found.size,
            "keys": list(zip(*columns, strict=True)),
            "next": following,
        }
        return Response(json.dumps(body, ensure_ascii=False), media_type="application/json", headers=headers)
    kind, write = TABLE_WRITERS[page.form]
    headers["Content-Disposition"] = f'attachment; filename="keys.{page.form}"'  # a column may have any name
    return Response(write(table), media_type=kind, headers=headers)
