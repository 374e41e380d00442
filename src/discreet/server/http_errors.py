"""Refusals as responses: one table of kinds and codes, and one body for each text."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
)
from discreet.service.service_errors import KINDS, Conflict, Forbidden, Late, NotSignedIn, OverLimit, kind_of

CODES: Mapping[type[DiscreetError], int] = {
    NotSignedIn: 401,
    Forbidden: 404,
    Conflict: 409,
    Late: 409,
    OverLimit: 429,
    BudgetExceeded: 402,
    InvalidQuery: 422,
    InvalidParameter: 422,
    EngineError: 424,
    LedgerError: 503,
    DiscreetError: 422,
}
"""The code of each class of refusal. What is forbidden has the code of what does not exist."""

UNAVAILABLE = (
    "Expected the service to answer, got a failure.\nHint: send the request again; a repeated key is one charge."
)


class BodyRefused(DiscreetError):
    """A body that is not read: its code and kind say why."""

    def __init__(self, code: int, kind: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.kind = kind


def refusal_response(problem: DiscreetError) -> Response:
    """The response for a refusal."""
    if isinstance(problem, BodyRefused):
        return error_response(problem.code, problem.kind, str(problem))
    kind = kind_of(problem)
    # What a ledger or a store says may name a place.
    return error_response(CODES[kind], KINDS[kind], UNAVAILABLE if isinstance(problem, LedgerError) else str(problem))


def error_response(code: int, kind: str, text: str) -> Response:
    """A response with an error: its kind, what was expected, and the hint."""
    message, _, hint = text.partition("\nHint: ")
    body = json.dumps({"error": kind, "message": message, "hint": hint}, ensure_ascii=False)
    headers = {"WWW-Authenticate": 'Bearer realm="discreet"'} if code == 401 else {}
    if code == 429:
        headers["Retry-After"] = "1"
    return Response(body, status_code=code, media_type="application/json", headers=headers)
