"""What curators use: analysts, groups, allowances and decisions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.convertors import Convertor, register_url_convertor

from discreet.server.analyst_endpoints import Body, body_of, fields, truth
from discreet.server.http_models import (
    AdmissionBody,
    AnalystLine,
    DecisionBody,
    GroupBody,
    LevelLine,
    RaiseBody,
    ReasonBody,
    RequestLine,
    request_line,
)
from discreet.server.signed_in_requests import Served, SignedIn
from discreet.service.analyst_budgets import ANALYST, DATA_SET, GROUP

router = APIRouter(prefix="/api/v1", tags=["curators"])


class Standing(StrEnum):
    """What changes whether an allowance can be spent."""

    FREEZE = "freeze"
    UNFREEZE = "unfreeze"
    CLOSE = "close"


class StandingConvertor(Convertor[str]):
    """Paths that end in one of these words, and no others."""

    regex = "|".join(one.value for one in Standing)

    def convert(self, value: str) -> str:
        """As it is written."""
        return value

    def to_string(self, value: str) -> str:
        """As it is."""
        return value


register_url_convertor("standing", StandingConvertor())

Change = Annotated[Standing, Path(description="freeze, unfreeze or close.")]


@router.get("/datasets/{name}/analysts")
def analysts(service: Served, principal: SignedIn, name: str) -> list[AnalystLine]:
    """Who is admitted, with allowances."""
    return [AnalystLine(**one) for one in service.analysts(principal, name)]


@router.put("/datasets/{name}/analysts/{who}", openapi_extra=body_of(AdmissionBody))
def admit(service: Served, principal: SignedIn, name: str, who: str, body: Body) -> AnalystLine:
    """Admits an analyst."""
    asked = fields(body, AdmissionBody)
    found = service.admit(principal, name, who, group=asked["group"], allowance=asked["allowance"])
    return AnalystLine(**found)


@router.get("/datasets/{name}/groups")
def groups(service: Served, principal: SignedIn, name: str) -> list[LevelLine]:
    """The groups, with their allowances."""
    return [LevelLine(**one) for one in service.groups(principal, name)]


@router.put("/datasets/{name}/groups/{group}", openapi_extra=body_of(GroupBody))
def open_group(service: Served, principal: SignedIn, name: str, group: str, body: Body) -> LevelLine:
    """Opens a group with an allowance that its analysts share."""
    return LevelLine(**service.open_group(principal, name, group, fields(body, GroupBody)["allowance"]))


@router.post("/datasets/{name}/raise", openapi_extra=body_of(RaiseBody))
def raise_whole(service: Served, principal: SignedIn, name: str, body: Body) -> LevelLine:
    """Raises the allowance of the whole data set: a new promise to everybody in it."""
    asked = fields(body, RaiseBody)
    return LevelLine(**service.raise_allowance(principal, name, (DATA_SET, name), asked["amount"], asked["reason"]))


@router.post("/datasets/{name}/analysts/{who}/raise", openapi_extra=body_of(RaiseBody))
def raise_analyst(service: Served, principal: SignedIn, name: str, who: str, body: Body) -> LevelLine:
    """Raises an analyst's allowance to so much in total."""
    asked = fields(body, RaiseBody)
    return LevelLine(**service.raise_allowance(principal, name, (ANALYST, who), asked["amount"], asked["reason"]))


@router.post("/datasets/{name}/groups/{group}/raise", openapi_extra=body_of(RaiseBody))
def raise_group(service: Served, principal: SignedIn, name: str, group: str, body: Body) -> LevelLine:
    """Raises a group's allowance to so much in total."""
    asked = fields(body, RaiseBody)
    return LevelLine(**service.raise_allowance(principal, name, (GROUP, group), asked["amount"], asked["reason"]))


@router.post("/datasets/{name}/{change:standing}", openapi_extra=body_of(ReasonBody))
def change_whole(service: Served, principal: SignedIn, name: str, change: Change, body: Body) -> LevelLine:
    """Freezes, unfreezes or closes the whole data set; what was answered can be read still."""
    found = service.set_standing(principal, name, (DATA_SET, name), change.value, fields(body, ReasonBody)["reason"])
    return LevelLine(**found)


@router.post("/datasets/{name}/analysts/{who}/{change:standing}", openapi_extra=body_of(ReasonBody))
def change_analyst(
    service: Served, principal: SignedIn, name: str, who: str, *, change: Change, body: Body
) -> LevelLine:
    """Freezes, unfreezes or closes an analyst's allowance."""
    found = service.set_standing(principal, name, (ANALYST, who), change.value, fields(body, ReasonBody)["reason"])
    return LevelLine(**found)


@router.post("/datasets/{name}/groups/{group}/{change:standing}", openapi_extra=body_of(ReasonBody))
def change_group(
    service: Served, principal: SignedIn, name: str, group: str, *, change: Change, body: Body
) -> LevelLine:
    """Freezes, unfreezes or closes a group's allowance."""
    found = service.set_standing(principal, name, (GROUP, group), change.value, fields(body, ReasonBody)["reason"])
    return LevelLine(**found)


@router.post("/requests/{identity}/decision", openapi_extra=body_of(DecisionBody))
def decide(service: Served, principal: SignedIn, identity: str, body: Body) -> RequestLine:
    """Approves a request, which raises the allowance, or declines it; once."""
    asked = fields(body, DecisionBody)
    approve = truth("approve", asked["approve"])
    reason = asked["reason"] if "reason" in body else ""
    return request_line(service.decide(principal, identity, approve=approve, reason=reason))
