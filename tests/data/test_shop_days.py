"""The bundled log is the one that its README describes."""

from __future__ import annotations

import datetime
import hashlib
from importlib import resources

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FOLDER = resources.files("discreet.data")
FILE = FOLDER / "shop_days.parquet"


def test_it_is_what_the_note_says() -> None:
    note, held = (FOLDER / "README.md").read_text(encoding="utf-8"), FILE.read_bytes()
    assert f"SHA-256: `{hashlib.sha256(held).hexdigest()}`" in note
    table = pq.read_table(pa.BufferReader(held))
    assert table.schema.types == [pa.int32(), pa.date32()]
    assert (table.num_rows, len(table["customer"].unique())) == (19_296, 4_372)
    assert table.group_by(["customer", "day"]).aggregate([]).num_rows == table.num_rows
    first, last = pc.min_max(table["day"]).as_py().values()
    assert (first, last) == (datetime.date(2010, 12, 1), datetime.date(2011, 12, 9))
    assert not table["customer"].null_count + table["day"].null_count
