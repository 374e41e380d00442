"""An Excel workbook of plain sheets: numbers as numbers, everything else as text that no program calculates with.

Not left to openpyxl: it would be one more thing to install for three small files, and a text that begins with an equals
sign would become a formula there.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from xml.sax.saxutils import escape

from discreet.errors import InvalidParameter, expected
from discreet.exact.given_values import place_to_write, unwritable

MOST_ROWS, MOST_TEXT = 1_048_576, 32_767
"""Of a sheet, and of a cell."""
LARGEST_WHOLE = 2**53
"""Beyond it Excel would round."""
UNWRITTEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not have."""

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

Row = Sequence[object]


def write_workbook(path: str | os.PathLike[str], sheets: Mapping[str, Iterable[Row]]) -> None:
    """Writes sheets by name, each as rows of cells, the first of which are its headers.

    Raises:
        InvalidParameter: nothing can be written there, or a sheet has more rows than Excel reads.
    """
    if not isinstance(path, str | os.PathLike) or not str(os.fspath(path)).lower().endswith(".xlsx"):
        raise InvalidParameter(expected("a path that ends in .xlsx", "path", path, 'write to_excel("answer.xlsx").'))
    place_to_write(path, "answer.xlsx")
    parts = {name: _sheet(name, rows) for name, rows in sheets.items()}
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, text in {**_frame(list(parts)), **_numbered(parts.values())}.items():
                file.writestr(name, HEAD + text)
    except OSError as problem:
        raise unwritable(path) from problem


def _numbered(texts: Iterable[str]) -> dict[str, str]:
    return {f"xl/worksheets/sheet{i}.xml": text for i, text in enumerate(texts, 1)}


def _sheet(name: str, rows: Iterable[Row]) -> str:
    written = [f"<row>{''.join(map(_cell, row))}</row>" for row in rows]
    if len(written) > MOST_ROWS:
        cure = "write a CSV or Parquet file, .to_parquet(path)."
        raise InvalidParameter(expected(f"at most {MOST_ROWS:,} rows for {name!r}", "rows", len(written), cure))
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(written)}</sheetData></worksheet>'


def _cell(value: object) -> str:
    """A number as a number, where Excel has it; a truth value as one; nothing for NULL and NaN; text as text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float) and math.isfinite(value) and abs(value) <= LARGEST_WHOLE:
        return f"<c><v>{value!r}</v></c>"
    text = (
        value.isoformat(" ") if isinstance(value, datetime) else value.isoformat() if isinstance(value, date) else value
    )
    shown = escape(UNWRITTEN.sub("\ufffd", str(text)[:MOST_TEXT]))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{shown}</t></is></c>'


def _frame(names: Sequence[str]) -> dict[str, str]:
    """What every workbook has around its sheets."""
    places = range(1, len(names) + 1)
    override = '<Override PartName="/xl/{}.xml" ContentType="' + KIND + '.{}+xml"/>'
    kinds = override.format("workbook", "sheet.main")
    kinds += "".join(override.format(f"worksheets/sheet{i}", "worksheet") for i in places)
    defaults = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    defaults += '<Default Extension="xml" ContentType="application/xml"/>'
    sheets = "".join(
        f'<sheet name="{escape(name, {chr(34): "&quot;"})}" sheetId="{i}" r:id="rId{i}"/>'
        for i, name in enumerate(names, 1)
    )
    link = '<Relationship Id="rId{}" Type="' + OFFICE + '/{}" Target="{}"/>'
    links = "".join(link.format(i, "worksheet", f"worksheets/sheet{i}.xml") for i in places)
    return {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">{defaults}{kinds}</Types>',
        "_rels/.rels": _links(link.format(1, "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _links(links),
    }


def _links(links: str) -> str:
    return f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>'
