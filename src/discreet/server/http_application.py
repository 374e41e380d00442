"""The application: endpoints, errors, limits, headers and logs around one service."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute

from discreet.errors import DiscreetError, expected, printable
from discreet.server import (
    analyst_endpoints,
    auditor_endpoints,
    curator_endpoints,
    key_endpoints,
    metrics_endpoint,
    series_endpoints,
)
from discreet.server.endpoint_rights import roles_for
from discreet.server.http_errors import UNAVAILABLE, error_response, refusal_response
from discreet.server.http_guard import HttpGuard
from discreet.server.http_models import (
    AdmissionBody,
    AskBody,
    DecisionBody,
    ErrorBody,
    GroupBody,
    MoreBody,
    RaiseBody,
    ReasonBody,
    TokenBody,
    VerifyBody,
)
from discreet.server.signed_in_requests import Allotments
from discreet.service.service import Service

ABOUT = (
    "Questions about tables of people, answered with differential privacy. Amounts are decimals in text. "
    "A release is charged before a row is read, and its answer leaves at public moments only."
)
BODIES = (AskBody, MoreBody, DecisionBody, TokenBody, AdmissionBody, GroupBody, RaiseBody, ReasonBody, VerifyBody)
CODES = {
    401: "Not signed in",
    402: "The budget is exhausted",
    404: "Not there, or not for you",
    409: "Conflict, or not ready",
    422: "Refused",
    424: "The engine failed",
    429: "Too many requests",
    503: "Out of order",
}
WITH_A_BODY = {400: "No JSON object", 413: "Too large", 415: "Another content type"}
NO_PAGE = (
    "Expected something that exists and that you may use, got another name.\nHint: /openapi.json lists what is there."
)


@dataclass(frozen=True, kw_only=True)
class HttpLimits:
    """Limits of requests: of each principal, a second and at once."""

    a_second: float = 200.0
    burst: float = 400.0
    at_once: int = 100


def application(service: Service, limits: HttpLimits | None = None, pages: Iterable[BaseRoute] = ()) -> FastAPI:
    """The HTTP application of a service; `pages` are mounted beside the interface for programs."""
    chosen = limits or HttpLimits()
    app = FastAPI(title="discreet", version="1", description=ABOUT, docs_url=None, redoc_url=None)
    app.state.service = service
    app.state.allotments = Allotments(a_second=chosen.a_second, burst=chosen.burst, at_once=chosen.at_once)
    app.include_router(analyst_endpoints.router)
    app.include_router(key_endpoints.router)
    app.include_router(series_endpoints.router)
    app.include_router(auditor_endpoints.router)
    app.include_router(metrics_endpoint.router)
    app.include_router(curator_endpoints.router)
    app.router.routes.extend(pages)
    app.add_exception_handler(DiscreetError, _refused)
    app.add_exception_handler(HTTPException, _no_page)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(HttpGuard)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]  # as FastAPI's documents say
    return app


async def _refused(_: Request, problem: Exception) -> Response:
    if not isinstance(problem, DiscreetError):
        raise problem
    return refusal_response(problem)


async def _no_page(request: Request, problem: Exception) -> Response:
    if not isinstance(problem, HTTPException):
        raise problem
    if problem.status_code == 405:
        response = error_response(
            405, "method_not_allowed", "Expected another method, got this one.\nHint: see /openapi.json."
        )
        response.headers["Allow"] = ", ".join(_methods(request))
        return response
    return error_response(problem.status_code, "not_found" if problem.status_code == 404 else "refused", NO_PAGE)


def _methods(request: Request) -> list[str]:
    """All methods of a path, which several routes may have."""
    found: set[str] = set()
    for route in request.app.router.routes:
        path, methods = getattr(route, "path_regex", None), getattr(route, "methods", None)
        if path is not None and methods and path.match(request.url.path):
            found |= set(methods)
    return sorted(found)


async def _invalid(_: Request, problem: Exception) -> Response:
    if not isinstance(problem, RequestValidationError):
        raise problem
    first: Any = next(iter(problem.errors()), {})
    name = printable(str(first.get("loc", ("",))[-1]))[:80]
    return error_response(422, "invalid_parameter", expected("a valid value", name, "another", "see /openapi.json."))


async def _failed(_: Request, problem: Exception) -> Response:
    del problem
    return error_response(500, "failure", UNAVAILABLE)


def _described(app: FastAPI) -> dict[str, Any]:
    """The description, with the bodies that we read ourselves and the refusals that are possible everywhere."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    _, bodies = models_json_schema(
        [(model, "validation") for model in (*BODIES, ErrorBody)], ref_template="#/components/schemas/{model}"
    )
    schemas = found["components"]["schemas"]
    schemas |= bodies["$defs"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
    for name, path in found["paths"].items():
        for method, operation in path.items():
            if "security" in operation:
                operation["x-roles"] = [role.value for role in roles_for(method.upper(), name)]
            codes = CODES | (WITH_A_BODY if "requestBody" in operation else {})
            for code, about in codes.items():
                operation["responses"][str(code)] = {"description": about, "content": error}
    app.openapi_schema = found
    return found
