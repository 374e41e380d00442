"""What analysts use: data sets, prices, releases, answers, budgets and requests."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.server.answer_formats import WRITERS, AnswerFormat
from discreet.server.http_models import (
    AskBody,
    DataSetLine,
    LevelLine,
    Me,
    MoreBody,
    QuestionLine,
    ReleaseStatus,
    RequestLine,
    release_status,
    request_line,
)
from discreet.server.json_bodies import parsed, read_object
from discreet.server.key_endpoints import with_short_lists
from discreet.server.signed_in_requests import Credentials, Served, SignedIn, answered
from discreet.service.answer_timing import State
from discreet.service.members import roles_of
from discreet.service.roles import Principal

router = APIRouter(prefix="/api/v1", tags=["analysts"])

LONGEST_WAIT = 60
Body = Annotated[dict[str, Any], Depends(read_object)]


def body_of(model: type[Any]) -> dict[str, Any]:
    """What the description says of a body that `read_object` reads."""
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": reference}}}}


@router.get("/me")
def me(principal: SignedIn) -> Me:
    """Who is signed in, with roles by data set."""
    return Me(
        name=principal.name,
        roles=dict(roles_of(principal)),
        groups=dict(principal.groups),
        operator=principal.operator,
    )


@router.get("/datasets")
def datasets(service: Served, principal: SignedIn) -> list[DataSetLine]:
    """The data sets that one has a role for."""
    return [DataSetLine(**one) for one in service.datasets(principal)]


@router.get("/datasets/{name}")
def dataset(service: Served, principal: SignedIn, name: str) -> dict[str, Any]:
    """The public declaration of a data set: columns, types, bounds, keys, unit, limits, policies, allowance.

    Of a column with more than 10,000 keys it has their number, `key_count`, and `.../columns/{column}/keys` has them.
    """
    return with_short_lists(service.dataset(principal, name))


@router.get("/datasets/{name}/budget")
def budget(service: Served, principal: SignedIn, name: str) -> list[LevelLine]:
    """The allowances that one's releases have to fit into, the outermost first."""
    return [LevelLine(**one) for one in service.budget(principal, name)]


@router.get("/datasets/{name}/questions")
def questions(service: Served, principal: SignedIn, name: str) -> list[QuestionLine]:
    """The latest questions: one's own, or everybody's, by role and policy."""
    found = service.questions(principal, name)
    return [
        QuestionLine(who=one["who"], ask=json.loads(one["ask"]), release=release_status(one["job"])) for one in found
    ]


@router.post("/explain", openapi_extra=body_of(AskBody), response_model=dict[str, Any])
async def explain(service: Served, request: Request, credentials: Credentials) -> Response:
    """What a release would be, how good and at which price; nothing is charged and no row is read."""

    def told(principal: Principal, sent: bytes) -> bytes:
        found = service.explained(principal, sent)  # who moves a slider asks the same again and again
        return service.explain_sent(principal, sent, parsed(sent)) if found is None else found

    return Response(await answered(request, credentials, told), media_type="application/json")


@router.post("/releases", status_code=202, openapi_extra=body_of(AskBody))
def submit(
    service: Served,
    principal: SignedIn,
    ask: Body,
    idempotency_key: Annotated[
        str | None,
        Header(max_length=200, description="The same key with the same ask is the same release: one charge."),
    ] = None,
) -> ReleaseStatus:
    """Accepts an ask; its answer is ready at a public moment."""
    return release_status(service.submit(principal, ask, idempotency_key))


@router.get("/releases/{identity}")
async def release(
    service: Served,
    principal: SignedIn,
    credentials: Credentials,
    identity: str,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for it to be ready.")] = 0,
) -> ReleaseStatus:
    """The state of a release."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait
    while True:
        job = await run_in_threadpool(service.job, principal, identity)
        left = end - loop.time()
        if job.state in (State.READY, State.FAILED) or left <= 0:
            return release_status(job)
        await asyncio.sleep(max(0.001, min(left, job.ready_at - service.settings.clock())))
        principal = await run_in_threadpool(service.authenticate, credentials and credentials.credentials)


@router.get(
    "/releases/{identity}/answer",
    response_class=Response,
    responses={200: {"content": {kind.split(";")[0]: {} for kind, _ in WRITERS.values()}}},
)
def answer(
    service: Served,
    principal: SignedIn,
    identity: str,
    form: Annotated[AnswerFormat, Query(alias="format")] = AnswerFormat.JSON,
) -> Response:
    """The answer, from its public moment on: JSON, Arrow, CSV, Parquet, or the stored form that a client reads."""
    if form is AnswerFormat.STORED:
        return Response(json.dumps(service.stored_answer(principal, identity)), media_type="application/json")
    kind, write = WRITERS[form]
    headers = {} if form is AnswerFormat.JSON else {"Content-Disposition": f'attachment; filename="answer.{form}"'}
    return Response(write(service.answer(principal, identity)), media_type=kind, headers=headers)


@router.get("/datasets/{name}/requests")
def requests(service: Served, principal: SignedIn, name: str) -> list[RequestLine]:
    """Requests for more: one's own, or everybody's, by role."""
    return [request_line(one) for one in service.requests(principal, name)]


@router.post("/datasets/{name}/requests", status_code=201, openapi_extra=body_of(MoreBody))
def request_more(service: Served, principal: SignedIn, name: str, body: Body) -> RequestLine:
    """Asks the curator for more."""
    asked = fields(body, MoreBody)
    return request_line(service.request(principal, name, asked["amount"], asked["reason"]))


def truth(name: str, given: object) -> bool:
    """A truth value of a body."""
    if not isinstance(given, bool):
        raise InvalidParameter(expected("true or false", name, type(given).__name__, f'write "{name}": true.'))
    return given


def fields(body: dict[str, Any], model: type[Any]) -> dict[str, Any]:
    """The fields of a body, all of which its model has; what is missing is None."""
    known = tuple(model.model_fields)
    for name in body:
        if name not in known:
            raise InvalidParameter(expected("a known field", "field", name[:80], nearest_name(name, known)))
    return {name: body.get(name) for name in known}
