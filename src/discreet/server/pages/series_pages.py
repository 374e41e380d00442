"""The pages of the series that a service publishes: which there are, and the numbers of each over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa
import pyarrow.compute as pc
from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.inference.interval_propagation import HIGH, LOW
from discreet.series.active_steps import STEP, WINDOW
from discreet.server.answer_formats import WRITERS, AnswerFormat
from discreet.server.pages.answer_pages import file_response
from discreet.server.pages.answer_view import FORMATS, AnswerRow, answer_cell, charge_text, key_text
from discreet.server.pages.dataset_tabs import base_of, show_tab
from discreet.server.pages.page_site import PageSite, Problem, Visit
from discreet.service.series_desk import SeriesPage
from discreet.service.service_errors import Forbidden, Late, NotSignedIn, forbidden

MOST_STEPS = 400
"""Steps that a page shows at once; it goes back to earlier ones."""


def series_page(site: PageSite, visit: Visit) -> Response:
    """The series of a data set."""
    name = visit.name("dataset")
    found = [line_view(one, name) for one in site.service.series(visit.who, name)]
    return show_tab(site, visit, "series.html", "series", series=found)


def line_view(one: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """A series as it is listed: what it measures, how far it is, and its errors where it was opened."""
    terms, account = one["terms"], one["account"]
    limits = f"{terms['max_steps']} steps" if terms.get("max_steps") else "all steps"
    length = f"{one['steps']:,} steps" if one["steps"] else "no end"
    facts = [
        ("Statement", one["declared"]["statement"]),
        ("Steps", f"every {terms['every']} from {terms['start']}, {length}"),
        ("Windows", ", ".join(str(window) for window in terms["windows"])),
        ("A unit counts on", f"at most {limits}"),
        ("Price of all steps", charge_text(one["price"])),
        ("Published", f"{one['publish']} after each step"),
    ]
    return {
        **{name: one[name] for name in ("name", "state", "published", "latest", "next")},
        "problem": None if one["problem"] is None else Problem.of(DiscreetError(one["problem"])),
        "href": f"{base_of(dataset)}/series/{quote(one['name'], safe='')}",
        "facts": [(name, value) for name, value in facts if value],
        "errors": [] if account is None else [(c["name"], c["plus_minus"]) for c in account["columns"]],
    }


@dataclass(frozen=True, kw_only=True)
class SeriesView:
    """Some steps of a series in one window and one group."""

    columns: Sequence[str]
    windows: Sequence[str]
    window: str
    keys: Sequence[str]
    groups: Sequence[str]
    group: int
    rows: Sequence[AnswerRow]
    """The latest step first; the keys of a row are its moment as it is shown, and for the picture."""
    after: int
    end: int
    """The number of the last step that is shown."""
    steps: int
    """How many are published."""

    @classmethod
    def read(cls, page: SeriesPage, window: str, group: str) -> SeriesView:
        """The rows of a page in one of its windows and groups: those that are named, else the first."""
        table, keys = page.table, [name for name in page.groups if name not in (STEP, WINDOW)]
        windows = pc.unique(table[WINDOW]).to_pylist()
        chosen = window if window in windows else windows[0]
        own = table.filter(pc.equal(table[WINDOW], chosen))
        listed = own.filter(pc.equal(own[STEP], own[STEP][0])).select(keys).to_pylist() if keys else [{}]
        labels = [", ".join(key_text(row[key]) for key in keys) for row in listed]
        place = int(group) if group.isdecimal() and len(group) < 9 and int(group) < len(labels) else 0
        # Each step has one row for each group, in the same order.
        shown = own.take(pa.array(range(place, own.num_rows, len(labels)), pa.int64())).to_pylist()[::-1]
        rows = [
            AnswerRow(
                keys=[key_text(row[STEP]), _on_a_clock(row[STEP])],
                cells=[answer_cell(row[c], row.get(f"{c}{LOW}"), row.get(f"{c}{HIGH}")) for c in page.columns],
            )
            for row in shown
        ]
        return cls(
            columns=page.columns,
            windows=windows,
            window=chosen,
            keys=keys,
            groups=labels,
            group=place,
            rows=rows,
            after=page.after,
            end=page.end,
            steps=page.steps,
        )


def _on_a_clock(step: Any) -> str:
    """A step as scripts read a moment: what a clock on the wall showed is drawn as it is."""
    return f"{step.isoformat()}Z" if isinstance(step, datetime) and step.tzinfo is None else str(step.isoformat())


def numbers_page(site: PageSite, visit: Visit) -> Response:
    """The numbers of one series, those of its latest steps first."""
    dataset, name = visit.name("dataset"), visit.name("series")
    listed = {one["name"]: one for one in site.service.series(visit.who, dataset)}
    if name not in listed:
        raise forbidden()
    line = line_view(listed[name], dataset)
    try:
        page = _steps(site, visit)
    except (Forbidden, NotSignedIn):
        raise
    except Late:
        return show_tab(site, visit, "series_numbers.html", "series", line=line, view=None, problem=None)
    except DiscreetError as error:
        return show_tab(site, visit, "series_numbers.html", "series", line=line, view=None, problem=Problem.of(error))
    view = SeriesView.read(page, visit.query("window"), visit.query("group"))
    places = {"earlier": view.after, "later": min(view.end + MOST_STEPS, view.steps)}
    shown = {"earlier": view.after > 0, "later": view.end < view.steps}
    chosen = {"window": view.window, "group": view.group}
    links = {one: f"?{urlencode({**chosen, 'until': places[one]})}#rows" if shown[one] else "" for one in places}
    here = urlencode({"until": view.end})
    return show_tab(
        site, visit, "series_numbers.html", "series", line=line, view=view, problem=None, links=links, here=here,
        formats=FORMATS,
    )  # fmt: skip


def series_file(site: PageSite, visit: Visit) -> Response:
    """The steps that a page shows, of all windows and groups, as a file of one of the formats."""
    kind = visit.name("format")
    if kind not in dict(FORMATS):
        raise forbidden()
    media_type, write = WRITERS[AnswerFormat(kind)]
    return file_response(write(_steps(site, visit)), media_type, f"series.{kind}")


def _steps(site: PageSite, visit: Visit) -> SeriesPage:
    """The steps up to the one that the address names, or to the latest."""
    names = visit.who, visit.name("dataset"), visit.name("series")
    steps = site.service.series_numbers(*names, most=1).steps
    wanted = visit.query("until")
    end = min(int(wanted), steps) if wanted.isdecimal() and len(wanted) < 9 else steps
    end = end or steps
    number = min(MOST_STEPS, end)
    while True:
        page = site.service.series_numbers(*names, after=end - number, most=number)
        if page.end >= end:
            return page
        number = page.end - page.after  # of so many groups, a page has fewer steps
