"""Represents any value as text that is equal exactly where nobody could tell two values apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
VIEW = re.compile(r"\bibis_\w+_[a-z0-9]{20,}\b")
UNNAMED = re.compile(r"\btable \d+ of process \d+ at [-\d:T+]+/[\da-f]+")
SHORT = 2000
DEPTH = 6
RUN = ("time", "release")
"""Facts of a receipt that belong to the run: a table without a name has another one each time, and so another id."""


def fingerprint(value: Any, depth: int = DEPTH) -> str:
    """The text of a value: types, order and every digit count; addresses in memory do not.

    >>> fingerprint({"b": 1.0, "a": np.float32(1)}), fingerprint([1]) == fingerprint((1,))
    ("{'b': 1.0, 'a': np.float32(1.0)}", False)
    """
    if depth <= 0:
        return type(value).__name__
    return shortened(_told(value, depth))


def _told(value: Any, depth: int) -> str:
    """The whole text of a value."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key!r}: {fingerprint(one, depth - 1)}" for key, one in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list | tuple):
        inside = ", ".join(fingerprint(one, depth - 1) for one in value)
        return f"{type(value).__name__ if isinstance(value, tuple) else ''}[{inside}]"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {np.asarray(value).tolist()!r}"
    if isinstance(value, pa.Table | pa.Array | pa.ChunkedArray):
        return f"{getattr(value, 'schema', None) or value.type} {value.to_pylist()!r}"
    return _of_others(value, depth)


def _of_others(value: Any, depth: int) -> str:
    for method in ("to_pyarrow", "to_arrow"):
        if hasattr(value, method) and not isinstance(value, type):
            return _as_table(value, method, depth)
    return _pandas(value) if type(value).__module__.startswith("pandas") else plain(repr(value))


def plain(text: str) -> str:
    """Text without what differs from run to run for no reason: addresses, names that were made up."""
    return UNNAMED.sub("a table without a name", VIEW.sub("ibis_view", ADDRESS.sub("0x...", text)))


def shortened(text: str) -> str:
    """Text of any length, as its beginning and the hash of all of it."""
    if len(text) <= SHORT:
        return text
    return f"{text[:SHORT]}... ({len(text)} characters, {hashlib.sha256(text.encode(errors='replace')).hexdigest()})"


def _as_table(value: Any, method: str, depth: int) -> str:
    """A release, with its receipt but for the time; a polars frame."""
    try:
        told = fingerprint(getattr(value, method)(), depth - 1)
    except Exception as problem:  # noqa: BLE001 (what cannot be asked has only its text)
        return f"{plain(repr(value))} ({type(problem).__name__})"
    receipt = getattr(value, "receipt", None)
    if isinstance(receipt, Mapping):
        told += f" {plain(repr({name: fact for name, fact in receipt.items() if name not in RUN}))}"
    return f"{type(value).__name__} {told}"


def _pandas(value: Any) -> str:
    if hasattr(value, "to_dict") and hasattr(value, "index"):
        kinds = getattr(value, "dtypes", None)
        names = getattr(value, "columns", [getattr(value, "name", None)])
        rows = value.to_numpy().tolist()
        return f"{type(value).__name__} {list(names)!r} {kinds!s} {list(value.index)!r} {rows!r}"
    return plain(repr(value))
