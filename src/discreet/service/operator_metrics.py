"""What an operator watches: budgets as they were booked, and how many jobs were late at their first moment.

None of it tells when a look ended: a charge is booked when a job is accepted, and whether a job is late is shown to
whoever asked for it at that very moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.service.answer_timing import GRACE
from discreet.service.data_sets import DataSet
from discreet.service.series_desk import SeriesDesk
from discreet.service.state_store import StateStore

LATE = (
    "SELECT COUNT(*) FROM job WHERE twin IS NULL AND start + first <= ? AND (done IS NULL OR done + ? > start + first)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One number of one time series."""

    name: str
    about: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def budget_metrics(datasets: Iterable[DataSet]) -> list[Metric]:
    """The allowance of each data set, and what is spent and left of it."""
    found = []
    for one in datasets:
        amounts = {
            "allowance": ("All that may ever be spent", one.budget.allowance),
            "spent": ("What all charges come to", one.budget.spent),
            "remaining": ("What is left", one.budget.remaining),
        }
        for what, (about, guarantee) in amounts.items():
            for kind, amount in _amounts(guarantee).items():
                labels = {"dataset": one.name, "kind": kind}
                found.append(Metric(name=f"discreet_budget_{what}", about=about, value=amount, labels=labels))
    return found


def series_metrics(desk: SeriesDesk) -> list[Metric]:
    """Of each series how many steps are shown, and whether it is late or held: what its readers see as well."""
    found = []
    for dataset, served in desk.served.items():
        for name, one in served.items():
            view, labels = one.view(), {"dataset": dataset, "series": name}
            numbers = {
                "steps_published": ("Steps of a series that are published", view.shown),
                "late": ("Whether a step of a series was not there at its moment", view.is_late),
                "held": ("Whether a series cannot go on before its curator acts", view.obstacle is not None),
            }
            for what, (about, value) in numbers.items():
                metric = Metric(name=f"discreet_series_{what}", about=about, value=float(value), labels=labels)
                found.append(metric)
    return found


def late_jobs(store: StateStore, now: float) -> Metric:
    """How many jobs were not ready at their first moment: each of them told a clock something."""
    ((late,),) = store.read(LATE, now, GRACE)
    return Metric(name="discreet_jobs_late", about="Jobs that were not ready at their first moment", value=float(late))


def _amounts(guarantee: Guarantee) -> dict[str, float]:
    amounts: dict[str, Fraction | None] = {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "rho": guarantee.rho,
    }
    return {kind: float(amount) for kind, amount in amounts.items() if amount is not None and amount < UNBOUNDED}
