"""The receipt: what was promised, how it was kept, and with which versions."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from discreet.curator.canonical import described
from discreet.noise.entropy import Words, is_private
from discreet.query.explain import explain
from discreet.query.plan import Plan

INTERVALS = "noise only, for the bounded and weighted population, per cell"


def receipt(plan: Plan, key: str, words: Words) -> dict[str, Any]:
    """All that was claimed of a release, ready for JSON."""
    facts = dict(explain(plan, "", confidence=0.95, assume=None))
    del facts["sql"]
    return {
        "release": key,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "private": is_private(words),
        "question": described(plan),
        "guarantee": f"{facts['charge']['epsilon']}-differential privacy for {facts['neighbors']} neighbors",
        **facts,
        "intervals": INTERVALS,
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in ("discreet", "ibis-framework", "duckdb", "numpy")},
        },
    }


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a tree that was never installed
        return "unknown"
