"""What dp-accounting and prv-accountant say of a composition; run by ``benchmarks/accounting.py`` in their own Python.

Reads ``{"laplace": [...], "gaussian": [...], "delta": ...}`` from standard input, each number a sensitivity over a
scale; writes one ``[name, lower end or null, upper end, seconds of the processor]`` for each line of the table.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

MOST_FOR_PRV = 1_000
"""prv-accountant takes half a minute for so many different mechanisms."""
STEPS = {100: (1e-4,), 1_000: (1e-4, 1e-3), 10_000: (1e-3,)}
"""How fine dp-accounting's grid is, by the number of mechanisms: its default is 1e-4."""

Ends = tuple[float | None, float]


def dp_accounting(asked: dict[str, Any], step: float) -> Ends:
    """Google's: connect the dots on a grid; an upper end."""
    from dp_accounting import dp_event
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    accountant = PLDAccountant(value_discretization_interval=step)
    for ratio in asked["laplace"]:
        accountant.compose(dp_event.LaplaceDpEvent(1.0 / ratio))
    for ratio in asked["gaussian"]:
        accountant.compose(dp_event.GaussianDpEvent(1.0 / ratio))
    return None, float(accountant.get_epsilon(asked["delta"]))


def prv_accountant(asked: dict[str, Any]) -> Ends:
    """Microsoft's: a fast Fourier transform, with both ends."""
    from prv_accountant import GaussianMechanism, LaplaceMechanism, PRVAccountant

    mechanisms = [LaplaceMechanism(mu=ratio) for ratio in asked["laplace"]]
    mechanisms += [GaussianMechanism(noise_multiplier=1.0 / ratio) for ratio in asked["gaussian"]]
    once = [1] * len(mechanisms)
    accountant = PRVAccountant(
        prvs=mechanisms, eps_error=0.1, delta_error=asked["delta"] / 1000, max_self_compositions=once
    )
    lower, _, upper = accountant.compute_epsilon(asked["delta"], once)
    return float(lower), float(upper)


def measured(action: Callable[[], Ends]) -> tuple[float | None, float, float]:
    """Its ends, and the seconds that it took."""
    start = time.process_time()
    lower, upper = action()
    return lower, upper, time.process_time() - start


def main() -> None:
    """Answers one question."""
    warnings.filterwarnings("ignore")
    asked = json.load(sys.stdin)
    number = len(asked["laplace"]) + len(asked["gaussian"])
    found = []
    for step in next(steps for most, steps in STEPS.items() if number <= most):
        name = f"dp-accounting {version('dp-accounting')}, grid {step:g}"
        found.append([name, *measured(lambda step=step: dp_accounting(asked, step))])  # type: ignore[misc]  # a default
    if number <= MOST_FOR_PRV:
        found.append([f"prv-accountant {version('prv-accountant')}", *measured(lambda: prv_accountant(asked))])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
