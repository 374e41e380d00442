"""Which right opens which endpoint, as the description of the interface tells it; the service decides by itself."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.service.roles import ALLOWED, Action, Role

_OF = "/api/v1/datasets/{name}"

RIGHTS: Mapping[tuple[str, str], tuple[Action, ...]] = {
    ("GET", _OF): (Action.DESCRIBE,),
    ("GET", f"{_OF}/budget"): (Action.BUDGET,),
    ("GET", f"{_OF}/columns/{{column}}/keys"): (Action.DESCRIBE,),
    ("GET", f"{_OF}/public_keys/{{keys}}"): (Action.DESCRIBE,),
    ("GET", f"{_OF}/series"): (Action.SERIES,),
    ("GET", f"{_OF}/series/{{series}}/numbers"): (Action.SERIES,),
    ("GET", f"{_OF}/questions"): (Action.OWN_QUESTIONS, Action.ALL_QUESTIONS),
    ("GET", f"{_OF}/requests"): (Action.DESCRIBE,),
    ("POST", f"{_OF}/requests"): (Action.REQUEST,),
    ("GET", f"{_OF}/ledger"): (Action.AUDIT,),
    ("GET", f"{_OF}/ledger/head"): (Action.AUDIT,),
    ("POST", f"{_OF}/ledger/verify"): (Action.AUDIT,),
    ("GET", f"{_OF}/changes"): (Action.CHANGES,),
    ("GET", f"{_OF}/refusals"): (Action.REFUSALS,),
    ("GET", f"{_OF}/analysts"): (Action.ADMIT,),
    ("PUT", f"{_OF}/analysts/{{who}}"): (Action.ADMIT,),
    ("POST", f"{_OF}/analysts/{{who}}/raise"): (Action.ADMIT,),
    ("POST", f"{_OF}/analysts/{{who}}/{{change}}"): (Action.ADMIT,),
    ("GET", f"{_OF}/groups"): (Action.ADMIT,),
    ("PUT", f"{_OF}/groups/{{group}}"): (Action.ADMIT,),
    ("POST", f"{_OF}/groups/{{group}}/raise"): (Action.ADMIT,),
    ("POST", f"{_OF}/groups/{{group}}/{{change}}"): (Action.ADMIT,),
    ("POST", f"{_OF}/raise"): (Action.ADMIT,),
    ("POST", f"{_OF}/{{change}}"): (Action.ADMIT,),
    ("POST", "/api/v1/explain"): (Action.EXPLAIN,),
    ("POST", "/api/v1/releases"): (Action.RELEASE,),
    ("GET", "/api/v1/releases/{identity}"): (Action.RELEASE,),
    ("GET", "/api/v1/releases/{identity}/answer"): (Action.RELEASE,),
    ("POST", "/api/v1/requests/{identity}/decision"): (Action.DECIDE,),
    ("GET", "/api/v1/tokens"): (Action.TOKENS,),
    ("POST", "/api/v1/tokens"): (Action.TOKENS,),
    ("DELETE", "/api/v1/tokens/{identity}"): (Action.TOKENS,),
    ("GET", "/metrics"): (Action.METRICS,),
}
"""One of these is needed; what is not listed is for everybody who is signed in, or for everybody."""


def roles_for(method: str, path: str) -> list[Role]:
    """The roles that open an endpoint, where it needs one.

    >>> [role.value for role in roles_for("GET", "/api/v1/datasets/{name}/refusals")]
    ['curator', 'auditor']
    """
    needed = RIGHTS.get((method, path), ())
    return [role for role in Role if ALLOWED[role].intersection(needed)]
