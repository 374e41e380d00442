"""The price of a whole series: sensitivity over all steps, shares of blocks, and what has no noise of this kind."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.mechanisms.laplace import Laplace
from discreet.series.series_plan import SeriesPlan, horizon, sums_of
from discreet.series.series_question import SeriesTable
from discreet.series.step_windows import StepWindows
from series_fixtures import asked, protected

PRICE = {"epsilon": None, "delta": 0, "rho": Fraction(1, 2)}


def steps(**more: Any) -> SeriesTable:
    stated = {"by": "day", "start": "2026-01-01", "until": "2026-01-20", "windows": (1, 7, "all"), "max_steps": 4}
    return protected(**more).series(**stated)  # type: ignore[arg-type]  # a dict of them


def plan(**more: Any) -> SeriesPlan:
    return asked(protected(), **more)._plan(PRICE)


def test_the_noise_is_that_of_the_whole_series() -> None:
    """Four steps, in each two wards with two rows: sigma follows from all of them."""
    found = plan()
    [noise] = found.noises
    strategy: Any = found.strategy
    assert strategy.moved > 4 * strategy.gram.diagonal().min()
    once = 2 * 2**2 * found.plan.blocks[0].steps ** 2
    assert noise.sensitivity**2 >= once * strategy.moved
    assert float(noise.sensitivity) == pytest.approx((once * strategy.moved) ** 0.5)
    assert zcdp_of_event(found.event)[0] <= Fraction(1, 2)
    assert float(noise.scale) == pytest.approx(float(noise.sensitivity))
    one = plan(max_steps=1)
    assert one.strategy.mean_square < strategy.mean_square


def test_replaced_units_move_twice() -> None:
    added = plan()
    replaced = asked(protected(neighbors="replace-one", units=40))._plan(PRICE, added.strategy)
    assert float(replaced.noises[0].sensitivity) == pytest.approx(2 * float(added.noises[0].sensitivity))


def test_blocks_share_the_price() -> None:
    question = (
        steps()
        .group_by("ward")
        .agg(n=lambda t: t.count(), nights=lambda t: t.nights.mean(), persons=lambda t: t.person.nunique())
    )
    found = question._plan(PRICE)
    assert len(found.noises) == 2
    assert sum(block.share for block in found.plan.blocks) == 1
    assert zcdp_of_event(found.event)[0] == pytest.approx(0.5)
    assert zcdp_of_event(found.event)[0] <= Fraction(1, 2)
    with_delta = question._plan({"epsilon": 1, "delta": 1e-6, "rho": None})
    assert with_delta.charge.epsilon == 1
    assert with_delta.charge.delta == Fraction(1, 10**6)
    assert horizon(found) == found.strategy.windows.number * 2


def test_sums_come_step_by_step() -> None:
    windows = StepWindows.of(4, (1, 3, "all"))
    found = sums_of(windows, 4)
    assert [step for step, _, _ in found] == sorted(step for step, _, _ in found)
    assert [(window, place) for step, window, place in found if step == 3] == [(1, 3), (3, 1), ("all", 3)]
    assert len(found) == windows.number


def test_answers_have_the_noise_of_their_sums() -> None:
    """A sum has the largest deviation of its kind, and hardly more than its own; whatever is published later."""
    found = plan()
    early, whole = found.answer_plan(8), found.answer_plan(20)
    assert whole.classes is not None and early.classes is not None  # noqa: PT018 (for the type checker)
    terms = [float(whole.classes.blocks[place][0].terms[0]) for place in whole.classes.of]
    first = [float(early.classes.blocks[place][0].terms[0]) for place in early.classes.of]
    assert terms[: len(first)] == first
    for (_, window, place), told in zip(sums_of(found.strategy.windows, 20), terms[::2], strict=True):
        own = float(found.strategy.deviations[window][place]) * float(found.noises[0].scale) / whole.blocks[0].steps
        assert own <= told * (1 + 1e-12) < 1.01 * own
    values = found.answers(np.ones((20, 2, 1)))
    every = sums_of(found.strategy.windows, 20)
    wanted = [step + 1 if window == "all" else window for step, window, _ in every for _ in range(2)]
    assert values[:, 0].tolist() == wanted


@pytest.mark.parametrize(
    "aggregate",
    [lambda t: t.nights.median(), lambda t: t.nights.max(), lambda t: t.ward.nunique()],
)
def test_what_does_not_add_up_is_refused(aggregate: Any) -> None:
    with pytest.raises((InvalidQuery, InvalidParameter)):
        steps().agg(x=aggregate).explain(rho=1)


def test_a_pure_epsilon_has_a_tree() -> None:
    """Laplace noise for all nodes that one unit is in, over all of its steps; means need Gaussian noise."""
    year: dict[str, Any] = {"until": "2026-12-31", "windows": ("all",)}
    found = asked(protected(), **year)._plan({"epsilon": 2, "delta": 0, "rho": None})
    [noise], strategy = found.noises, found.strategy
    assert isinstance(noise, Laplace)
    assert strategy.family.startswith("a tree")
    once = 2 * 2 * found.plan.blocks[0].steps
    assert noise.sensitivity == once * strategy.absolute
    assert noise.epsilon == 2
    assert (found.charge.epsilon, found.charge.delta) == (Fraction(2), Fraction(0))
    replaced = asked(protected(neighbors="replace-one", units=40), **year)._plan(
        {"epsilon": 2, "delta": 0, "rho": None}, strategy
    )
    assert replaced.noises[0].sensitivity == 2 * noise.sensitivity
    with pytest.raises(InvalidQuery, match="beside means and variances"):
        steps().agg(m=lambda t: t.nights.mean()).explain(epsilon=1)


def test_a_sum_of_a_tree_has_its_terms() -> None:
    """Of each sum as many Laplace terms as it has nodes."""
    found = asked(protected())._plan({"epsilon": 2, "delta": 0, "rho": None})
    strategy: Any = found.strategy
    inverse = np.linalg.inv(strategy.matrix.astype(float))
    whole = found.answer_plan(20)
    assert whole.classes is not None
    every = zip(sums_of(found.strategy.windows, 20), whole.classes.of[::2], strict=True)
    for (step, window, _), place in every:
        first = found.strategy.windows.first[window][step]
        nodes = np.abs(inverse[first : step + 1].sum(axis=0))
        assert set(nodes.round(9)) <= {0.0, 1.0}
        assert len(whole.classes.blocks[place][0].terms) == round(nodes.sum())


def test_what_is_to_be_found_is_refused() -> None:
    with pytest.raises(InvalidQuery):
        steps().group_by("ward", keys=dp.UNKNOWN).agg(n=lambda t: t.count())
    with pytest.raises(InvalidQuery):
        steps(max_rows="auto").group_by("ward").agg(n=lambda t: t.count())
