"""The bodies of the interface for programs, as its description states them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.errors import InvalidParameter, expected
from discreet.service.allowance_requests import AllowanceRequest
from discreet.service.job_records import Job

Amounts = dict[str, str]


class Closed(BaseModel):
    """A body that has no other fields than those that are stated."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(Closed):
    """A refusal."""

    error: str
    message: str
    hint: str


class Me(BaseModel):
    """Who is signed in."""

    name: str
    roles: dict[str, list[str]]
    groups: dict[str, str]
    operator: bool


class DataSetLine(BaseModel):
    """One data set in a list."""

    name: str
    description: str
    roles: list[str]


class ReleaseStatus(BaseModel):
    """A release as a job: its state may change at `ready_at` (UTC, ISO 8601), and at no other time."""

    id: str
    dataset: str
    what: str
    cost: Amounts
    state: str
    accepted_at: str
    ready_at: str
    failure: str | None = None
    paid: bool | None = None


class QuestionLine(BaseModel):
    """One question that was asked."""

    who: str
    ask: dict[str, Any]
    release: ReleaseStatus


class SeriesLine(BaseModel):
    """A series that the service publishes: what is declared of it, its price and errors, and when more is published.

    `state` is open, late (a step was not there at its moment), held (its curator has to act) or ended. More may be
    published at `next` (UTC, ISO 8601), and at no time before. `account` is missing while the series is being planned.
    """

    name: str
    state: Literal["open", "late", "held", "ended"]
    declared: dict[str, Any]
    terms: dict[str, Any]
    price: Amounts
    account: dict[str, Any] | None = None
    publish: str
    steps: int
    published: int
    latest: str | None = None
    next: str | None = None
    problem: str | None = None


class KeyPage(BaseModel):
    """Some public keys, a list with a value for each column: dates and times as ISO 8601, NULL as null.

    `size` is how many there are in all, and `next` what the next page comes after, where there is one.
    """

    columns: list[str]
    types: list[Literal["integer", "boolean", "text", "date", "timestamp"]]
    size: int
    keys: list[list[str | int | bool | None]]
    next: int | None = None


class LevelLine(BaseModel):
    """One allowance, with what is spent and left where the policy shows it."""

    level: str
    name: str
    allowance: Amounts
    spent: Amounts | None = None
    remaining: Amounts | None = None
    state: str | None = None


class AnalystLine(BaseModel):
    """Somebody with a role for a data set, and the allowance of their own, where there is one."""

    name: str
    role: str
    group: str | None = None
    level: LevelLine | None = None


class RequestLine(BaseModel):
    """A request for more."""

    id: str
    principal: str
    dataset: str
    amount: Amounts
    reason: str
    made: str
    state: str
    decided_by: str | None = None
    decided: str | None = None
    answer: str | None = None


class EntryLine(BaseModel):
    """A charge in the ledger."""

    number: int
    time: str
    source: str
    what: str
    release: str
    epsilon: str
    delta: str
    rho: str
    event: dict[str, Any]
    answered: bool
    who: str
    level: str


class RefusalLine(BaseModel):
    """What was refused, to whom and when, in the words that it was refused in.

    They are left out where they may be about another data set.
    """

    number: int
    time: str
    who: str
    what: str
    kind: str
    message: str
    hint: str


class RefusalPage(BaseModel):
    """Refusals, the latest first, and how many older ones were removed."""

    refusals: list[RefusalLine]
    removed: int


class TokenLine(BaseModel):
    """A token that was issued; not the token."""

    id: str
    principal: str
    created: str
    expires: str | None = None
    revoked: str | None = None


class NewToken(TokenLine):
    """A token, shown this once."""

    token: str


class HealthBody(BaseModel):
    """Whether the service answers."""

    status: str


def seconds_of(text: object) -> float | None:
    """A moment that was sent, in seconds since 1970."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(str(text))
        return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        cure = 'write it as "2030-01-31T12:00:00Z".'
        raise InvalidParameter(expected("a moment", "expires", str(text)[:40], cure)) from None


def moment(seconds: float) -> str:
    """A time as it is sent: UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def moment_or_none(seconds: float | None) -> str | None:
    """The same of one that may not be."""
    return None if seconds is None else moment(seconds)


def release_status(job: Job) -> ReleaseStatus:
    """A job as it is sent."""
    told = {name: getattr(job, name) for name in ReleaseStatus.model_fields}
    moments = {name: moment(told[name]) for name in ("accepted_at", "ready_at")}
    return ReleaseStatus(**told | moments | {"state": job.state.value})


def request_line(request: AllowanceRequest) -> RequestLine:
    """A request as it is sent."""
    told = {name: getattr(request, name) for name in RequestLine.model_fields}
    return RequestLine(**told | {"made": moment(request.made), "decided": moment_or_none(request.decided)})


DECIMAL = r"^[+-]?([0-9]{1,40}(\.[0-9]{0,15})?|\.[0-9]{1,15})([eE][+-]?[0-9]{1,3})?$"
Decimals = Annotated[str, Field(pattern=DECIMAL, max_length=60)]


class QuestionBody(Closed):
    """A question: SQL, with keys and limits where the declaration has none; or a document."""

    sql: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None
    dialect: Literal["duckdb", "postgres", "spark"] | None = None
    keys: dict[str, Any] | Literal["unknown", "unknown-by-count"] | None = None
    max_groups: Annotated[int, Field(ge=1, le=10**9)] | None = None
    max_rows: Annotated[int, Field(ge=1, le=10**9)] | None = None
    document: dict[str, Any] | None = None


class PriceBody(Closed):
    """A price: epsilon, or rho, or the error that is wanted; amounts are decimals in text. `first_look` is the part of
    an epsilon or a rho that finds limits and bounds.
    """

    epsilon: Decimals | None = None
    delta: Decimals | None = None
    rho: Decimals | None = None
    within: dict[str, Decimals] | None = None
    confidence: Decimals | None = None
    first_look: Decimals | None = None


class AskBody(Closed):
    """An ask: a question, its price (the data set's default, if left out), and whether the noise is to be new."""

    question: QuestionBody
    price: PriceBody | None = None
    weights: dict[str, Decimals] | None = None
    fresh: bool = False
    plan: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class AmountBody(Closed):
    """An amount of budget: epsilon, or rho; with a delta, or not."""

    epsilon: Decimals | None = None
    delta: Decimals | None = None
    rho: Decimals | None = None


class MoreBody(Closed):
    """A request for more: by how much, and why."""

    amount: AmountBody
    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class AdmissionBody(Closed):
    """An admission: to a group, or not; with an allowance of one's own, or not."""

    group: Annotated[str, Field(min_length=1, max_length=90)] | None = None
    allowance: AmountBody | None = None


class GroupBody(Closed):
    """A group's allowance."""

    allowance: AmountBody


class RaiseBody(MoreBody):
    """An allowance in total, from now on, and why."""


class ReasonBody(Closed):
    """Why."""

    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class TokenBody(Closed):
    """A token to be issued: for whom, and until when (UTC, ISO 8601)."""

    principal: Annotated[str, Field(min_length=1, max_length=100)]
    expires: Annotated[str, Field(max_length=40)] | None = None


class VerifyBody(Closed):
    """A head that was published, which the ledger has to continue; or none."""

    head: dict[str, str | int] | None = None


class DecisionBody(Closed):
    """A decision."""

    approve: bool
    reason: Annotated[str, Field(max_length=1000)] = ""
