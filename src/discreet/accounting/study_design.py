"""Figures for a plan: how much noise, by which theorem, before anything is spent.

Claim
    Each noise of `composition_table` makes its k answers (epsilon, delta)-DP together, by the theorem that its column
    names.
Requires
    Questions of sensitivity 1, counts or proportions.
Relies on
    `calibration`, `conversions` and `theorems` for the private side.
Proof
    The columns of the table are monotone in the noise, searched on the private side.
Rounding
    Noise up.
Source
    Dwork and Roth (2014), Theorem 3.20; Kairouz, Oh and Viswanath (2015); Bun and Steinke (2016).
Mutant
    optimal-for-one: the noise of optimal composition is that of one answer; killed by test_table_is_the_reference.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from discreet.accounting import calibration
from discreet.accounting.conversions import Amount, zcdp_epsilon, zcdp_rho
from discreet.accounting.event_losses import pure_loss
from discreet.accounting.theorems import advanced_composition
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, decimal_text, positive, proper_delta
from discreet.exact.bisection import float_down, float_up, greatest
from discreet.plots.lines import lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR = 1e-5
MOST_WORDS = 700
"""Beyond, e^epsilon is no float."""


class CompositionRow(NamedTuple):
    """Standard deviation of the noise of each of k counts, for k counts together, by each theorem."""

    k: int
    laplace_basic: float
    laplace_advanced: float
    laplace_optimal: float
    laplace_numerical: float
    gaussian_textbook: float
    gaussian_zcdp: float
    gaussian_exact: float


def composition_table(
    ks: tuple[int, ...] = (1, 10, 100, 1000), *, epsilon: Amount, delta: Amount
) -> list[CompositionRow]:
    """What k counting queries at a total of (epsilon, delta) cost in noise, by every composition theorem.

    >>> row = composition_table((10,), epsilon=1, delta=1e-6)[0]
    >>> round(row.laplace_basic, 1), round(row.gaussian_exact, 1)
    (14.1, 13.4)
    """
    total, small = positive("epsilon", epsilon), proper_delta(delta)
    return [_row(at_least_one("ks", k), total, small) for k in checked_sequence("ks", ks)]


def _row(k: int, epsilon: Fraction, delta: Fraction) -> CompositionRow:
    root, limit = math.sqrt(2.0), float_down(epsilon)

    def by(private: Callable[[float], bool], least: float) -> float:
        return root / greatest(private, least, 2.0 * limit, relative=NEAR)

    # Starts at which the theorems surely hold: each of their two terms is at most half of epsilon there.
    rho, logs = zcdp_rho(epsilon, delta), -math.log(float_down(delta))
    low_rho = limit * min(limit / (16.0 * logs), 0.5)
    textbook = greatest(lambda r: zcdp_epsilon(r, delta, textbook=True) <= limit, low_rho, rho, relative=NEAR)
    low = min(limit / k / 32.0, 0.1) / (1.0 + math.sqrt(2.0 * logs))
    basic = root * k / limit
    return CompositionRow(
        k=k,
        laplace_basic=basic,
        laplace_advanced=by(lambda e: advanced_composition(e, k, delta) <= limit, low),
        laplace_optimal=min(by(lambda e: (k * pure_loss(e)).delta(epsilon) <= delta, limit / k / 32.0), basic),
        laplace_numerical=float_up(calibration.laplace_scale(1, epsilon, delta, uses=k)) * root,
        gaussian_textbook=math.sqrt(k / (2.0 * textbook)),
        gaussian_zcdp=math.sqrt(k / (2.0 * rho)),
        gaussian_exact=float_up(calibration.gaussian_sigma(1, epsilon, delta, uses=k)),
    )


def composition_figure(
    rows: Sequence[CompositionRow], *, caption: str, ax: object = None, path: str | os.PathLike[str] | None = None
) -> Figure:
    """The table as a picture: noise against the number of counts, one curve for each theorem. `ax` draws in axes of
    yours, `path` saves the figure.

    >>> rows = composition_table((1, 10), epsilon=1, delta=1e-6)
    >>> composition_figure(rows, caption="total (1, 1e-6)").axes[0].get_xlabel()
    'counting queries'
    """
    names = CompositionRow._fields[1:]
    curves = {name.replace("_", ", "): [float(getattr(row, name)) for row in rows] for name in names}
    x, y_label = [row.k for row in rows], "standard deviation of each"
    return lines_figure(x, curves, x_label="counting queries", y_label=y_label, caption=caption, ax=ax, path=path)


def in_plain_words(epsilon: Amount, *, household: int = 1) -> str:
    """What an epsilon means for one person, or for a household that changes together.

    >>> print(in_plain_words(0.1, household=4))
    Whatever was believed about 4 people together before the release, the odds change by a factor of at most 1.49183.
    """
    loss = at_least_one("household", household) * positive("epsilon", epsilon)
    who = "you" if household == 1 else f"{household} people together"
    believed = f"Whatever was believed about {who} before the release, the odds change by a factor of at most"
    if loss > MOST_WORDS:
        return f"{believed} e^{decimal_text(loss, rounding='ROUND_CEILING')}, which is no promise."
    factor = math.exp(float_up(loss)) * (1.0 + 2.0**-48)
    return f"{believed} {decimal_text(Fraction(factor), rounding='ROUND_CEILING')}."


def checked_sequence(name: str, numbers: object) -> Sequence[object]:
    """Several numbers."""
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        raise InvalidParameter(expected("a list", name, numbers, f"write {name}=(1, 10, 100)."))
    return numbers
