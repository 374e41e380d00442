"""What auditors and operators use: the ledger, tokens, health and metrics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from discreet.server.analyst_endpoints import Body, body_of, fields
from discreet.server.http_models import (
    EntryLine,
    HealthBody,
    NewToken,
    RefusalLine,
    RefusalPage,
    TokenBody,
    TokenLine,
    VerifyBody,
    moment,
    moment_or_none,
    seconds_of,
)
from discreet.server.signed_in_requests import Served, SignedIn
from discreet.service.members import TokenRecord

router = APIRouter(tags=["auditors and operators"])


@router.get("/api/v1/datasets/{name}/ledger")
def ledger(
    service: Served,
    principal: SignedIn,
    name: str,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    most: Annotated[int, Query(ge=1, le=500)] = 100,
) -> list[EntryLine]:
    """The charges behind a number, oldest first."""
    return [EntryLine(**one) for one in service.entries(principal, name, after, most)]


@router.get("/api/v1/datasets/{name}/ledger/head")
def head(service: Served, principal: SignedIn, name: str) -> dict[str, Any]:
    """The end of the ledger's chain when this minute began, to be published."""
    return service.head(principal, name)


@router.post("/api/v1/datasets/{name}/ledger/verify", openapi_extra=body_of(VerifyBody))
def verify(service: Served, principal: SignedIn, name: str, body: Body) -> dict[str, Any]:
    """Verifies the whole ledger, and that it continues a published head."""
    return service.verify(principal, name, fields(body, VerifyBody)["head"])


@router.get("/api/v1/datasets/{name}/changes")
def changes(service: Served, principal: SignedIn, name: str) -> list[dict[str, Any]]:
    """Who changed which policy, and when; the latest first."""
    return [{**one, "made": moment(one["made"])} for one in service.changes(principal, name)]


@router.get("/api/v1/datasets/{name}/refusals")
def refusals(
    service: Served,
    principal: SignedIn,
    name: str,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="Of those with lower numbers.")] = None,
    most: Annotated[int, Query(ge=1, le=500)] = 100,
) -> RefusalPage:
    """Who was refused what, and when, the latest first; the newest 1,000 of each principal are kept."""
    found, removed = service.refusals(principal, name, before, most)
    listed = [RefusalLine(time=moment(one.pop("made")), who=one.pop("principal"), **one) for one in found]
    return RefusalPage(refusals=listed, removed=removed)


@router.get("/api/v1/tokens")
def tokens(service: Served, principal: SignedIn) -> list[TokenLine]:
    """The tokens that were issued; the operator's."""
    return [TokenLine(**_shown(one)) for one in service.tokens(principal)]


@router.post("/api/v1/tokens", status_code=201, openapi_extra=body_of(TokenBody))
def issue(service: Served, principal: SignedIn, body: Body) -> NewToken:
    """A new token, which is shown this once; the operator's."""
    asked = fields(body, TokenBody)
    token, record = service.issue_token(principal, asked["principal"], seconds_of(asked["expires"]))
    return NewToken(token=token, **_shown(record))


@router.delete("/api/v1/tokens/{identity}", status_code=204)
def revoke(service: Served, principal: SignedIn, identity: str) -> Response:
    """Ends a token; the operator's."""
    service.revoke_token(principal, identity)
    return Response(status_code=204)


@router.get("/health")
def health(service: Served) -> HealthBody:
    """Whether the service answers."""
    return HealthBody(**service.health())


def _shown(record: TokenRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "principal": record.principal,
        "created": moment(record.created),
        "expires": moment_or_none(record.expires),
        "revoked": moment_or_none(record.revoked),
    }
