"""The settings of the program around: what NumPy, Python's decimals and its warnings do with what is inexact.

Whether a question is answered may depend on them, and not on a row; and of those that scientific programs set, none
makes a question fail.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flint import ctx
from ibis import _

import discreet as dp
from discreet.query.table import PrivateTable


@contextlib.contextmanager
def numpy_raises() -> Iterator[None]:
    with np.errstate(all="raise"):
        yield


@contextlib.contextmanager
def warnings_are_errors() -> Iterator[None]:
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "fetch_arrow_table")  # Ibis asks DuckDB by its old name
        yield


@contextlib.contextmanager
def decimals_are_exact() -> Iterator[None]:
    traps = [decimal.Inexact, decimal.Rounded, decimal.FloatOperation, decimal.Subnormal]
    with decimal.localcontext(decimal.Context(prec=2, traps=traps)):
        yield


@contextlib.contextmanager
def decimals_are_short() -> Iterator[None]:
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emin=-4, Emax=4, traps=[])):
        yield


@contextlib.contextmanager
def arb_is_coarse() -> Iterator[None]:
    with ctx.workprec(2):
        yield


HOSTS = (numpy_raises, warnings_are_errors, decimals_are_exact, decimals_are_short, arb_is_coarse)
ODD = (None, 5e-324, -1e-310, 1e-300, math.nan, math.inf, 1e308, Decimal("1e-400"), Decimal("sNaN"), Decimal("1e999"))
"""Of which the first leaves the table as it is."""


def rows(odd: object, kind: type) -> pd.DataFrame:
    numbers = [0.5, -3.0, 2.0, 4.0, 1e6, *([] if odd is None else [odd])]
    size = len(numbers)
    held = np.array(numbers, dtype=object).astype(kind) if isinstance(odd, float | None) else np.array(numbers)
    days, plans = [datetime.date(2026, 1, 1)] * size, (["a", "b"] * size)[:size]
    return pd.DataFrame({"who": range(size), "x": held, "plan": plans, "day": days})


def people(odd: object) -> PrivateTable:
    bounds: dict[str, Any] = {"x": (-1e7, 1e7)}
    return dp.protect(
        rows(odd, float),
        schema={"who": "int64", "x": "float64", "plan": "string", "day": "date"},
        unit="who",
        max_rows=1,
        max_groups=1,
        bounds=bounds,
        keys={"plan": ["a", "b"]},
        budget=dp.Budget(epsilon=99, delta=0.5),
    )


QUESTIONS: dict[str, Callable[[PrivateTable], Any]] = {
    "count and sum": lambda t: t.agg(n=t.x.count(), s=t.x.sum()).release(epsilon=1),
    "mean": lambda t: t.agg(m=t.x.mean()).release(epsilon=1).mutate(r=_.m / 3),
    "variance": lambda t: t.agg(v=t.x.var()).release(epsilon=1, delta=1e-6),
    "median": lambda t: t.agg(m=t.x.median()).release(epsilon=1),
    "cube": lambda t: t.group_by("plan", cube=True).agg(n=_.count(), s=_.x.sum()).release(epsilon=1),
    "unlisted keys": lambda t: t.group_by("day", keys=dp.UNKNOWN).agg(s=_.x.sum()).release(epsilon=1, delta=0.1),
    "truncated total": lambda t: t.truncated_total(t.x.clip(0, 10), epsilon=1),
    "distinct values": lambda t: t.count_distinct("plan", epsilon=1),
    "clusters": lambda t: t.kmeans("x", n_clusters=2, epsilon=1),
    "log": lambda t: dp.release_log(t, user="who", item="plan", count="x", epsilon=1, delta=0.1),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_fails_for_what_the_program_around_has_set(name: str, host: Callable[[], Any]) -> None:
    for odd in (ODD[0], *ODD[1 + len(name) % 3 :: 3]):
        with host():
            QUESTIONS[name](people(odd))


LOG = pd.DataFrame({"who": [1, 2, 3], "page": ["/"] * 3})
AFTER_AND_BEFORE: dict[str, Callable[[dp.Release], Any]] = {
    "rounded": lambda answer: answer.rounded(3).to_pylist(),
    "a refusal of a long fraction": lambda _: dp.Budget(epsilon=Fraction(-1234567, 1_000_003)),
    "a refusal of a longer one": lambda _: dp.Laplace(sensitivity=Fraction(-1, 3), epsilon=1),
    "a search by refusals": lambda _: (
        dp.batch(n=people(None).count()).explain(within={"n": Fraction(100, 3)}).accuracy["n: count"]
    ),
    "what a sample needs": lambda _: dp.sample_own_log(LOG, user="who", item="page", output_counts={"/": 2}).receipt[
        "needs"
    ],
}


def outcome(asked: Callable[[dp.Release], Any], answer: dp.Release) -> str:
    try:
        return repr(asked(answer))
    except dp.DiscreetError as refused:
        return str(refused)


@pytest.mark.cases
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", AFTER_AND_BEFORE)
def test_what_is_said_does_not_depend_on_the_program_around(name: str, host: Callable[[], Any]) -> None:
    answer = people(None).agg(s=_.x.sum(), n=_.count()).release(epsilon=1)
    wanted = outcome(AFTER_AND_BEFORE[name], answer)
    with host():
        assert outcome(AFTER_AND_BEFORE[name], answer) == wanted


def figures() -> list[Any]:
    """What mechanisms say of their noise."""
    gaussian: list[Any] = [
        dp.Gaussian(sensitivity=3, epsilon=Fraction(1, 3), delta=1e-7, calibration=c) for c in FORMULAS
    ]
    discrete: Any = dp.DiscreteGaussian(sensitivity=3, epsilon=Fraction(1, 3), delta=1e-7)
    said = [(one.scale, one.bound(dimension=7, confidence=0.9)) for one in (*gaussian, discrete)]
    return [*said, discrete.sigma2, discrete.delta(epsilon=Fraction(1, 2)), discrete.variance]


FORMULAS = ("exact", "classical", "lecture_notes", "logarithmic")


@pytest.mark.parametrize("host", HOSTS)
def test_figures_of_noise_do_not_depend_on_the_program_around(host: Callable[[], Any]) -> None:
    wanted = figures()
    with host():
        assert figures() == wanted


@pytest.mark.parametrize("host", HOSTS)
def test_constants_keep_their_digits(host: Callable[[], Any]) -> None:
    """Negative ones were rounded to the digits that decimals had: in conditions, in bounds, and in steps on an answer.

    At this epsilon the noise of a count is 0 but once in e**(10**6) runs.
    """
    held = {"who": range(100), "x": [-1234567.5 + place / 10 for place in range(100)]}
    stated: dict[str, Any] = {"unit": "who", "max_rows": 1, "max_groups": 1, "bounds": {"x": (-1234567.75, 0.0)}}
    with host():
        table = dp.protect(pd.DataFrame(held), budget=dp.Budget(epsilon=10**7), **stated)
        answer = table.filter(table.x < -1234562.5).agg(n=table.x.count()).release(epsilon=10**6)
        whole = table.agg(s=table.x.sum()).release(epsilon=10**6)
        [shown] = answer.mutate(y=_.n + (-1234567.25)).rounded(digits=9).to_pylist()
        [total] = whole.to_pyarrow()["s"].to_pylist()
    assert (shown["n"], shown["y"]) == (50, 50 - 1234567.25)
    assert abs(total - sum(held["x"])) < 100


@pytest.mark.parametrize("algorithm", ["best", "lloyd"])
@pytest.mark.parametrize("host", HOSTS)
def test_no_row_makes_clustering_of_arrays_fail(host: Callable[[], Any], algorithm: str) -> None:
    """One row next to 0 raised, where NumPy was asked to raise, and no other row did."""
    for odd in ODD:
        given = rows(odd, object)[["x"]]
        with host():
            found = dp.KMeans(1, epsilon=1, bounds=(-1e7, 1e7), algorithm=algorithm).fit(given)
        assert np.isfinite(found.cluster_centers_).all()
