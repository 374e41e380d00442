"""Attacks pipelines, ours and our users', with neighbors and with samples; says what it tried.

- `replay`: one run, and the same run with the same chance on neighbors. Finds most faults, quickly, with their line.
- `script`, `notebook`, `statement`: pipelines that are files or SQL.
- `sampled`: a lower bound on the epsilon of anything that can be run often.
- `drawn`: the same of runs that were made already.
- `search`: any of these over many parameters.
- `exact`: delta for each epsilon of two finite laws.
- `neighbors`: the tables that `replay` tries.
- `Report`, `Finding`: what they return.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.audit.epsilon_lower_bound import drawn as drawn
    from discreet.audit.epsilon_lower_bound import sampled as sampled
    from discreet.audit.finite_delta import exact as exact
    from discreet.audit.neighbor_tables import neighbors as neighbors
    from discreet.audit.parameter_search import search as search
    from discreet.audit.pipeline_files import notebook as notebook
    from discreet.audit.pipeline_files import script as script
    from discreet.audit.pipeline_files import statement as statement
    from discreet.audit.replaying import replay as replay
    from discreet.audit.report import Finding as Finding
    from discreet.audit.report import Report as Report

_HOMES = {
    "Finding": "discreet.audit.report",
    "Report": "discreet.audit.report",
    "drawn": "discreet.audit.epsilon_lower_bound",
    "exact": "discreet.audit.finite_delta",
    "neighbors": "discreet.audit.neighbor_tables",
    "notebook": "discreet.audit.pipeline_files",
    "replay": "discreet.audit.replaying",
    "sampled": "discreet.audit.epsilon_lower_bound",
    "script": "discreet.audit.pipeline_files",
    "search": "discreet.audit.parameter_search",
    "statement": "discreet.audit.pipeline_files",
}
"""Where each name lives; loaded when it is first used (PEP 562)."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 (a list all the same)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.audit' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
