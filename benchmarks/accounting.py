"""How fast and tight the accountant is, beside dp-accounting and prv-accountant: ``python benchmarks/accounting.py``.

Prints epsilon at delta for compositions, both certified ends, and seconds of the processor. The rivals are no
dependencies of ours: ``make rivals`` installs them in .venv-rivals, and DISCREET_RIVAL_PYTHON names another Python that
has them. They referee: no upper end of theirs may lie below our lower end, no lower end of theirs above our upper end,
and where an exact value is known our ends must hold it between them.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import numpy as np

from discreet.accounting.calibration import gaussian_sigma
from discreet.accounting.conversions import gdp_epsilon
from discreet.accounting.event_losses import (
    bounded_range_loss,
    composed,
    gaussian_loss,
    laplace_loss,
    pure_loss,
    randomized_response_loss,
)
from discreet.accounting.privacy_loss import Loss
from discreet.accounting.study_design import composition_table
from discreet.exact.amounts import root_above

T = TypeVar("T")

DELTA = 1e-6
HERE = Path(__file__).parent
RIVALS = HERE.parent / ".venv-rivals" / "bin" / "python"
ASK = 1_800
"""Seconds after which a rival is given up."""


def rival_python() -> str | None:
    """A Python that has the rivals, or None."""
    named = os.environ.get("DISCREET_RIVAL_PYTHON")
    for python in (named, str(RIVALS), sys.executable):
        if python and Path(python).exists():
            imports = [python, "-c", "import dp_accounting, prv_accountant"]
            if not subprocess.run(imports, capture_output=True, check=False).returncode:  # noqa: S603 - named by whoever runs this
                return python
    return None


def rivals(python: str | None, laplace: list[float], gaussian: list[float]) -> list[tuple[str, float, float, float]]:
    """Name, lower end, upper end and seconds of each; nothing without them."""
    if python is None:
        return []
    asked = json.dumps({"laplace": laplace, "gaussian": gaussian, "delta": DELTA})
    command = [python, str(HERE / "rivals" / "accountants.py")]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, timeout=ASK)  # noqa: S603 - named by whoever runs this
    found = json.loads(done.stdout.splitlines()[-1])
    return [(name, 0.0 if low is None else low, high, took) for name, low, high, took in found]


def mixture(laplace: list[float], gaussian: list[float]) -> Loss:
    """The loss of all of them."""
    return composed([laplace_loss(Fraction(x)) for x in laplace] + [gaussian_loss(Fraction(x)) for x in gaussian])


def timed(action: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the seconds of the fastest of three runs."""
    best, result = float("inf"), action()
    for _ in range(3):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return result, best


def compare(python: str | None, title: str, laplace: list[float], gaussian: list[float], *, wanted: str = "") -> None:
    """One line for us, one for each rival."""
    (low, high), seconds = timed(lambda: mixture(laplace, gaussian).epsilon_bounds(DELTA))
    gap = (high - low) / high
    print(f"{title:46} {low:10.6f} {high:10.6f} {gap:9.1e} {seconds:9.3f} s  {wanted}")
    assert low <= high
    assert gap <= 1e-3
    if not laplace:
        exact = gdp_epsilon(root_above(sum((Fraction(x) ** 2 for x in gaussian), Fraction(0))), DELTA)
        assert low <= exact <= high * (1 + 2**-40)
    for name, lower, upper, took in rivals(python, laplace, gaussian):
        known = f"{lower:.6f}" if lower else ""
        print(f"    {name:42} {known:>10} {upper:10.6f} {upper / high - 1:+9.1e} {took:9.3f} s", flush=True)
        assert upper >= low * (1 - 1e-9)
        assert lower <= high * (1 + 1e-9)


def exactly() -> None:
    """Against values that other programs found exactly: binomial sums, and piecewise polynomials."""
    for title, loss, delta, exact in (
        ("100 pure releases of 0.1", 100 * pure_loss(0.1), 1e-6, 4.774567588107986),
        ("20 pure releases of 1", 20 * pure_loss(1), 1e-3, 19.25352690069455),
        ("10 Laplace of 0.5", 10 * laplace_loss(0.5), 1e-3, 4.521308127047462),
        ("10 Laplace of 0.1", 10 * laplace_loss(0.1), 1e-5, 0.9899623111506278),
    ):
        low, high = loss.epsilon_bounds(delta)
        print(f"{title:46} {low:10.6f} {high:10.6f} {high / exact - 1:+9.1e} above {exact:.6f}")
        assert low <= exact * (1 + 1e-12)
        assert exact <= high * (1 + 1e-12)


def sums_and_plots() -> None:
    """Thousands of scales without a common denominator; pictures, where every place is asked of one loss."""
    scales = [Fraction(str(x)) for x in np.random.default_rng(1).uniform(100, 1_000, 10_000)]
    for title, kind in (("Gaussian", gaussian_loss), ("Laplace", laplace_loss), ("bounded range", bounded_range_loss)):
        listed = [kind(1 / scale) for scale in scales]
        _, seconds = timed(lambda listed=listed: sum(listed[1:], listed[0]).epsilon(DELTA))  # type: ignore[misc]  # bound in the loop
        print(f"sum of 10,000 losses of different float scales, {title:14} {seconds:37.3f} s  (wanted: below 1 s)")
    for title, loss in (
        ("3 Laplace of 1", 3 * laplace_loss(1)),
        ("20 responses of 1", 20 * randomized_response_loss(1)),
    ):
        _, seconds = timed(lambda loss=loss: Loss(loss.parts).plot())  # type: ignore[misc]  # bound in the loop
        print(f"plot of {title:20} {seconds:71.3f} s  (wanted: below 2 s)")


def main() -> None:
    """Measures compositions and calibration."""
    python = rival_python()
    today = date.today()  # noqa: DTZ011 - a label
    print(f"{today}, {os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}")
    if python is None:
        print(
            "Without the rivals: `make rivals` installs them in .venv-rivals; or put the name of a Python that has what"
        )
        print(
            "benchmarks/rivals/requirements.txt lists into DISCREET_RIVAL_PYTHON. Then their figures stand below ours."
        )
    print(f"{'epsilon at delta = 1e-6':46} {'lower':>10} {'upper':>10} {'gap':>9} {'processor':>11}")
    print(f"{'':46} {'':>10} {'':>10} {'(+ above ours)':>9}")
    random = np.random.default_rng(1)
    compare(python, "100 equal Laplace of 0.1", [0.1] * 100, [])
    for size, wanted in ((1_000, "(wanted: below 0.1 s)"), (10_000, "(wanted: below 2 s)")):
        some = [float(x) for x in random.uniform(0.005, 0.05, size)]
        compare(python, f"{size:,} different Gaussian, closed form", [], some, wanted=wanted)
        halves = some[: size // 2], some[size // 2 :]
        compare(python, f"{size:,} different, half Laplace half Gaussian", *halves, wanted=wanted)
        compare(python, f"{size:,} different Laplace", some, [], wanted=wanted)
    exactly()
    sums_and_plots()
    table, seconds = timed(lambda: composition_table((1, 10, 100), epsilon=1, delta=DELTA))
    assert all(math.isfinite(value) for row in table for value in row)
    print(f"the table of all compositions, k up to 100 {seconds:63.3f} s")
    _, seconds = timed(lambda: gaussian_sigma(1, Fraction(int(random.integers(1, 10**6)), 10**5), DELTA))
    print(f"one exact Gaussian calibration {seconds:75.4f} s")


if __name__ == "__main__":
    main()
