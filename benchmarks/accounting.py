"""How fast and how tight the accountant is: ``python benchmarks/accounting.py``.

Prints epsilon at delta for compositions, both certified ends, and the time. Name a Python that has dp-accounting and
prv-accountant in DISCREET_RIVAL_PYTHON (they are no dependencies of ours), and their figures stand beside it: they
referee, since none of their upper bounds may lie below our lower end.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import numpy as np

from discreet.accounting.calibration import gaussian_sigma
from discreet.accounting.filters import Cost, EitherFilter
from discreet.accounting.loss import Loss, composed, gaussian_loss, laplace_loss

T = TypeVar("T")

DELTA = 1e-6
RIVAL = os.environ.get("DISCREET_RIVAL_PYTHON", "")
"""A Python that has dp-accounting and prv-accountant, to be run beside ours; without it their columns stay empty."""

RIVAL_PROGRAM = """
import json, sys, time
laplace, gaussian, delta = json.load(sys.stdin)
found = {}
from dp_accounting import dp_event as ev
from dp_accounting.pld import pld_privacy_accountant as pld
start = time.perf_counter()
accountant = pld.PLDAccountant()
for x in laplace:
    accountant.compose(ev.LaplaceDpEvent(1.0 / x))
for x in gaussian:
    accountant.compose(ev.GaussianDpEvent(1.0 / x))
found["dp-accounting"] = accountant.get_epsilon(delta), time.perf_counter() - start
try:
    from prv_accountant import LaplaceMechanism, GaussianMechanism, PRVAccountant
    start = time.perf_counter()
    prvs = [LaplaceMechanism(mu=x) for x in laplace] + [GaussianMechanism(noise_multiplier=1 / x) for x in gaussian]
    accountant = PRVAccountant(prvs=prvs, eps_error=0.05, delta_error=delta / 1000,
        max_self_compositions=[1] * len(prvs))
    found["prv-accountant"] = accountant.compute_epsilon(delta, [1] * len(prvs))[2], time.perf_counter() - start
except Exception as error:
    found["prv-accountant"] = None, type(error).__name__
print(json.dumps(found))
"""


def mixture(laplace: list[float], gaussian: list[float]) -> Loss:
    """The loss of all of them."""
    return composed([laplace_loss(Fraction(x)) for x in laplace] + [gaussian_loss(Fraction(x)) for x in gaussian])


def timed(action: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the seconds of the fastest of three runs."""
    best, result = float("inf"), action()
    for _ in range(3):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return result, best


def rivals(laplace: list[float], gaussian: list[float]) -> dict[str, tuple[float | None, float | str]]:
    """What the others say, and how long they take; empty without them."""
    if not RIVAL:
        return {}
    asked = json.dumps([laplace, gaussian, DELTA])
    command = [RIVAL, "-W", "ignore", "-c", RIVAL_PROGRAM]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False, timeout=600)  # noqa: S603 - named by whoever runs this
    found: dict[str, tuple[float | None, float | str]] = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    return found


def compare(title: str, laplace: list[float], gaussian: list[float]) -> None:
    """One line for us, one for each rival."""
    (low, high), seconds = timed(lambda: mixture(laplace, gaussian).epsilon_bounds(DELTA))
    print(f"{title:44} {low:12.6f} {high:12.6f} {(high - low) / high:9.1e} {seconds * 1e3:10.1f} ms")
    for name, (epsilon, took) in rivals(laplace, gaussian).items():
        if epsilon is None or isinstance(took, str):
            print(f"    {name:40} {took}")
            continue
        print(f"    {name:40} {'':12} {epsilon:12.6f} {epsilon / high - 1:+9.1e} {took * 1e3:10.1f} ms")
        assert epsilon >= low * (1 - 1e-9)


def main() -> None:
    """Measures compositions, calibration and filters."""
    random = np.random.default_rng(1)
    print(f"{'epsilon at delta = 1e-6':44} {'lower':>12} {'upper':>12} {'gap':>9} {'time':>13}")
    compare("100 equal Laplace of 0.1", [0.1] * 100, [])
    for size in (1_000, 10_000):
        some = [float(x) for x in random.uniform(0.005, 0.05, size)]
        compare(f"{size:,} different Gaussian", [], some)
        compare(f"{size:,} different, half Laplace half Gaussian", some[: size // 2], some[size // 2 :])
        compare(f"{size:,} different Laplace", some, [])
    sigma, seconds = timed(lambda: gaussian_sigma(1, Fraction(int(random.integers(1, 10**6)), 10**5), DELTA))
    print(f"\none exact Gaussian calibration: {seconds * 1e3:.2f} ms ({sigma})")
    budget, cost = EitherFilter(10**6, DELTA), Cost.pure(0.001)
    start = time.perf_counter()
    for _ in range(100_000):
        budget.charge(cost)
    print(f"100,000 charges to a filter: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
