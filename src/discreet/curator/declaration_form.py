"""The form of a declaration file: which tables and keys it has, what each takes, and on which line one is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from discreet.curator.toml_lines import TomlDocument
from discreet.errors import DiscreetError, InvalidParameter, expected, nearest_name

UNANSWERED = "?"
"""What `discreet declare` writes where a person has to decide."""


class KeyForm(NamedTuple):
    """What a key takes."""

    what: str
    holds: Callable[[Any], bool]
    cure: str


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def _step(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != {"source", "on"} or not isinstance(value["source"], str):
        return False
    on = value["on"]
    return isinstance(on, dict) and bool(on) and all(isinstance(one, str) for one in on.values())


def _amount(value: object) -> bool:
    return _whole(value) or isinstance(value, Decimal | str)


def _text(example: str) -> KeyForm:
    return KeyForm("a text", lambda value: isinstance(value, str), f'write it in quotes: "{example}".')


def _limit(name: str) -> KeyForm:
    cure = f'write {name} = 5, or "auto" where each release is to choose it.'
    return KeyForm("a whole number", lambda value: _whole(value) or value == "auto", cure)


def _number(name: str) -> KeyForm:
    return KeyForm("an exact amount", _amount, f'write {name} = 0.5, or {name} = "1/3".')


UNIT = KeyForm(
    "a column, a list of columns, or row",
    lambda value: isinstance(value, str) or _texts(value),
    'write unit = "person", unit = ["site", "person"], or unit = "row" where each row is a person of its own.',
)
BOUNDS = KeyForm(
    "a low and a high end",
    lambda value: value == "auto" or (isinstance(value, list) and len(value) == 2),
    'write bounds = [0, 240], or bounds = "auto" where each release is to choose them.',
)
KEYS = KeyForm(
    "a list of texts, whole numbers, truth values or dates",
    lambda value: isinstance(value, list) and all(isinstance(one, str | int | date) for one in value),
    'write keys = ["north", "south"], and null = true where NULL is a group too.',
)
VIA = KeyForm(
    "tables on the way to the unit, each with a source and the columns that refer to it",
    lambda value: isinstance(value, list) and bool(value) and all(map(_step, value)),
    'write [[table.via]] for each, in order, with source = "orders.parquet" and on = { l_orderkey = "o_orderkey" }.',
)
TABLE: Mapping[str, KeyForm] = {
    "source": _text("visits.parquet"),
    "unit": UNIT,
    "each_of": KeyForm("a list of columns", _texts, 'write each_of = ["sender", "receiver"].'),
    "via": VIA,
    "name": _text("visits"),
    "version": KeyForm(
        "a text or a whole number", lambda value: isinstance(value, str) or _whole(value), "write version = 2."
    ),
    "description": _text("Visits to three wards, 2024"),
    "neighbors": _text("add-remove"),
    "rows": KeyForm("a whole number", _whole, "write rows = 1000."),
    "units": KeyForm("a whole number", _whole, "write units = 1000."),
    "keep_steps": _text("steps"),
}
LIMITS: Mapping[str, KeyForm] = {name: _limit(name) for name in ("max_groups", "max_rows")}
COLUMN: Mapping[str, KeyForm] = {
    "bounds": BOUNDS,
    "keys": KEYS,
    "null": KeyForm("true or false", lambda value: isinstance(value, bool), "write null = true."),
    "type": _text("int64"),
    "description": _text("length of a visit"),
}
BUDGET: Mapping[str, KeyForm] = {
    **{name: _number(name) for name in ("epsilon", "delta", "own_delta", "rho")},
    "ledger": _text("spent.db"),
}


@dataclass(frozen=True, kw_only=True)
class DeclarationText:
    """What a declaration file says, in its form, and where it says it."""

    name: str
    """The file, as its reader named it."""
    document: TomlDocument

    @classmethod
    def checked(cls, name: str, document: TomlDocument) -> DeclarationText:
        """The text; refuses unknown tables and keys, values of another form, and questions that nobody answered."""
        text = cls(name=name, document=document)
        values = document.values
        text._known((), values, ("table", "columns", "budget"))
        for section in values:
            text._section((section,))
        table = values.get("table", {})
        text._table(("table",), {name: one for name, one in table.items() if name != "limits"}, TABLE, ("limits",))
        if "limits" in table:
            text._table(("table", "limits"), text._section(("table", "limits")), LIMITS)
        for column in values.get("columns", {}):
            text._table(("columns", column), text._section(("columns", column)), COLUMN)
        text._table(("budget",), values.get("budget", {}), BUDGET)
        text._answered()
        text._nothing_beside_pairs()
        return text

    def get(self, *path: str) -> Any:
        """The value of a key; None where it is not there."""
        value: Any = self.document.values
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def needed(self, *path: str, cure: str) -> Any:
        """The value of a key that has to be there."""
        value = self.get(*path)
        if value is None:
            raise self.refusal(path, f"{path[-1]} in [{'.'.join(path[:-1])}]", None, cure)
        return value

    @property
    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """What is stated of columns, by their names."""
        found: Mapping[str, Mapping[str, Any]] = self.get("columns") or {}
        return found

    def refusal(self, path: tuple[str, ...], what: str, value: object, cure: str) -> InvalidParameter:
        """A refusal of a value, with its line."""
        return InvalidParameter(self._placed(path, expected(what, ".".join(path), value, cure)))

    def located(self, path: tuple[str, ...], problem: DiscreetError) -> DiscreetError:
        """The same refusal, with the line of the key that it is about."""
        return type(problem)(self._placed(path, problem.args[0]))

    def _placed(self, path: tuple[str, ...], text: str) -> str:
        first, hint, cure = text.partition("\nHint: ")
        cure = LISTED.sub(_as_toml, cure)
        return f"{first.removesuffix('.')} in {self.name}, line {self.document.line(*path)}.{hint}{cure}"

    def _section(self, path: tuple[str, ...]) -> dict[str, Any]:
        value = self.get(*path)
        if not isinstance(value, dict):
            raise self.refusal(path, "a table of keys", value, f"write [{'.'.join(path)}] on a line of its own.")
        return value

    def _table(
        self, path: tuple[str, ...], values: Mapping[str, Any], forms: Mapping[str, KeyForm], more: tuple[str, ...] = ()
    ) -> None:
        self._known(path, values, (*forms, *more))
        for name, value in values.items():
            if not forms[name].holds(value) and value != UNANSWERED:
                raise self.refusal((*path, name), forms[name].what, value, forms[name].cure)

    def _known(self, path: tuple[str, ...], values: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for name in values:
            if name not in names:
                where = f"a key of [{'.'.join(path)}]" if path else "a table of a declaration"
                raise self.refusal((*path, name), where, name, nearest_name(name, names))

    def _nothing_beside_pairs(self) -> None:
        """Refuses what is of no use where a row belongs to two people each."""
        cure = "leave it out: each_of says who is protected, and truncated_total, which alone is asked, needs no more."
        unused: list[tuple[str, ...]] = [("table", name) for name in ("unit", "via", "limits", "keep_steps")]
        unused += [("columns", name, fact) for name in self.columns for fact in ("keys", "null")]
        for path in unused if self.get("table", "each_of") is not None else ():
            if (value := self.get(*path)) is not None:
                raise self.refusal(path, f"no {path[-1]} beside each_of", value, cure)

    def _answered(self) -> None:
        """Refuses a draft some of whose questions are open, and says on which lines."""
        open_ = [path for path, value in _scalars((), self.document.values) if value == UNANSWERED]
        if not open_:
            return
        lines = sorted({self.document.line(*path) for path in open_[1:]})
        rest = f" So are lines {', '.join(map(str, lines[:20]))}." if lines else ""
        cure = f"the comments beside it say what has to be decided; what does not apply is deleted, line by line.{rest}"
        raise self.refusal(open_[0], "an answer", UNANSWERED, cure)


LISTED = re.compile(r"(?P<key>bounds|keys)=\{'[^']*': [(\[](?P<items>[^)\]]*)[)\]]\}")
"""How the cure of a refusal writes a column's bounds or keys in Python."""


def _as_toml(found: re.Match[str]) -> str:
    return f"{found['key']} = [{found['items']}]".replace("'", '"')


def _scalars(path: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _scalars((*path, name), value)
        else:
            yield (*path, name), value
