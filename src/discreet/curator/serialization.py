"""Answers as bytes, and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidQuery, expected


def packed(noisy: list[NDArray[Any]], account: dict[str, Any], found: dict[str, Any] | None = None) -> bytes:
    """An answer as bytes: noisy totals as decimal text, so that any size survives, the receipt, and what was found."""
    totals = [[list(map(str, row)) for row in block.tolist()] for block in noisy]
    also = {} if found is None else {"found": found}
    return json.dumps({"receipt": account, "totals": totals, **also}, separators=(",", ":")).encode()


def unpacked(stored: bytes) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    """The noisy totals and the receipt of a stored answer."""
    answer = json.loads(stored)
    if "file" in answer:
        path = answer["file"]["path"]
        cure = "read it there; release(..., to=path) gives it again for nothing, and fresh=True draws anew and pays."
        raise InvalidQuery(expected("to=, for an answer that was written to a file", "to", f"none, it is {path}", cure))
    totals = [np.array([list(map(int, row)) for row in block], dtype=object) for block in answer["totals"]]
    return totals, answer["receipt"]
