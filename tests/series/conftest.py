"""What releases of kept steps added noise to."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.series.kept_step_totals import KeptSteps


@pytest.fixture(name="seen")
def _seen(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The exact totals that each release added noise to."""
    found: list[list[Any]] = []
    plain = KeptSteps.totals

    def totals(*given: Any) -> Any:
        found.append(plain(*given))
        return found[-1]

    monkeypatch.setattr(KeptSteps, "totals", totals)
    return found
