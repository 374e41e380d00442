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

from typing import TYPE_CHECKING

from discreet.public_names import loading

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

_NAMES = {
    "discreet.audit.epsilon_lower_bound": ("drawn", "sampled"),
    "discreet.audit.finite_delta": ("exact",),
    "discreet.audit.neighbor_tables": ("neighbors",),
    "discreet.audit.parameter_search": ("search",),
    "discreet.audit.pipeline_files": ("notebook", "script", "statement"),
    "discreet.audit.replaying": ("replay",),
    "discreet.audit.report": ("Finding", "Report"),
}
"""The names of each module; loaded when they are first used."""

__getattr__, __dir__, __all__ = loading(__name__, _NAMES)
