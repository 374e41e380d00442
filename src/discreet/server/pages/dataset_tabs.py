"""What the pages of one data set share: its declaration, its tabs by role, and the levels of its budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.server.pages.answer_view import key_text
from discreet.server.pages.page_site import Handler, PageSite, Problem, Visit
from discreet.server.pages.question_form import quoted
from discreet.service.analyst_budgets import ANALYST
from discreet.service.roles import Action
from discreet.service.service_errors import Forbidden, NotSignedIn


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A page of a data set, and the right that shows it."""

    name: str
    label: str
    action: Action


TABS = (
    Tab(name="", label="Declaration", action=Action.DESCRIBE),
    Tab(name="ask", label="Ask", action=Action.EXPLAIN),
    Tab(name="series", label="Series", action=Action.SERIES),
    Tab(name="questions", label="Questions", action=Action.OWN_QUESTIONS),
    Tab(name="questions", label="Questions", action=Action.ALL_QUESTIONS),
    Tab(name="budget", label="Budget", action=Action.BUDGET),
    Tab(name="people", label="Analysts", action=Action.ADMIT),
    Tab(name="requests", label="Requests", action=Action.DECIDE),
    Tab(name="spending", label="Spending", action=Action.ALL_QUESTIONS),
    Tab(name="log", label="Log", action=Action.AUDIT),
    Tab(name="refusals", label="Refusals", action=Action.REFUSALS),
)


AUTO = "auto"
NEIGHBORS = {"add-remove": "one unit added or removed", "replace-one": "one unit replaced"}


def base_of(dataset: str) -> str:
    """The address of a data set's first page."""
    return f"/datasets/{quote(dataset, safe='')}"


@dataclass(frozen=True, kw_only=True)
class LevelView:
    """One allowance, with what is spent of it and left, where this principal may see that."""

    name: str
    label: str
    kind: str
    unit: str
    """What it counts: epsilon, or rho."""
    allowance: str
    spent: str = ""
    remaining: str = ""
    remaining_rho: str = ""
    frozen: bool = False
    closed: bool = False

    @property
    def spent_share(self) -> str:
        """Of the allowance, in percent."""
        return self._percent(_amount(self.spent))

    def share_of(self, asked: str) -> str:
        """What a question would take of the allowance, in percent; never beyond the end."""
        left = max(_amount(self.allowance) - _amount(self.spent), Fraction(0))
        return self._percent(min(_amount(asked), left))

    def admits(self, asked: str) -> bool:
        """Whether a question at this epsilon seems to fit; what is charged is decided by the ledger alone."""
        price = _amount(asked)
        if self.frozen or self.closed or price <= 0:
            return False
        fits = self.unit == "epsilon" and (not self.remaining or price <= _amount(self.remaining))
        return fits or (bool(self.remaining_rho) and price**2 / 2 <= _amount(self.remaining_rho))

    def _percent(self, amount: Fraction) -> str:
        allowance = _amount(self.allowance)
        return f"{float(100 * amount / allowance):.2f}" if allowance else "0"


def _amount(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return Fraction(0)


def level_view(one: Mapping[str, Any]) -> LevelView:
    """A level as the service tells it: its allowance, and the sums that belong to it."""
    unit = "epsilon" if "epsilon" in one["allowance"] else "rho"
    kind, name = str(one["level"]), str(one["name"])
    return LevelView(
        name=name,
        label=f"{kind[:1].upper()}{kind[1:]} {name}",
        kind=kind,
        unit=unit,
        allowance=str(one["allowance"][unit]),
        spent=str(one.get("spent", {}).get(unit, "")),
        remaining=str(one.get("remaining", {}).get(unit, "")),
        remaining_rho=str(one.get("remaining", {}).get("rho", "")),
        frozen=one.get("state") == "frozen",
        closed=one.get("state") == "closed",
    )


def left_of(levels: Sequence[LevelView]) -> Fraction | None:
    """What is left at every level in epsilon; None where none tells it."""
    counted = [_amount(one.remaining) for one in levels if one.unit == "epsilon" and one.remaining]
    return min(counted) if counted else None


@dataclass(frozen=True, kw_only=True)
class ColumnView:
    """A column as it is declared."""

    name: str
    type: str
    description: str = ""
    is_unit: bool = False
    bounds: tuple[str, str] | None = None
    auto: bool = False
    """Whether each release chooses the bounds."""
    categories: tuple[str, ...] = ()
    """Its declared keys."""

    @classmethod
    def read(cls, column: Mapping[str, Any]) -> ColumnView:
        """A column as the service tells it."""
        bounds = column.get("bounds")
        stated = bounds if isinstance(bounds, list) else None
        return cls(
            name=str(column["name"]),
            type=str(column.get("kind") or column["type"]),
            description=str(column.get("description") or ""),
            is_unit=bool(column.get("unit")),
            bounds=None if stated is None else (str(stated[0]), str(stated[1])),
            auto=bounds == AUTO,
            categories=tuple(key_text(key) for key in column.get("keys") or ()),
        )

    @property
    def quoted(self) -> str:
        """The name as SQL writes it."""
        return quoted(self.name)


def declared(site: PageSite, visit: Visit) -> dict[str, Any]:
    """The declaration of the data set of this page; for those alone who may see it."""
    found = dict(site.service.dataset(visit.who, visit.name("dataset")))
    found["columns"] = [ColumnView.read(column) for column in found["columns"]]
    unit = f"each {found['unit']}" if isinstance(found["unit"], str) else ", ".join(found["unit"])
    unit = f"each of {unit}" if found.get("each_of") else unit
    limits = {name: limit for name, limit in (found.get("limits") or {}).items() if limit is not None}
    most = {name: "chosen by each release" if limit == AUTO else f"at most {limit}" for name, limit in limits.items()}
    facts = [
        ("Unit", unit),
        ("Found by", ", then ".join(" and ".join(map(" = ".join, step.items())) for step in found.get("via", ()))),
        ("Neighbors", NEIGHBORS.get(found["neighbors"])),
        ("Groups of one unit", most.get("max_groups")),
        ("Rows of one unit in a group", most.get("max_rows")),
    ]
    found["facts"] = [(name, value) for name, value in facts if value]
    return found


def levels_of(site: PageSite, visit: Visit, dataset: str | None = None) -> list[LevelView]:
    """The levels that a release is charged to, the outermost first; none for those who may not see them.

    Of the data set of this page, or of the one that is named.
    """
    name = visit.name("dataset") if dataset is None else dataset
    if not visit.who.may(Action.BUDGET, name):
        return []
    listed = [level_view(one) for one in site.service.budget(visit.who, name)]
    own = (ANALYST, visit.who.name)
    return [replace(one, label="Your own") if (one.kind, one.name) == own else one for one in listed]


def or_again(page: Callable[..., Response]) -> Callable[[Handler], Handler]:
    """What answers a form: what it does; where that is refused, its page once more, with what is wrong."""

    def decorate(change: Handler) -> Handler:
        @wraps(change)
        def answer(site: PageSite, visit: Visit) -> Response:
            try:
                return change(site, visit)
            except (Forbidden, NotSignedIn):
                raise
            except DiscreetError as error:
                return page(site, visit, Problem.of(error))

        return answer

    return decorate


def show_tab(site: PageSite, visit: Visit, template: str, tab: str, *, status: int = 200, **values: Any) -> Response:
    """A page of a data set, below the tabs that this principal's roles open."""
    name = visit.name("dataset")
    base = base_of(name)
    shown = {one.name: one for one in TABS if visit.who.may(one.action, name)}
    if not site.service.has_series(name):
        shown.pop("series", None)
    tabs = [{"name": one.name, "label": one.label, "href": f"{base}/{one.name}".rstrip("/")} for one in shown.values()]
    own: dict[str, Any] = {
        "base": base,
        "tabs": tabs,
        "tab": tab,
        "tab_title": next((one["label"] for one in tabs if one["name"] == tab), ""),
        "may": {"ask": visit.who.may(Action.RELEASE, name)},
    }
    if "dataset" not in values:
        own["dataset"] = {"name": name}
    return site.show(visit, template, status=status, **(own | values))
