"""What a release would do and cost, and how good it would be, from public facts alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.errors import InvalidParameter, NoTruth, expected, printable
from discreet.exact.amounts import decimal_text
from discreet.inference.estimate import half_width_for
from discreet.inference.estimators import ESTIMATORS
from discreet.language.checked_expressions import float_text
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.forms import UNITS
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import Law, Noise, width_of
from discreet.planning.plan import Column, Plan, PricedBlock
from discreet.planning.quantile_measurements import PricedRanks, end_error, rank_error
from discreet.query.alternative_noise import alternatives
from discreet.selection.rank_exponential import UNIT

INTERVALS = "noise only, for the bounded and weighted population, per cell"
GIVEN = "noise only, per cell, given that it is shown: low ends near the threshold are 1"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(NoTruth, Mapping[str, Any]):
    """The account of a release before it is made; a mapping, and a table in a terminal or notebook."""

    _ask: ClassVar[str] = "ask for one of its facts, as explanation['charge']."

    facts: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __repr__(self) -> str:
        return str(_rendered(_printable(self)).export_text(styles=False)).rstrip()

    def _repr_html_(self) -> str:
        html: str = _rendered(_printable(self)).export_html(inline_styles=True, code_format="<pre>{code}</pre>")
        return html


def explain(plan: Plan, statement: str, *, confidence: float, assume: Mapping[str, int] | None) -> Explanation:
    """All that is known of a release before it is made."""
    return Explanation(
        {
            **promise(plan),
            "columns": [_column(plan, column, confidence, _rows(assume)) for column in plan.columns],
            "totals": [*map(_block, plan.blocks), *map(_ranks, plan.ranks)],
            "confidence": confidence,
            "intervals": GIVEN if plan.shown else INTERVALS,
            "rounding": _drowned(plan),
            "also priced": _others(plan, confidence, _rows(assume)),
            "row cap": f"totals of fewer than 2**{ROW_CAP.bit_length() - 1} rows cannot overflow",
            "sql": statement,
        }
    )


def promise(plan: Plan) -> dict[str, Any]:
    """Who is protected, and what of: the part that a receipt repeats."""
    declared = plan.query.declaration
    limits: dict[str, int] = {}
    if not plan.query.by_row:
        if plan.query.keys:
            limits["max_groups"] = plan.limits.max_groups
        if plan.limits_rows:
            limits["max_rows"] = plan.limits.max_rows
    elif declared.moved > 1:
        limits["rows of the join that one unit changes" if declared.meets else "rows that one unit has"] = (
            declared.moved
        )
    return {
        "source": declared.label,
        "unit": list(declared.whose) or "each row",
        "neighbors": declared.neighbors.value,
        "groups": f"{plan.query.cells} by {', '.join(plan.query.keys.names)}" if plan.query.keys else "none",
        "limits": limits or "none needed",
        "charge": plan.charge.amounts,
    }


def _others(plan: Plan, confidence: float, rows: int | None) -> list[dict[str, Any]]:
    """The runners-up: other noise for the whole question, and other ways to some columns at the same charge."""
    told = [_runner_up(other, confidence, rows) for other in plan.runners_up]
    for words, errors in alternatives(plan, confidence, rows):
        told.append({"mechanism": words, "charge": plan.charge.amounts, "plus_minus": errors})
    return told


def _runner_up(plan: Plan, confidence: float, rows: int | None) -> dict[str, Any]:
    """What the same question would have been with other noise."""
    return {
        "mechanism": plan.law.value,
        "charge": plan.charge.amounts,
        "plus_minus": {column.aggregate.name: error_of(plan, column, confidence, rows) for column in plan.columns},
    }


def _rows(assume: object) -> int | None:
    if assume is None:
        return None
    rows = assume.get("rows") if isinstance(assume, Mapping) and set(assume) == {"rows"} else None
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        what = "assume={'rows': n} with a whole n of 1 or more"
        raise InvalidParameter(expected(what, "assume", assume, "write assume={'rows': 20_000}."))
    return rows


def _block(block: PricedBlock) -> dict[str, Any]:
    """One mechanism: what it takes, its noise, and the rounding that the noise drowns."""
    values, where = block.block.values, block.block.where
    ranges = [float_text(value.interval) for value in values if value.interval is not None]
    return {
        "statistic": block.block.form.label,
        "of": _of_columns(block) or None,
        "range": " x ".join(ranges) or None,
        "where": None if where is None else where.text,
        "components": block.block.components,
        "mechanism": _law(block).value,
        "steps": block.steps,
        "sensitivity": _whole_or_text(block.sensitivity),
        "norm": _law(block).norm,
        "scale": _scale(block.noise),
        **_price(block),
        "share": decimal_text(block.share, digits=3),
        "rounding": _rounding(block),
    }


def _of_columns(block: PricedBlock) -> str:
    """What is summed; of twins, the two products, where a column stands for its values from -1 to 1."""
    names = [value.text for value in block.block.values]
    if not block.block.powers:
        return ", ".join(names)
    return ", ".join(" x ".join(names[place] for place in one) or "1" for one in block.block.powers)


def _whole_or_text(number: Fraction) -> int | str:
    return int(number) if number.denominator == 1 else decimal_text(number)


LAWS: dict[type, Law] = {Gaussian: Law.GAUSSIAN, Laplace: Law.LAPLACE, Staircase: Law.STAIRCASE}


def _law(block: PricedBlock) -> Law:
    return LAWS[type(block.noise)]


def _scale(noise: Noise) -> str:
    """The scale, to the last digit; that of staircase noise is one to compare with."""
    return decimal_text(width_of(noise), digits=4) if isinstance(noise, Staircase) else decimal_text(noise.scale)


def _price(block: PricedBlock) -> dict[str, str]:
    """What one mechanism costs, in the terms in which its law composes: epsilons add up, and so do rhos."""
    if isinstance(block.noise, Gaussian):
        return {"rho": decimal_text(block.noise.rho, digits=4)}
    return {"epsilon": decimal_text(block.noise.epsilon)}


def _ranks(one: PricedRanks) -> dict[str, Any]:
    """One mechanism that cuts: what it takes, and by how many rows it may miss the rank."""
    value, where, noise = one.block.value, one.block.where, one.cuts.noise
    statistic = f"{len(one.places)} of {one.cuts.size} cuts" if one.block.shares else "one cut near an end"
    return {
        "statistic": statistic,
        "of": value.text,
        "range": None if value.interval is None else float_text(value.interval),
        "where": None if where is None else where.text,
        "components": one.cuts.size + (0 if noise is None else one.cuts.size + 1),
        "mechanism": "exponential on ranks" + ("" if noise is None else ", discrete Laplace on the rows between"),
        "stages": len(one.cuts.stages),
        "steps": one.steps,
        "sensitivity": one.cuts.mass,
        "norm": "L1",
        "scale": "ranks" if noise is None else decimal_text(noise.scale / UNIT),
        "epsilon": decimal_text(one.cuts.epsilon),
        "share": decimal_text(one.share, digits=3),
        "rounding": "none" if one.lattice.exact else f"{float(one.lattice.step) / 2:.2g}",
    }


def _rounding(block: PricedBlock) -> str:
    """How far the rounding of one row is off, in the units of what is summed."""
    if not block.rounding:
        return "none"
    if block.block.form.split:
        return f"{block.rounding:.2g} of the {'ranges' if block.factors else 'squared range'}"
    return f"{block.rounding * block.steps * float(block.lattice.step):.2g}"


def _drowned(plan: Plan) -> str:
    """Up to how many rows, all rounded in one direction, rounding stays below one standard deviation of the noise."""
    rows = min((b.scale / b.rounding for b in plan.blocks if b.rounding), default=None)
    return "none: integers as they are" if rows is None else f"less than the noise for fewer than {rows:.1g} rows"


def _column(plan: Plan, column: Column, confidence: float, rows: int | None) -> dict[str, Any]:
    return {
        "name": column.aggregate.name,
        "statistic": column.aggregate.statistic.name,
        "plus_minus": error_of(plan, column, confidence, rows),
        "share": decimal_text(
            sum((plan.blocks[i].share for i in column.blocks), start=_ranked_share(plan, column)), digits=3
        ),
        **_from(plan, column),
    }


def _ranked_share(plan: Plan, column: Column) -> Fraction:
    return Fraction(0) if column.ranks is None else plan.ranks[column.ranks].share


def _from(plan: Plan, column: Column) -> dict[str, str]:
    """The epsilon of the totals that a column is computed from, where epsilons add up."""
    if column.ranks is not None:
        return {"epsilon": decimal_text(plan.ranks[column.ranks].cuts.epsilon)}
    noises = [plan.blocks[i].noise for i in column.blocks]
    spent = [noise.epsilon for noise in noises if not isinstance(noise, Gaussian)]
    return {"epsilon": decimal_text(sum(spent, start=Fraction(0)))} if len(spent) == len(noises) else {}


def error_of(plan: Plan, column: Column, confidence: float, rows: int | None = None) -> str:
    """Half the width of a column's interval, as a number or as a function of the rows n of a group."""
    if column.ranks is not None:
        one = plan.ranks[column.ranks]
        if not one.block.shares:
            return end_error(one, rows)
        likely, most = rank_error(one, plan.query.cells, confidence)
        return f"about {likely:.3g} rows of rank" + ("" if one.is_recounted else f", at most {most:.3g}")
    if column.linear:
        return f"{half_width(plan, column, confidence):.4g}"
    if rows is not None:
        return f"{half_width_for(plan, column, rows, confidence):.4g}"
    rate, scale = ESTIMATORS[column.aggregate.statistic].rate, plan.blocks[column.blocks[0]].scale
    many = max(1.0, scale) * 1e9  # so many that the error is inversely proportional to them, or to their root
    error = half_width_for(plan, column, many, confidence) * many**rate
    return f"{error:.3g}/{'n' if rate == 1 else 'sqrt(n)'}"


def _rendered(explanation: Explanation) -> Any:
    """A recording console that holds the tables of an explanation."""
    import io

    from rich.console import Console

    console = Console(record=True, width=WIDTH, file=io.StringIO())
    for name in ("source", "unit", "neighbors", "groups", "limits", "charge"):
        console.print(f"{name:>10}  {_shown(explanation[name])}", highlight=False, markup=False)
    console.print(_table(COLUMNS, map(_column_row, explanation["columns"])))
    console.print(_table(TOTALS, map(_total_row, explanation["totals"])))
    if explanation.facts.get("first looks"):
        console.print(_table(LOOKS, map(_look_row, explanation["first looks"])))
    if explanation.facts.get("rounds"):
        console.print(_table(ROUNDS, map(_round_row, explanation["rounds"])))
    for other in (text for look in explanation.facts.get("first looks", ()) for text in look.get("also priced", ())):
        console.print(f"{'or':>10}  {other}", highlight=False, markup=False)
    for other in explanation["also priced"]:
        console.print(f"{'or':>10}  {_other(other)}", highlight=False, markup=False)
    for name in ("intervals", "rounding", "row cap"):
        console.print(f"{name:>10}  {_of(explanation, name)}", highlight=False, markup=False)
    return console


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
COLUMNS = ("column", "statistic", "plus or minus", "from")
LOOKS = ("also found", "by", "detail", "epsilon", "delta")
ROUNDS = ("round", "epsilon so far", "plus or minus")
TOTALS = ("noisy total", "of", "within", "sensitivity", "noise scale", "epsilon", "share", "rounding a row")


def _of(explanation: Explanation, name: str) -> str:
    text = _shown(explanation[name])
    return f"{text}; confidence {explanation['confidence']:.4g}; n: rows in a cell" if name == "intervals" else text


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
    detail = look.get("even chance") or f"sensitivity {look['sensitivity']}, noise scale {_short(look['scale'])}"
    return look["what"], look["mechanism"], detail, _short(look["epsilon"]), look["delta"]


def _total_row(block: Mapping[str, Any]) -> tuple[str, ...]:
    of = block["of"] or ("units" if block["statistic"] == UNITS.label else "rows")
    of = of if block["where"] is None else f"{of} where {block['where']}"
    costs = block["epsilon"] if "epsilon" in block else f"rho {block['rho']}"
    numbers = (_short(str(block["sensitivity"])), _short(block["scale"]), costs, block["share"])
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
