"""How Hypothesis looks for examples: always the same ones in CI, new ones at a desk."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import Phase, settings

# A run that fails in CI must fail again for whoever looks into it; a fault caught or missed by luck helps nobody there.
# It shows the first example that fails and how to try it again: the search for the smallest may outlast all patience.
settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, print_blob=True, phases=[Phase.explicit, Phase.generate]
)
# Time limits for one example would fail on a busy machine, not on a fault.
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")

ATTACKS = ("tests/audit/", "tests/fuzz/", "tests/curator/test_under_fire.py")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How long the attacks on ourselves take, all processes together: with the mutants, five minutes on two cores."""
    reports = [one for name in ("passed", "failed", "error", "") for one in terminalreporter.stats.get(name, [])]
    spent = sum(getattr(one, "duration", 0.0) for one in reports if getattr(one, "nodeid", "").startswith(ATTACKS))
    if spent >= 1:
        terminalreporter.write_line(f"attacks (tests of audit and fuzz, ledgers under fire): {spent:.0f} s of tests")
        if (cache := getattr(terminalreporter.config, "cache", None)) is not None:
            cache.set("discreet/attacks", spent)  # scripts/mutants.py adds its own
