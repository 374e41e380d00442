"""What a truncated total would cost, and how near its bound would be, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.privacy.declaration import Declaration
from discreet.query.explain_application import application_account, drawn_total, paid_part, promised
from discreet.query.explanation import Accuracy, ErrorOf, Explanation
from discreet.truncation.truncated_total_release import AUTO, RACE, SHORT, TotalReading

VALUE, AT_LEAST = "value", "at_least"
TAKEN = "taken"
ABOVE = "value: how far above what units have up to the limit"
BELOW = (
    "at_least: how far below all that units have, if none has more than the smallest limit, or, at most, the largest"
)


def total_account(
    reading: TotalReading, others: Mapping[str, TotalReading], declared: Declaration, confidence: float
) -> Explanation:
    """The account of a total before it is paid for.

    Args:
        reading: what is asked, priced.
        others: by name, the other ways to find a limit at the same price.
        declared: who is protected.
        confidence: of the errors.
    """
    facts, errors = reading.facts, _errors(reading, confidence)
    statistics = {VALUE: "total up to the limit", AT_LEAST: "bound from below"}
    found = application_account(
        promised(declared, reading.guarantee),
        law={
            "mechanism": facts["mechanism"],
            "sensitivity": facts["sensitivity"],
            "intervals": "; ".join([ABOVE, BELOW] if VALUE in errors else [BELOW]),
        },
        columns=[
            {"name": name, "statistic": statistics[name], "plus_minus": error, "share": Fraction(1)}
            for name, error in errors.items()
        ],
        totals=_totals(reading),
        confidence=confidence,
        others=[
            {
                "mechanism": f"limit={name!r}",
                "charge": one.guarantee,
                "plus_minus": _errors(one, confidence),
                SHORT: _short(one, confidence),
            }
            for name, one in others.items()
        ],
    )
    short = _short(reading, confidence)
    shown = ", ".join(f"{amount:,.7g} if no unit has more than {int(limit):,}" for limit, amount in short.items())
    rounding = {} if reading.parts == 1 and not reading.each_of else {"rounding": _rounding(reading)}
    bound = {"bound": f"short by at most {shown}", SHORT: short}
    taken = {TAKEN: _taken(reading, others, confidence)} if others else {}
    return Explanation({**found.facts, **bound, **taken, **rounding})


def _taken(reading: TotalReading, others: Mapping[str, TotalReading], confidence: float) -> str:
    """Which way to find a limit is taken, and for which tables each of the ways promises the nearer bound."""
    [(name, other)] = others.items()
    own, beside = _short(reading, confidence), _short(other, confidence)
    sizes = sorted({*reading.limits, *other.limits})
    promised = [(size, _up_to(own, size), _up_to(beside, size)) for size in sizes]
    nearer = [f"{size:,}" for size, mine, theirs in promised if mine < theirs]
    farther = [f"{size:,}" for size, mine, theirs in promised if mine > theirs]
    drawn = len(other.limits if name == RACE else reading.limits)
    why = f"{AUTO!r} draws one total, at half of epsilon; {RACE!r} draws {drawn:,}, which share it"
    taken = AUTO if name == RACE else RACE
    if not farther or not nearer:
        which = "no worse" if not farther else "no better"
        return f"limit={taken!r}, as asked: {why}. Its promise is {which} than that of {name!r}, whatever units have"
    return (
        f"limit={taken!r}, as asked: {why}. Its promise is nearer if no unit has more than {', '.join(nearer)}; "
        f"that of {name!r} if none has more than {', '.join(farther)}"
    )


def _up_to(short: Mapping[str, int | float], size: int) -> int | float:
    """By how much a bound is short if no unit has more than a size: as for the next limit."""
    return next(amount for limit, amount in short.items() if int(limit) >= size)


def _short(reading: TotalReading, confidence: float) -> dict[str, int | float]:
    """By how much the bound is short of the total at most, if no unit has more than each limit."""
    rule = reading.mechanism
    return {
        str(one): reading.amount(rule.short(i, confidence) + reading.floored) for i, one in enumerate(reading.limits)
    }


def _errors(reading: TotalReading, confidence: float) -> dict[str, Accuracy]:
    """Of the noisy total, where there is one beside the bound, and of the bound."""
    rule, places = reading.mechanism, range(len(reading.limits))
    margins = [reading.amount(rule.margin(place, confidence)) for place in places]
    found = {AT_LEAST: _between(list(_short(reading, confidence).values()), ErrorOf.TOO_SMALL)}
    return found if isinstance(rule, RaceToTheTop) else {VALUE: _between(margins, ErrorOf.TOO_LARGE), **found}


def _between(amounts: list[int | float], of: ErrorOf) -> Accuracy:
    least, most = min(amounts), max(amounts)
    return Accuracy(float(least), of, float(most) if most > least else None)


def _totals(reading: TotalReading) -> list[dict[str, Any]]:
    """What is drawn: the noise of the chosen total, and the choice; in a race, the noise of all totals."""
    rule, charge = reading.mechanism, reading.guarantee
    is_race = isinstance(rule, RaceToTheTop)
    choice = None if isinstance(rule, RaceToTheTop) else rule.choice
    places = range(len(reading.limits) if is_race else 1)
    share = Fraction(1, 2 if choice else len(places))
    found = [
        drawn_total(
            f"total, at a limit of {reading.limits[place]:,}",
            reading.of,
            mechanism="discrete Laplace",
            moved=(Fraction(reading.limits[place]), "of the amount" if reading.of else "rows"),
            scale=rule.counting(place).scale / reading.parts,
            limits=list(reading.limits),
            parts=reading.parts,
            share=share,
            **paid_part(charge, share),
        )
        for place in places
    ]
    if choice is None or isinstance(rule, RaceToTheTop):
        return found
    chosen = drawn_total(
        f"choice of 1 of {len(reading.limits)} limits",
        reading.of,
        mechanism="permute-and-flip",
        moved=(Fraction(1), "of a score"),
        scale=choice.scale,
        penalty=rule.penalty,
        share=1 - share,
        **paid_part(charge, 1 - share),
    )
    return [*found, chosen]


def _rounding(reading: TotalReading) -> str:
    if reading.parts == 1:
        return "each total down to a whole number"
    row = f"{reading.row_rounding:.1g}"
    return f"each row down by less than {row}, and each total down to 1/{reading.parts:,}"
