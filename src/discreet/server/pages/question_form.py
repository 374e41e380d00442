"""A question that was put together in a form, as the SQL that it means; the service decides about that text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.errors import InvalidQuery, expected
from discreet.server.pages.form_fields import Fields

LINES = 5
"""Statistics, and conditions, that the form has room for."""

STATISTICS = {
    "units": "number of units",
    "rows": "number of rows",
    "mean": "mean",
    "sum": "sum",
    "median": "median",
    "std": "standard deviation",
}
FUNCTIONS = {"mean": "AVG", "sum": "SUM", "median": "MEDIAN", "std": "STDDEV"}
COMPARISONS = {
    "=": "is",
    "<>": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = re.compile(
    "all|and|as|by|case|cube|date|desc|distinct|else|end|false|from|full|group|having|in|inner|interval|is|join|keys|left|"
    "like|limit|not|null|offset|on|or|order|outer|right|rollup|row|rows|select|set|table|then|time|to|true|union|unique|"
    "user|using|values|when|where|with"
)


class FormColumn(Protocol):
    """What the form needs to know of a column."""

    @property
    def type(self) -> str:
        """Its type, as it is declared."""

    @property
    def is_unit(self) -> bool:
        """Whether its values tell the units apart."""


@dataclass(frozen=True, kw_only=True)
class StatisticLine:
    """A statistic, and the column that it is of."""

    statistic: str = ""
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class ConditionLine:
    """A column compared with a value."""

    where: str = ""
    comparison: str = "="
    value: str = ""


@dataclass(frozen=True, kw_only=True)
class FormQuestion:
    """What stands in the form, line by line."""

    measures: Sequence[StatisticLine]
    groups: Sequence[str]
    conditions: Sequence[ConditionLine]

    @classmethod
    def read(cls, fields: Fields) -> FormQuestion:
        """The question as it was filled in."""
        places = range(1, LINES + 1)
        return cls(
            measures=[StatisticLine(statistic=fields.text(f"statistic{n}"), of=fields.text(f"of{n}")) for n in places],
            groups=fields.all("by_column"),
            conditions=[
                ConditionLine(
                    where=fields.text(f"where{n}"),
                    comparison=fields.text(f"is{n}") or "=",
                    value=fields.text(f"value{n}"),
                )
                for n in places
            ],
        )

    @classmethod
    def first(cls) -> FormQuestion:
        """What the form shows at first: how many there are."""
        empty = [StatisticLine() for _ in range(LINES - 1)]
        return cls(
            measures=[StatisticLine(statistic="units"), *empty],
            groups=(),
            conditions=[ConditionLine() for _ in range(LINES)],
        )

    def sql(self, table: str, columns: Mapping[str, FormColumn]) -> str:
        """The SQL that the form means, for a table with these columns; "" where nothing is chosen yet.

        Raises:
            InvalidQuery: a line is half filled in, or names what the form does not offer.

        >>> from types import SimpleNamespace
        >>> columns = {"person": SimpleNamespace(type="integer", is_unit=True), "plan": SimpleNamespace(type="text")}
        >>> columns["plan"].is_unit = False
        >>> asked = FormQuestion(measures=[StatisticLine(statistic="units")], groups=["plan"], conditions=[])
        >>> print(asked.sql("people", columns))
        SELECT plan, COUNT(DISTINCT person) AS number_of_units
        FROM people
        GROUP BY plan
        """
        measures = [_measure(one, columns) for one in self.measures if one.statistic]
        if not measures:
            return ""
        groups = [quoted(_known(name, columns)) for name in self.groups]
        conditions = [_condition(one, columns) for one in self.conditions if one.where]
        lines = [f"SELECT {', '.join([*groups, *dict.fromkeys(measures)])}", f"FROM {quoted(table)}"]
        if conditions:
            lines.append(f"WHERE {' AND '.join(conditions)}")
        if groups:
            lines.append(f"GROUP BY {', '.join(groups)}")
        return "\n".join(lines)


def quoted(name: str) -> str:
    """A name as SQL writes it, in double quotes unless it is a plain word.

    >>> print(quoted("plan"), quoted('the "plan" of'), quoted("order"))
    plan "the ""plan"" of" "order"
    """
    if _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _known(name: str, columns: Mapping[str, FormColumn]) -> str:
    if name not in columns:
        raise InvalidQuery(expected("a column of this data set", "column", name[:60], "choose one of the list."))
    return name


def _measure(one: StatisticLine, columns: Mapping[str, FormColumn]) -> str:
    if one.statistic == "units":
        units = [name for name, column in columns.items() if column.is_unit]
        return (
            f"COUNT(DISTINCT {quoted(units[0])}) AS number_of_units"
            if len(units) == 1
            else "COUNT(*) AS number_of_units"
        )
    if one.statistic == "rows":
        return "COUNT(*) AS number_of_rows"
    if one.statistic not in FUNCTIONS:
        raise InvalidQuery(
            expected("a statistic of the form", "statistic", one.statistic[:60], "choose one of the list.")
        )
    if not one.of:
        cure = f"choose the column whose {STATISTICS[one.statistic]} you want."
        raise InvalidQuery(expected("a column", STATISTICS[one.statistic], "none", cure))
    column = _known(one.of, columns)
    return f"{FUNCTIONS[one.statistic]}({quoted(column)}) AS {quoted(f'{one.statistic}_{column}')}"


def _condition(one: ConditionLine, columns: Mapping[str, FormColumn]) -> str:
    column = columns[_known(one.where, columns)]
    if one.comparison not in COMPARISONS:
        raise InvalidQuery(
            expected("a comparison of the form", "comparison", one.comparison[:60], "choose one of the list.")
        )
    return f"{quoted(one.where)} {one.comparison} {_literal(one, column.type)}"


def kind_of(stated: str) -> str:
    """What values of a column are, whether its type is stated as an engine's or as the language's: number, boolean,
    date, timestamp or text.

    >>> [kind_of(one) for one in ("int64", "integer", "real number", "decimal(9, 2)", "bool", "date", "string")]
    ['number', 'number', 'number', 'number', 'boolean', 'date', 'text']
    """
    return next((kind for word, kind in KINDS.items() if stated.lower().startswith(word)), "text")


KINDS = {
    "int": "number",
    "uint": "number",
    "float": "number",
    "real": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "timestamp": "timestamp",
    "datetime": "timestamp",
    "date": "date",
}
"""By how the name of a type begins, the first that fits."""


def _literal(one: ConditionLine, stated: str) -> str:
    """The value as a literal of the column's type: a text is quoted, so that it is never read as anything else."""
    kind = kind_of(stated)
    if kind == "boolean":
        if one.value.lower() in {"true", "yes", "1"}:
            return "TRUE"
        if one.value.lower() in {"false", "no", "0"}:
            return "FALSE"
        raise InvalidQuery(expected("true or false", one.where, one.value[:60], "write true or false."))
    if kind == "number":
        if not _NUMBER.fullmatch(one.value):
            raise InvalidQuery(expected("a number", one.where, one.value[:60], "write a number, such as 18 or 2.5."))
        return one.value
    text = "'" + one.value.replace("'", "''") + "'"
    return {"date": f"DATE {text}", "timestamp": f"TIMESTAMP {text}"}.get(kind, text)
