"""What a choice, a number of values or clusters would cost, and how good they would be, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Guarantee
from discreet.query.explanation import Explanation


def promised(declared: Declaration, charge: Guarantee) -> dict[str, Any]:
    """Who is protected, and what of, where a unit may have any number of values: as `explain.promise` says it."""
    limits: dict[str, int] = {}
    if declared.rows_changed > 1:
        said = "rows that one unit changes" if declared.joins_units else "rows that one unit has"
        limits[said] = declared.rows_changed
    return {
        "source": declared.label,
        "unit": declared.protects,
        "neighbors": declared.neighbors.value,
        "groups": "none",
        "limits": limits or "none needed",
        "charge": charge,
    }


def paid_part(charge: Guarantee, share: Fraction = Fraction(1)) -> dict[str, Fraction]:
    """What a part of a charge is, in its own terms: epsilon, or rho."""
    return {"epsilon": charge.epsilon * share} if charge.rho is None else {"rho": charge.rho * share}


def drawn_total(
    statistic: str,
    of: str,
    *,
    mechanism: str,
    moved: tuple[Fraction, str],
    scale: Fraction,
    **more: Any,
) -> dict[str, Any]:
    """A mechanism of an account, as `explain.block_facts` says it of totals.

    Args:
        statistic: what is drawn.
        of: the column or the scores that it is of.
        mechanism: its name.
        moved: by how much one unit moves a score, and in which units.
        scale: of the noise on a score, in the same units.
        more: its ``epsilon`` or ``rho``, its ``share``, and what else tells it from others.
    """
    return {
        "statistic": statistic,
        "of": of,
        "where": None,
        "range": None,
        "components": 1,
        "mechanism": mechanism,
        "sensitivity": moved[0],
        "norm": "each score",
        "scale": scale,
        "in": moved[1],
        "moves": moved[0],
        "noise": scale,
        "share": Fraction(1),
        "rounding": "none",
        **more,
    }


def application_account(
    promise: Mapping[str, Any],
    *,
    law: Mapping[str, Any],
    columns: Sequence[Mapping[str, Any]],
    totals: Sequence[Mapping[str, Any]],
    confidence: float,
    others: Sequence[Mapping[str, Any]],
) -> Explanation:
    """The account of a release before it is made.

    Args:
        promise: who is protected, and the charge.
        law: ``mechanism``, ``sensitivity`` and ``intervals``: what is drawn, and what its errors mean.
        columns: names, statistics, errors and shares of what is answered.
        totals: one for each mechanism; see `drawn_total`.
        confidence: of the errors.
        others: what else could be asked at this price: ``mechanism``, ``charge`` and ``plus_minus`` of each.
    """
    return Explanation(
        {
            **promise,
            "mechanism": law["mechanism"],
            "sensitivity": law["sensitivity"],
            "columns": list(columns),
            "totals": list(totals),
            "confidence": confidence,
            "intervals": law["intervals"],
            "rounding": "none: integers as they are",
            "also priced": list(others),
        }
    )
