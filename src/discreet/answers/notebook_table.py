"""An answer in a notebook: an HTML table with intervals drawn to scale, sorted by a click, in the page's own colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from html import escape
from typing import NamedTuple

SORT = (
    "const h=this.closest('th'),t=h.closest('table'),b=t.tBodies[0],i=h.cellIndex,"
    "up=h.getAttribute('aria-sort')!=='ascending';"
    "for(const o of t.tHead.rows[0].cells)o.setAttribute('aria-sort','none');"
    "h.setAttribute('aria-sort',up?'ascending':'descending');"
    "const k=r=>{const c=r.cells[i],v=c.dataset.value;return v===undefined?c.textContent:v===''?null:Number(v)};"
    "[...b.rows].sort((x,y)=>{const p=k(x),q=k(y);"
    "return p===null?(q===null?0:1):q===null?-1:(p<q?-1:p>q?1:0)*(up?1:-1)}).forEach(r=>b.append(r))"
)
"""What a click on a header does: its column upward, then downward, cells without a number last. It stands in each
header, since every notebook runs such code, and not every one runs a script beside a table.
"""

STYLE = ".discreet th[aria-sort={}]::after{{content:'{}'}}"
MARKS = "".join(STYLE.format(*one) for one in (("ascending", " ▲"), ("descending", " ▼")))
FRAME = "border-bottom:1px solid rgba(128,128,128,.4);padding:.25em .6em;text-align:"
BUTTON = "all:unset;cursor:pointer;font-weight:600;color:inherit"
WIDTH, HEIGHT, EDGE = 72, 12, 3
"""Of the picture of an interval, in pixels, and of the margin at its sides."""


class ShownCell(NamedTuple):
    """One cell: what is read, what it is sorted by, and the interval beside it."""

    text: str
    number: float | None = None
    """NaN for what comes last; None for what is sorted as text."""
    interval: str = ""
    ends: tuple[float, float] | None = None


def sort_number(value: object) -> float | None:
    """What a value is sorted by, where it is a number or a date.

    >>> sort_number(3), sort_number("north"), sort_number(date(1970, 1, 2))
    (3.0, None, 719164.0)
    """
    if isinstance(value, date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float) else None


def html_table(headers: Sequence[str], rows: Sequence[Sequence[ShownCell]], caption: str) -> str:
    """The table for a notebook. Its colors are those of the page around it, in the light and in the dark.

    >>> html_table(["plan"], [[ShownCell("free")]], "epsilon 1").count("<tr>")
    2
    """
    columns = [[row[place] for row in rows] for place in range(len(headers))]
    scales = [_scale(column) for column in columns]
    sides = ["right" if any(map(_is_number, column)) else "left" for column in columns]
    head = "".join(_header(*one) for one in zip(headers, sides, strict=True))
    body = "".join(f"<tr>{''.join(_cell(*one) for one in zip(row, scales, sides, strict=True))}</tr>" for row in rows)
    return (
        f'<div class="discreet" style="overflow-x:auto;color:inherit"><style>{MARKS}</style>'
        '<table style="border-collapse:collapse;background:transparent;color:inherit">'
        f"<caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _is_number(cell: ShownCell) -> bool:
    return cell.number is not None and not math.isnan(cell.number)


def _header(name: str, side: str) -> str:
    button = f'<button type="button" style="{BUTTON}" onclick="{escape(SORT)}">{escape(name)}</button>'
    return f'<th scope="col" aria-sort="none" style="{FRAME}{side}">{button}</th>'


def _cell(cell: ShownCell, scale: tuple[float, float] | None, side: str) -> str:
    number = cell.number
    value = "" if number is None else f' data-value="{repr(number) if _is_number(cell) else ""}"'
    text = escape(cell.text)
    if cell.interval:
        text += f' <span style="opacity:.75;font-size:90%">{escape(cell.interval)}</span>'
    if scale is not None and cell.ends is not None:
        text += _picture(number, cell.ends, scale)
    return f'<td{value} style="{FRAME}{side};white-space:nowrap">{text}</td>'


def _scale(column: Sequence[ShownCell]) -> tuple[float, float] | None:
    """The least and the largest end of a column's intervals, where they can be drawn."""
    ends = [end for cell in column if cell.ends is not None for end in cell.ends]
    low, high = min(ends, default=math.nan), max(ends, default=math.nan)
    return (low, high) if math.isfinite(high - low) and high > low else None


def _picture(value: float | None, ends: tuple[float, float], scale: tuple[float, float]) -> str:
    """An interval as a line over the column's scale, with a dot at its value."""
    low, high = scale
    left, right = (EDGE + (WIDTH - 2 * EDGE) * (end - low) / (high - low) for end in ends)
    line = f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{HEIGHT / 2:g}" y2="{HEIGHT / 2:g}" stroke="currentColor"/>'
    dot = ""
    if value is not None and low <= value <= high:
        place = EDGE + (WIDTH - 2 * EDGE) * (value - low) / (high - low)
        dot = f'<circle cx="{place:.1f}" cy="{HEIGHT / 2:g}" r="2.5" fill="currentColor"/>'
    frame = f'width="{WIDTH}" height="{HEIGHT}" style="vertical-align:middle;margin-left:.5em" aria-hidden="true"'
    return f"<svg {frame}>{line}{dot}</svg>"
