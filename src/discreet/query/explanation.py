"""The account of a release before it is made: numbers as they are, and the texts that they are shown as."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

from discreet.errors import NoTruth, printable
from discreet.exact.amounts import decimal_text
from discreet.planning.forms import UNITS
from discreet.privacy.definitions import Guarantee


class ErrorOf(Enum):
    """What an error is of: the value itself, or a thing that it follows from. Each is written as it is shown."""

    VALUE = "{:.4g}"
    VALUE_TIMES_ROWS = "{:.3g}/n"
    """Of a group of n rows, the error is the amount over n."""
    RANK = "about {:.3g} rows of rank"
    ROWS_BEYOND = "about {:.3g} rows beyond"
    ROWS_BEYOND_OF_MORE = "about {:.3g} rows beyond; the whole range where there are fewer"
    RANGE = "the whole range"
    SHORT = "{:.4g} short at most"
    """Of a choice: by how much its score may fall short of the best."""
    TOO_LARGE = "{:.4g} too large"
    """Of a count from below: by how much it may be above the true one."""
    TOO_SMALL = "{:.4g} too small"
    """Of a bound from below: by how much it may be below what it bounds."""
    ROWS = "whatever the rows make it"
    """Nothing is known of it beforehand."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Half the width of an interval, with the confidence of its account.

    >>> str(Accuracy(14.6)), str(Accuracy(2.5, ErrorOf.VALUE_TIMES_ROWS))
    ('14.6', '2.5/n')
    """

    amount: float
    of: ErrorOf = ErrorOf.VALUE
    at_most: float | None = None
    """Of ranks: what holds whatever the rows, where that is more than what is likely."""

    def __str__(self) -> str:
        most = "" if self.at_most is None else f", at most {self.at_most:.3g}"
        return self.of.value.format(self.amount) + most


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(NoTruth, Mapping[str, Any]):
    """The account of a release before it is made; a mapping of texts, and a table in a terminal or notebook.

    >>> from discreet.testing import people
    >>> found = people().count().explain(epsilon=1)
    >>> found.charge, found.accuracy["count"].amount, found["columns"][0]["plus_minus"]
    (Guarantee(epsilon=1), 15.0, '15')
    """

    _ask: ClassVar[str] = "ask for one of its facts, as explanation['charge']."

    facts: Mapping[str, Any]
    """Amounts as they are: fractions, guarantees, accuracies."""

    @property
    def charge(self) -> Guarantee:
        """What the release would cost."""
        charge: Guarantee = self.facts["charge"]
        return charge

    @property
    def accuracy(self) -> dict[str, Accuracy]:
        """By how much each column may be off."""
        return {column["name"]: column["plus_minus"] for column in self.facts["columns"]}

    @property
    def shares(self) -> dict[str, Fraction]:
        """The part of the charge that each column is computed from."""
        return {column["name"]: column["share"] for column in self.facts["columns"]}

    def __getitem__(self, key: str) -> Any:
        return as_text(self.facts[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __repr__(self) -> str:
        return str(_rendered(_printable(self)).export_text(styles=False)).rstrip()

    def _repr_html_(self) -> str:
        html: str = _rendered(_printable(self)).export_html(inline_styles=True, code_format="<pre>{code}</pre>")
        return html


DIGITS = {"share": 3, "rho": 4}
"""Of amounts that have no short decimal; 6 of all others."""


def as_text(fact: Any, name: str = "") -> Any:
    """The same with every amount as it is shown, ready for JSON."""
    if isinstance(fact, Mapping):
        return {key: as_text(value, key) for key, value in fact.items()}
    if isinstance(fact, list | tuple):
        return [as_text(one) for one in fact]
    if isinstance(fact, Fraction):
        return decimal_text(fact, digits=DIGITS.get(name, 6))
    if isinstance(fact, Guarantee):
        return fact.amounts
    return str(fact) if isinstance(fact, Accuracy) else fact


PLANNED = (
    *("neighbors", "unit", "via", "groups", "limits", "charge", "tables", "strategy", "columns", "totals"),
    *("first looks", "mechanism", "places"),
)
"""What an account says of a plan. Error bars follow from it, and from the confidence that somebody asked for."""


def plan_digest(account: Mapping[str, Any]) -> str:
    """A name for the plan that an account is of, or its texts: the same wherever a question is planned, as long as what
    is declared of the table, the price and the planner are the same.

    >>> from discreet.testing import people
    >>> one, other = (people().count().explain(epsilon=epsilon) for epsilon in (1, 2))
    >>> plan_digest(one) == plan_digest(one), plan_digest(one) == plan_digest(other)
    (True, False)
    """
    planned = {name: account[name] for name in account if name in PLANNED}
    columns = [{name: fact for name, fact in one.items() if name != "plus_minus"} for one in planned["columns"]]
    text = json.dumps({**planned, "columns": columns}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _rendered(explanation: Explanation) -> Any:
    """A recording console that holds the tables of an explanation."""
    import io

    from rich.console import Console

    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_jupyter=False)
    for name in ("source", "unit", "via", "neighbors", "groups", "limits", "charge"):
        if name in explanation.facts:  # a path alone is not always there
            console.print(f"{name:>10}  {_shown(explanation[name])}", highlight=False, markup=False)
    for name in ("mechanism", "sensitivity", "parts", "strategy", "bound", "taken"):
        if name in explanation.facts:
            console.print(f"{name:>10}  {_shown(explanation[name])}", highlight=False, markup=False)
    console.print(_table(COLUMNS, map(_column_row, explanation["columns"])))
    console.print(_table(TOTALS, map(_total_row, explanation["totals"])))
    if explanation.facts.get("first looks"):
        console.print(_table(LOOKS, map(_look_row, explanation["first looks"])))
    if explanation.facts.get("rounds"):
        console.print(_table(ROUNDS, map(_round_row, explanation["rounds"])))
    for label, text in _asides(explanation):
        console.print(f"{label:>10}  {text}", highlight=False, markup=False)
    for name in (one for one in ("intervals", "rounding", "row cap") if one in explanation.facts):
        console.print(f"{name:>10}  {_of(explanation, name)}", highlight=False, markup=False)
    return console


def _asides(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """What else was priced, for first looks and for the whole, with the choice in the same terms."""
    looks = explanation.facts.get("first looks", ())
    yield from (("or", text) for look in looks for text in look.get("also priced", ()))
    yield from (("fewer", text) for look in looks for text in look.get("would lower it", ()))
    others = explanation["also priced"]
    yield from (("chosen", _other(chosen)) for chosen in _chosen(explanation)[: len(others)])
    yield from (("or", _other(other)) for other in others)


def _chosen(explanation: Explanation) -> list[dict[str, Any]]:
    """The plan itself, in the terms of its runners-up."""
    laws = dict.fromkeys(
        block["mechanism"] for block in explanation["totals"] if not block["mechanism"].startswith(RANKS)
    )
    errors = {column["name"]: column["plus_minus"] for column in explanation["columns"]}
    return [{"mechanism": " and ".join(laws) or "this", "charge": explanation["charge"], "plus_minus": errors}]


def _printable(fact: Any) -> Any:
    """The same with every text as it may be shown."""
    if isinstance(fact, Explanation):
        return Explanation(_printable(fact.facts))
    if isinstance(fact, Mapping):
        return {_printable(name): _printable(value) for name, value in fact.items()}
    if isinstance(fact, list | tuple):
        return [_printable(one) for one in fact]
    return printable(fact) if isinstance(fact, str) else fact


def _other(plan: Mapping[str, Any]) -> str:
    errors = ", ".join(f"{name} ± {error}" for name, error in plan["plus_minus"].items())
    return f"{plan['mechanism']} for {_shown(plan['charge'])}: {errors}"


WIDTH = 120
RANKS = "exponential on ranks"
"""What has no rival, and is not named beside the rivals of others."""
COLUMNS = ("column", "statistic", "plus or minus", "from")
LOOKS = ("also found", "by", "detail", "epsilon", "delta")
ROUNDS = ("round", "epsilon so far", "plus or minus")
TOTALS = ("noisy total", "of", "within", "one unit moves it by", "noise scale", "epsilon", "share", "rounding a row")


def _of(explanation: Explanation, name: str) -> str:
    text = _shown(explanation[name])
    if name != "intervals":
        return text
    cell = "" if "mechanism" in explanation.facts else "; n: rows in a cell"
    return f"{text}; confidence {explanation['confidence']:.4g}{cell}"


def _shown(fact: object) -> str:
    if isinstance(fact, Mapping):
        return ", ".join(f"{key}={value}" for key, value in fact.items())
    return fact if isinstance(fact, str) else ", ".join(map(str, fact)) if isinstance(fact, Iterable) else str(fact)


def _column_row(column: Mapping[str, Any]) -> tuple[str, ...]:
    spent = f"epsilon {column['epsilon']}" if "epsilon" in column else f"{column['share']} of the cost"
    return column["name"], column["statistic"], column["plus_minus"], spent


def _round_row(one: Mapping[str, Any]) -> tuple[str, ...]:
    errors = ", ".join(f"{name} ± {error}" for name, error in one["plus_minus"].items())
    return str(one["round"]), one["epsilon"], errors


def _look_row(look: Mapping[str, Any]) -> tuple[str, ...]:
    if "even chance" in look:
        detail = f"even chance: {look['even chance']}\n95 % chance: {look['95 % chance']}"
    else:
        detail = f"sensitivity {look['sensitivity']}, noise scale {_short(look['scale'])}"
    return look["what"], look["mechanism"], detail, _short(look["epsilon"]), look["delta"]


def _total_row(block: Mapping[str, Any]) -> tuple[str, ...]:
    of = block["of"] or ("units" if block["statistic"] == UNITS.label else "rows")
    of = of if block["where"] is None else f"{of} where {block['where']}"
    costs = block["epsilon"] if "epsilon" in block else f"rho {block['rho']}"
    moved = f"{_short(block['moves'])} {block['in'].removesuffix('s') if block['moves'] == '1' else block['in']}"
    numbers = (moved, _short(block["noise"]), costs, block["share"])
    return block["statistic"], of, block["range"] or "", *numbers, block["rounding"]


def _table(headers: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Any:
    """A table whose cells are text, not markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _short(number: str) -> str:
    return number if len(number) <= 10 else f"{float(number):.4g}"
