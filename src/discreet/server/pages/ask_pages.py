"""The page on which a question is written and priced, and which pays for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from starlette.responses import Response

from discreet.errors import DiscreetError, InvalidQuery
from discreet.server.pages.dataset_tabs import LevelView, declared, left_of, levels_of, show_tab
from discreet.server.pages.entrance_pages import go
from discreet.server.pages.form_fields import Fields
from discreet.server.pages.page_site import PageSite, Problem, Visit
from discreet.server.pages.price_view import ExpectedError, PriceView, first_price, prices, span_of
from discreet.server.pages.question_form import COMPARISONS, STATISTICS, FormQuestion, kind_of
from discreet.service.asks import Ask
from discreet.service.roles import Action
from discreet.service.service_errors import Forbidden, NotSignedIn, OverLimit
from discreet.service.tokens import new_id

MEASURED = ("number", "date", "timestamp")
"""Kinds of columns that a statistic can be of."""
WAYS = ("sql", "form")


@dataclass(frozen=True, kw_only=True)
class AskDraft:
    """What stands on the page: a question in one of two ways, and a price."""

    by: str
    sql: str
    form: FormQuestion
    epsilon: str
    rows: str = ""
    key: str
    problem: Problem | None = None
    price: PriceView | None = None

    @property
    def ask(self) -> dict[str, Any]:
        """The same as the service takes it."""
        return {"question": {"sql": self.sql}, "price": {"epsilon": self.epsilon}}

    def paid(self, fields: Fields) -> dict[str, Any]:
        """The same as it is paid for: for the plan whose price the page showed, if it was that of this very ask."""
        was_shown = fields.text("priced") == Ask.read(self.ask).digest
        return self.ask | ({"plan": fields.text("plan")} if was_shown else {})


def ask_page(site: PageSite, visit: Visit) -> Response:
    """An empty question, or one that is asked again."""
    site.service.check(visit.who, Action.EXPLAIN, visit.name("dataset"))
    dataset, levels = declared(site, visit), levels_of(site, visit)
    by = visit.query("by") if visit.query("by") in WAYS else "sql"
    draft = AskDraft(
        by=by,
        sql=visit.query("sql"),
        form=FormQuestion.first(),
        epsilon=first_price(left_of(levels), dataset["policy"]["default_epsilon"]),
        key=new_id(),
    )
    return _show(site, visit, draft, dataset, levels)


def ask(site: PageSite, visit: Visit) -> Response:
    """Prices the question that was sent, or pays for it and goes to where its answer will be."""
    site.service.check(visit.who, Action.EXPLAIN, visit.name("dataset"))
    dataset, levels = declared(site, visit), levels_of(site, visit)
    draft = _read(visit.fields, dataset)
    if draft.problem is None and draft.sql and visit.fields.text("do") == "pay":
        try:
            job = site.service.submit(visit.who, draft.paid(visit.fields), draft.key)
        except (Forbidden, NotSignedIn, OverLimit):
            raise
        except DiscreetError as error:
            draft = _with(draft, problem=Problem.of(error))
        else:
            return go(f"/answers/{job.id}")
    elif draft.problem is None and draft.sql:
        draft = _priced(site, visit, draft, levels)
    return _show(site, visit, draft, dataset, levels)


def _read(fields: Fields, dataset: Mapping[str, Any]) -> AskDraft:
    by = fields.text("by") if fields.text("by") in WAYS else "sql"
    form = FormQuestion.read(fields) if by == "form" else FormQuestion.first()
    problem, sql = None, fields.text("sql")
    if by == "form":
        try:
            sql = form.sql(dataset["name"], {column.name: column for column in dataset["columns"]})
        except InvalidQuery as error:
            problem = Problem.of(error)
    return AskDraft(
        by=by,
        sql=sql,
        form=form,
        epsilon=fields.text("epsilon"),
        rows=fields.text("rows"),
        key=fields.text("key") or new_id(),
        problem=problem,
    )


def _priced(site: PageSite, visit: Visit, draft: AskDraft, levels: list[LevelView]) -> AskDraft:
    try:
        found = site.service.explain(visit.who, draft.ask)
    except (Forbidden, NotSignedIn, OverLimit):
        raise
    except DiscreetError as error:
        return _with(draft, problem=Problem.of(error))
    rows = int(draft.rows) if draft.rows.isdecimal() and len(draft.rows) < 16 else None
    columns = [ExpectedError.read(column, rows) for column in found["columns"]]
    curves = _curves(site, visit, draft, levels, rows)
    payable = all(one.admits(draft.epsilon) for one in levels) and visit.who.may(Action.RELEASE, str(found["dataset"]))
    groups = str(found.get("groups") or "").partition(" ")[0]
    price = PriceView(
        columns=[column.along([(at, those[column.name]) for at, those in curves]) for column in columns],
        groups=groups if groups.replace(",", "").isdecimal() and groups != "1" else "",
        confidence=f"{float(found.get('confidence', 0.95)) * 100:g} %",
        payable=payable,
        epsilon=draft.epsilon,
        plan=found["plan"],
        asked=Ask.read(draft.ask).digest,
    )
    return _with(draft, price=price)


def _curves(
    site: PageSite, visit: Visit, draft: AskDraft, levels: list[LevelView], rows: int | None
) -> list[tuple[float, dict[str, ExpectedError]]]:
    """The errors of every column at prices between the ends of the slider; none where one cannot be had."""
    if not visit.is_fragment:
        return []
    least, most = span_of(left_of(levels))
    found = []
    for price in prices(Fraction(least), Fraction(most)):
        asked = draft.ask | {"price": {"epsilon": f"{price:f}"}}
        try:
            explained = site.service.explain(visit.who, asked)
        except (Forbidden, NotSignedIn, OverLimit):
            raise
        except DiscreetError:
            continue
        found.append((float(price), {one["name"]: ExpectedError.read(one, rows) for one in explained["columns"]}))
    return found


def _with(draft: AskDraft, **values: Any) -> AskDraft:
    return AskDraft(**(vars(draft) | values))


def _show(
    site: PageSite, visit: Visit, draft: AskDraft, dataset: Mapping[str, Any], levels: list[LevelView]
) -> Response:
    least, most = span_of(left_of(levels))
    columns = dataset["columns"]
    is_unit = [column for column in columns if column.is_unit]
    values: dict[str, Any] = {
        "by": draft.by,
        "sql": draft.sql,
        "fields": draft.form,
        "epsilon": draft.epsilon,
        "rows": draft.rows,
        "key": draft.key,
        "problem": draft.problem,
        "price": draft.price,
        "levels": levels,
        "least": least,
        "most": most,
        "dataset": dataset,
        "schema": {dataset["name"]: [{"label": one.name, "type": "property", "detail": one.type} for one in columns]},
        "statistics": [item for item in STATISTICS.items() if item[0] != "units" or len(is_unit) == 1],
        "comparisons": list(COMPARISONS.items()),
        "numeric": [one for one in columns if kind_of(one.type) in MEASURED and not one.is_unit],
        "groupable": [one for one in columns if one.categories or kind_of(one.type) == "boolean"],
        "filterable": [one for one in columns if not one.is_unit],
    }
    if visit.is_fragment:
        own = {"base": f"/datasets/{dataset['name']}", "may": {}}
        return site.show(visit, "price.html", **(values | own))
    status = 200 if draft.problem is None else 422
    return show_tab(site, visit, "ask.html", "ask", status=status, **values)
