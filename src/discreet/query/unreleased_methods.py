"""What no unreleased query gives: rows, answers, or their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NoReturn

import ibis.expr.types as ir

from discreet.errors import InvalidQuery, NoTruth, UnknownName
from discreet.language.expression_texts import expression_text

REFUSED = (
    "execute",
    "head",
    "limit",
    "preview",
    "to_pandas",
    "to_polars",
    "to_pyarrow",
    "to_parquet",
    "to_csv",
    "compile",
    "sample",
    "show",
)


def _unreleased(what: str) -> NoReturn:
    raise InvalidQuery(
        f"Expected a release before rows or answers are looked at, got {what}.\n"
        "Hint: end with .release(epsilon=...); .explain(epsilon=...) shows the error beforehand, for free."
    )


class Unreleased(NoTruth):
    """What every unreleased query refuses: to show rows, to be true and to be a number."""

    _ask: ClassVar[str] = "end with .release(epsilon=...); for whether there is one, table is not None."

    def __len__(self) -> int:  # noqa: PLE0303 - it never returns
        _unreleased("len()")

    def __iter__(self) -> NoReturn:
        _unreleased("a loop over it")


def _refusal(name: str) -> Callable[..., NoReturn]:
    def method(self: object, *args: object, **kwargs: object) -> NoReturn:
        del self, args, kwargs
        _unreleased(f".{name}()")

    method.__name__ = name
    method.__doc__ = "Refused: end with ``.release(epsilon=...)``."
    return method


for _name in REFUSED:
    setattr(Unreleased, _name, _refusal(_name))


def _of_a_table(name: str) -> Callable[..., NoReturn]:
    def method(self: ir.Value, *args: object, **kwargs: object) -> NoReturn:
        del args, kwargs
        raise UnknownName(
            f"Expected a question about a table, got .{name}() of {expression_text(self.op())}.\n"
            f"Hint: write people.agg(m=_.age.mean()).{name}(epsilon=0.1), with this expression as m."
        )

    method.__name__ = name
    method.__doc__ = "Refused: an expression is released as a column of a question."
    return method


def _of_a_relation(name: str) -> Callable[..., NoReturn]:
    def method(self: ir.Table, *args: object, **kwargs: object) -> NoReturn:
        del self, args, kwargs
        raise UnknownName(
            f"Expected a question about a protected table, got .{name}() of a table of Ibis, as .value_counts() makes "
            f"one.\nHint: write people.group_by('plan').agg(n=_.count()).{name}(epsilon=0.1)."
        )

    method.__name__ = name
    method.__doc__ = "Refused: a table of Ibis has no budget; a protected one has."
    return method


for _name in ("release", "explain"):
    if not hasattr(ir.Table, _name):  # what a column's value_counts() and topk() are
        setattr(ir.Table, _name, _of_a_relation(_name))
    if not hasattr(ir.Value, _name):  # a column of a protected table is an expression of Ibis, which has no such method
        setattr(ir.Value, _name, _of_a_table(_name))
