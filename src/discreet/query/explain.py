"""What a release would do and cost, and how good it would be, from public facts alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import decimal_text
from discreet.query import moments
from discreet.query.aggregates import Aggregate, Statistic
from discreet.query.estimate import half_width
from discreet.query.lattice import ROW_CAP
from discreet.query.plan import Column, Form, Plan, PricedBlock

LAW = {
    Form.COUNT: "count of rows",
    Form.UNITS: "count of units",
    Form.SUM: "sum",
    Form.PAIR: "pair (sum of y-low, sum of high-y)",
    Form.TRIPLE: "triple (Bernstein sums of degree 2)",
}


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Mapping[str, Any]):
    """The account of a release before it is made; a mapping, and a table in a terminal or notebook."""

    facts: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return _rendered(self).export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def explain(plan: Plan, statement: str, *, confidence: float, assume: Mapping[str, int] | None) -> Explanation:
    """All that is known of a release before it is made."""
    return Explanation(
        {
            **promise(plan),
            "columns": [_column(plan, column, confidence, _rows(assume)) for column in plan.columns],
            "totals": [_block(block) for block in plan.blocks],
            "confidence": confidence,
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
        if any(block.block.form is not Form.UNITS for block in plan.blocks):
            limits["max_rows"] = plan.limits.max_rows
    return {
        "source": f"{declared.name}@{declared.version}" if declared.version else declared.name,
        "unit": list(declared.unit) or "each row",
        "neighbors": declared.neighbors.value,
        "groups": f"{plan.query.cells} by {', '.join(plan.query.keys.names)}" if plan.query.keys else "none",
        "limits": limits or "none needed",
        "charge": {"epsilon": decimal_text(plan.charge.epsilon), "delta": decimal_text(plan.charge.delta)},
    }


def _rows(assume: Mapping[str, int] | None) -> int | None:
    if assume is None:
        return None
    rows = assume.get("rows")
    if set(assume) != {"rows"} or isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidParameter(
            expected(
                "assume={'rows': n} with a whole n of 1 or more", "assume", assume, "write assume={'rows': 20_000}."
            )
        )
    return rows


def _block(block: PricedBlock) -> dict[str, Any]:
    """One mechanism: what it takes, its noise, and the rounding that the noise drowns."""
    lattice = block.lattice
    rounding = "none: integers as they are" if lattice.exact else f"at most {float(lattice.step) / 2:.3g} a row"
    if block.block.form is Form.TRIPLE:
        rounding = f"at most {1 / block.steps:.3g} of the squared range a row"
    return {
        "statistic": LAW[block.block.form],
        "of": None if block.block.value is None else str(block.block.value.expr.get_name()),
        "where": None if block.block.where is None else str(block.block.where.expr.get_name()),
        "components": block.block.components,
        "mechanism": "discrete Laplace",
        "steps": block.steps,
        "sensitivity": block.sensitivity,
        "scale": decimal_text(block.noise.scale),
        "epsilon": decimal_text(block.noise.epsilon),
        "share": decimal_text(block.share, digits=3),
        "rounding": rounding,
    }


def _column(plan: Plan, column: Column, confidence: float, rows: int | None) -> dict[str, Any]:
    return {
        "name": column.aggregate.name,
        "statistic": column.aggregate.statistic.value,
        "plus_minus": _error(plan, column, confidence, rows),
        "epsilon": decimal_text(
            sum((plan.blocks[i].noise.epsilon for i in column.blocks), start=plan.charge.epsilon * 0)
        ),
    }


def _error(plan: Plan, column: Column, confidence: float, rows: int | None) -> str:
    """Half the width of a column's interval, as a number or as a function of the rows n of a group."""
    if column.linear:
        return f"{half_width(plan, column, confidence):.4g}"
    block = plan.blocks[column.blocks[0]]
    width = float(block.lattice.high * block.lattice.step)
    unit = width if column.aggregate.statistic is not Statistic.VARIANCE else width**2
    if rows is not None:
        return f"{unit * _forecast(column.aggregate, block, confidence, rows):.4g}"
    many = max(1.0, block.scale) * 1e9  # so many that the error is inversely proportional to them, or to their root
    error = unit * _forecast(column.aggregate, block, confidence, many)
    if column.aggregate.statistic is Statistic.STD:
        return f"{error * many**0.5:.3g}/sqrt(n)"
    return f"{error * many:.3g}/n"


def _forecast(asked: Aggregate, block: PricedBlock, confidence: float, rows: float) -> float:
    """Half the width of a mean's, variance's or std's interval, for a range of 1 and so many rows."""
    noise: dict[str, Any] = {"confidence": confidence, "step": 1 / block.steps}
    if asked.statistic is Statistic.MEAN:
        return float(moments.mean_half_width(rows, block.scale, of_triple=block.block.form is Form.TRIPLE, **noise))
    error = float(moments.variance_half_width(rows, block.scale, sample=asked.sample, **noise))
    return error**0.5 if asked.statistic is Statistic.STD else error  # |a - b| <= sqrt(|a² - b²|)


def _text(explanation: Explanation) -> str:
    return _rendered(explanation).export_text(styles=False).rstrip()


def _rendered(explanation: Explanation) -> Any:
    """A recording console that holds the tables of an explanation."""
    import io

    from rich.console import Console
    from rich.table import Table

    console = Console(record=True, width=110, file=io.StringIO())
    for name in ("source", "unit", "neighbors", "groups", "limits", "charge"):
        fact = explanation[name]
        shown = (
            ", ".join(f"{k}={v}" for k, v in fact.items())
            if isinstance(fact, dict)
            else fact
            if isinstance(fact, str)
            else ", ".join(fact)
        )
        console.print(f"{name:>10}  {shown}", highlight=False, markup=False)
    columns = Table(
        "column",
        "statistic",
        f"± at {explanation['confidence']:.0%}",
        "from epsilon",
        title="Columns (noise alone; n: rows in the group)",
    )
    for column in explanation["columns"]:
        columns.add_row(column["name"], column["statistic"], column["plus_minus"], column["epsilon"])
    totals = Table(
        "statistic",
        "of",
        "sensitivity",
        "noise scale",
        "epsilon",
        "share",
        "rounding",
        title="Noisy totals (in lattice steps)",
    )
    for block in explanation["totals"]:
        of = block["of"] or "rows"
        of = of if block["where"] is None else f"{of} where {block['where']}"
        totals.add_row(
            block["statistic"],
            of,
            f"{block['sensitivity']:,}",
            _short(block["scale"]),
            block["epsilon"],
            block["share"],
            block["rounding"],
        )
    console.print(columns)
    console.print(totals)
    return console


def _short(number: str) -> str:
    return number if len(number) <= 12 else f"{float(number):.6g}"
