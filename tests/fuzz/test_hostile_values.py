"""Every parameter of every public callable, given what nobody means to write: taken, or refused in our words.

Both lists are made: the callables and their parameters from what is public, the values by their kind.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import discreet as dp
from public_calls import CALLS, Missing, Own, called, parameters_of


class Odd:
    """A class of somebody's."""


HOSTILE: dict[str, Any] = {
    "None": None,
    "NaN": float("nan"),
    "a huge integer": 10**400,
    "an integer that Python does not print": -(10**5000),
    "bytes": b"\xff",
    "a list of a list": [[1], None],
    "a lone surrogate": "\ud800",
    "an empty text": "",
    "a truth value": True,
    "a class": Odd,
    "an object": Odd(),
}
OWN_FUNCTIONS = {
    "PrivateTable.choose(score=) with a class": "a function of the caller's, which raises what it raises",
    "check_sensitivity(f=) with a class": "a function of the caller's, which raises what it raises",
}
SLOW = ("BatchQuestion", "GroupedRangesQuestion", "RangesQuestion", "HierarchyQuestion", "OpenQuestion", "Question",
        "Clusters", "PrivateTable.kmeans", "kmeans", "KMeans")  # fmt: skip
"""Whose calls release something, or draw it, where a value is taken."""


def names() -> list[Any]:
    slow = {name for name in CALLS if name.startswith(SLOW)}
    return [pytest.param(name, marks=pytest.mark.long if name in slow else ()) for name in CALLS]


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("name", names())
def test_what_nobody_means_is_refused_in_our_words(name: str, own: Own, tmp_path: Any, monkeypatch: Any) -> None:
    """`Budget.entries(after="")` and 300 others let an error of Python's out; `to_csv(True)` wrote to what was open as
    number 1, and closed it.
    """
    monkeypatch.chdir(tmp_path)  # a path may be any text
    wrong = {}
    for parameter in parameters_of(CALLS[name]):
        for what, value in HOSTILE.items():
            label = f"{name}({parameter}=) with {what}"
            try:
                called(name, parameter, value, own)
            except (dp.DiscreetError, Missing):
                continue
            except Exception as problem:  # noqa: BLE001 (whatever Python or a library says)
                if label not in OWN_FUNCTIONS:
                    wrong[label] = f"{type(problem).__name__}: {str(problem)[:200]}"
    assert not wrong


def test_the_written_lists_name_what_is_there() -> None:
    """And a parameter of every public callable is tried."""
    known = {f"{name}({one}=)" for name, call in CALLS.items() for one in inspect.signature(call).parameters}
    assert {label.partition(" with ")[0] for label in OWN_FUNCTIONS} <= known
    assert len(known) > 500
