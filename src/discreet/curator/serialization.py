"""Answers as bytes, which `answers.stored_answers` reads."""

from __future__ import annotations

import json
from typing import Any

from numpy.typing import NDArray


def packed(noisy: list[NDArray[Any]], account: dict[str, Any], found: dict[str, Any] | None = None) -> bytes:
    """An answer as bytes: noisy totals as decimal text, so that any size survives, the receipt, and what was found."""
    totals = [[list(map(str, row)) for row in block.tolist()] for block in noisy]
    also = {} if found is None else {"found": found}
    return json.dumps({"receipt": account, "totals": totals, **also}, separators=(",", ":")).encode()
