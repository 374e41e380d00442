"""Calls whose arguments do not fit: refused in our words, with the line to write."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from discreet.errors import MisfitCall, nearest_name, shown

P = ParamSpec("P")
R = TypeVar("R")

KNOWN_AS: Mapping[str, str] = {
    "eps": "epsilon",
    "privacy_budget": "epsilon",
    "e": "epsilon",
    "b": "scale",
    "sigma": "scale",
    "noise_multiplier": "scale",
    "l1_sensitivity": "sensitivity",
    "l2_sensitivity": "sensitivity",
    "df": "sensitivity",
    "by": "names",
    "privacy_unit": "unit",
    "user_id": "unit",
    "id_column": "unit",
    "privacy_id": "unit",
    "alpha": "confidence",
    "level": "confidence",
    "filename": "path",
    "file": "path",
    "n": "k",
    "max_partitions_contributed": "max_groups",
    "max_contributions": "max_rows",
    "max_contributions_per_partition": "max_rows",
}
"""Parameters by the names that other libraries give them."""


PRICES = ("epsilon", "delta", "rho", "within")


def with_usage_hint(line: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that takes a call which does not fit its parameters for a question, and answers with `line`.

    Braces in the line stand for what was passed by position. Nothing is added to a call that fits.

    >>> @with_usage_hint(".release(epsilon={})")
    ... def release(*, epsilon: float) -> float:
    ...     return epsilon
    >>> release(epsilon=0.5)
    0.5
    >>> release(0.5)
    Traceback (most recent call last):
    discreet.errors.MisfitCall: Expected arguments by name, got 0.5.
    Hint: write .release(epsilon=0.5).
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError:
                misfit = _misfit(function, line, args, kwargs)
                if misfit is None:
                    raise
            raise MisfitCall(misfit)

        return call

    return decorate


def _misfit(function: Callable[..., Any], line: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """What is wrong with a call; None where it fits, and the error came from inside."""
    taken = inspect.signature(function)
    try:
        taken.bind(*args, **named)
    except TypeError:
        pass
    else:
        return None
    parameters = taken.parameters.values()
    is_method = next(iter(taken.parameters), "") in ("self", "cls")
    given = args[1:] if is_method else args
    by_place = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = [name for name in names if name not in ("self", "cls")]
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    for name, value in named.items():
        if name not in names and not takes_any:
            cure = _renamed(name, names) if names else f"write {_filled(line, given)}."
            return f"Expected an argument of {_said(function, args)}, got {name}={shown(value)}.\nHint: {cure}"
    if len(args) > len(by_place):
        beyond = given[len(by_place) - is_method :]
        return f"Expected arguments by name, got {', '.join(map(shown, beyond))}.\nHint: write {_filled(line, given)}."
    passed = {one.name for one in by_place[: len(args)]} | {name for name in named if name in names}
    named_one_by_one = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    needed = [one.name for one in named_one_by_one if one.default is one.empty and one.name not in passed]
    return f"Expected a value for {' and '.join(needed)}, got none.\nHint: write {_filled(line, given)}."


def _renamed(name: str, names: list[str]) -> str:
    if name in PRICES and not set(PRICES) & set(names):
        return f"a price is stated where it is paid, .release({name}=...)."
    other = KNOWN_AS.get(name.lower())
    return f"here it is called {other!r}." if other in names else nearest_name(name, names)


def _said(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What was called, as it is written."""
    return type(args[0]).__name__ if function.__name__ == "__init__" and args else f".{function.__name__}()"


EXAMPLES = ("1", "1", "1e-6")


def _filled(line: str, given: tuple[Any, ...]) -> str:
    """The line with what was passed in its braces; the rest filled with examples."""
    written = line
    for value in (*map(shown, given), *EXAMPLES):
        if "{}" not in written:
            break
        written = written.replace("{}", value, 1)
    return written
