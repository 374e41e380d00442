"""A workbook holds what it was given: numbers as numbers, texts as texts, and nothing that Excel would calculate."""

from __future__ import annotations

import math
import zipfile
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest

import discreet as dp
from discreet.answers.workbook import write_workbook
from workbook_sheets import sheet


def test_kinds_of_cells(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    values = [1, 2.5, None, math.nan, True, "=1+1", date(2026, 1, 2), 2**60, math.inf, "a<&\x01b"]
    write_workbook(path, {"answer": [values], 'a "b"': [["x"]]})
    assert sheet(path) == [
        [
            ("", "1"),
            ("", "2.5"),
            ("", ""),
            ("", ""),
            ("b", "1"),
            ("inlineStr", "=1+1"),
            ("inlineStr", "2026-01-02"),
            ("inlineStr", str(2**60)),
            ("inlineStr", "inf"),
            ("inlineStr", "a<&�b"),
        ]
    ]
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        for name in file.namelist():
            ElementTree.fromstring(file.read(name))  # noqa: S314 (written above)
        assert b'name="a &quot;b&quot;"' in file.read("xl/workbook.xml")


@pytest.mark.parametrize(("path", "why"), [("x.csv", "ends in .xlsx"), (3, "ends in .xlsx"), ("no/x.xlsx", "written")])
def test_where_no_workbook_can_be(path: object, why: str) -> None:
    with pytest.raises(dp.InvalidParameter, match=why):
        write_workbook(path, {})  # type: ignore[arg-type]  # the refusal is the test
