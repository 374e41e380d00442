"""A table in Ibis's memory is refused before anything is charged: the engine would not find it."""

from __future__ import annotations

import ibis
import pyarrow as pa
import pytest

from discreet.engines.inputs import table
from discreet.errors import InvalidParameter


def test_memtable_is_refused() -> None:
    frame = ibis.memtable(pa.table({"person": [1, 2]}))
    for expression in (frame, frame.filter(frame.person > 1)):
        with pytest.raises(InvalidParameter, match="got data='a memtable'"):
            table(expression, None)
