"""A question at every step of a series, priced once for all of them: the noise of each block over its whole life.

Claim
    The mechanisms of a `SeriesPlan` together, over all steps that there will ever be, are `charge`-differentially
    private for the declared neighbors, on the exact totals of every step, whatever part of them is ever drawn.
Requires
    An engine that computes the totals of `step_plan` as it says, from tables that grow as `active_steps` requires.
Relies on
    `planning.planner` for lattices, limits and shares of blocks; `active_steps`: a unit counts in `max_steps` of the
    steps, within the limits of a question in each. `stream_strategy.moved`; `noisy_stream`, whose proof is that of each
    block; `planning.noise_laws` for the noise and the composition of all.
Proof
    In one step a unit moves the totals of a block by a vector of a squared L2 norm of at most D, that of the question
    in this step for units that come and go (`sensitivity.contributions`). Over all steps it moves what is measured by
    at most the root of D times `moved` (`participation`), and twice that where it is replaced by another one. Each
    block has its share of the price; Gaussian mechanisms with these shares compose to it (`planning.noise_laws`). Rows
    that are never drawn cost nothing more. *Laplace noise* is the same in L1 norm: D and `absolute`, without a root;
    however later rows depend on what was published, what one unit moves all rows by adds up to no more.
Rounding
    As `planning.noise_laws`.
Source
    As `noisy_stream`.
Mutant
    replaced-like-added: replacing a unit moves no more than adding it; killed by test_replaced_units_move_twice.
    price-of-one-step: the noise is that of one step; killed by test_the_noise_is_that_of_the_whole_series.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidQuery, expected
from discreet.exact.amounts import root_above
from discreet.exact.cached_property import cached_property
from discreet.language.checked_expressions import Kind
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.planning import forms
from discreet.planning.group_keys import MOST_KEYS, Keys
from discreet.planning.noise_laws import Law, Price, noise_event
from discreet.planning.plan import EstimateNoise, NoiseClasses, Plan, PricedBlock, Query
from discreet.planning.planner import own_limits, plan_of, stated_price, stated_weights
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.privacy.events import Event, composed
from discreet.series.active_steps import HELD, STEP, WINDOW
from discreet.series.open_ended_strategy import OpenEndedStrategy
from discreet.series.participation import Participation
from discreet.series.series_strategy import Reals, SeriesStrategy
from discreet.series.step_calendar import StepCalendar
from discreet.series.step_windows import StepWindows, Window
from discreet.series.stream_strategy import StreamStrategy

STRATEGIES = 8
FAMILIES: Mapping[str, Callable[[StepWindows, Participation], SeriesStrategy]] = {
    "open": OpenEndedStrategy.made,
    "gaussian": StreamStrategy.best,
    "laplace": StreamStrategy.best_tree,
}
GRAIN = 200
"""Sums whose deviations differ by less than one part in so many have the largest of them."""


@dataclass(frozen=True, eq=False)
class SeriesPlan:
    """Everything that all releases of a series need."""

    calendar: StepCalendar
    strategy: SeriesStrategy
    plan: Plan
    """Of the question in one step: its lattices and limits count, and its noise does not."""
    noises: tuple[Gaussian | Laplace, ...]
    """The noise of each block, in steps of its lattice times entries of the strategy's matrix."""
    offer: Price

    @cached_property
    def event(self) -> Event:
        """What is drawn over the whole life of the series."""
        return composed(*map(noise_event, self.noises))

    @cached_property
    def charge(self) -> Guarantee:
        """What it costs."""
        return self.offer.charge(self.event)

    @property
    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """The keys of the groups of one step."""
        keys = self.plan.query.keys
        return ((),) if keys is None else keys.rows

    def step_plan(self, relation: Any, steps: int, first: int = 0) -> Plan:
        """The totals of the first steps, or of those from one on, for each the groups in their order, over the bounded
        rows of all.
        """
        query, keys = self.plan.query, self.plan.query.keys
        names, kinds = (keys.names, keys.kinds) if keys else ((), ())
        rows = tuple((step, *row) for step in range(first, steps) for row in self.groups)
        every = Keys((STEP, *names), (Kind.INTEGER, *kinds), rows)
        return replace(self.plan, query=replace(query, keys=every, groups={STEP: relation[HELD], **query.groups}))

    @cached_property
    def kinds(self) -> dict[tuple[Window, int], tuple[float, float]]:
        """Of sums of one window whose deviations are the same but for one part in `GRAIN`: the largest deviation, and
        the largest rounding, over the whole series.
        """
        found: dict[tuple[Window, int], tuple[float, float]] = {}
        for window, spreads in self.strategy.deviations.items():
            own, places = np.unique(self._kinds[window], return_inverse=True)
            most = np.zeros((2, len(own)))
            np.maximum.at(most[0], places, spreads)
            np.maximum.at(most[1], places, self.strategy.roundings[window])
            for kind, spread, rest in zip(own.tolist(), *most.tolist(), strict=True):
                found[window, kind] = spread, rest
        return found

    @cached_property
    def _kinds(self) -> dict[Window, NDArray[np.int64]]:
        return {
            window: np.floor(GRAIN * np.log(own)).astype(np.int64) for window, own in self.strategy.deviations.items()
        }

    def kind(self, window: Window, place: int) -> int:
        """Which of `kinds` the sum is at the place-th step at which its window is full."""
        return int(self._kinds[window][place])

    def blocks(self, window: Window, kind: int) -> tuple[PricedBlock, ...]:
        """The blocks with the noise of such sums."""
        spread, rest = self.kinds[window, kind]
        found = []
        for block, noise in zip(self.plan.blocks, self.noises, strict=True):
            terms = np.array([spread * float(noise.scale)])
            if isinstance(noise, Laplace):  # of which each term of the sum has its own, with a coefficient of 1
                terms = np.full(round(rest), float(noise.scale))
            estimate = EstimateNoise(terms, rest / float(terms.sum()))
            found.append(replace(block, sensitivity=noise.sensitivity, noise=noise, estimate=estimate))
        return tuple(found)

    def answer_plan(self, steps: int) -> Plan:
        """All sums of the first steps as one plan, whose groups are the groups at each step and window."""
        keys, calendar = self.plan.query.keys, self.calendar
        rows, labels = list[tuple[Any, ...]](), list[int]()
        kinds = {kind: place for place, kind in enumerate(self.kinds)}
        for step, window, place in sums_of(self.strategy.windows, steps):
            rows += [(*row, calendar.begin(step), str(window)) for row in self.groups]
            labels += [kinds[window, self.kind(window, place)]] * len(self.groups)
        names, of = (keys.names, keys.kinds) if keys else ((), ())
        every = Keys((*names, STEP, WINDOW), (*of, calendar.kind, Kind.TEXT), tuple(rows))
        seen, places = np.unique(np.array(labels, dtype=np.intp), return_inverse=True)
        noises = tuple(self.blocks(*list(kinds)[place]) for place in seen)
        return replace(
            self.plan,
            query=replace(self.plan.query, keys=every),
            blocks=noises[0] if noises else self.plan.blocks,
            classes=NoiseClasses(places.reshape(-1), noises),
            charge=self.charge,
            event=self.event,
            reconciled=True,
        )

    def answers(self, steps: Reals) -> NDArray[np.float64]:
        """The rows of `answer_plan` from the estimates of each step, an array of shape (steps, groups, components)."""
        windows = self.strategy.windows
        sums = {window: windows.sums(steps, window) for window in windows.first}
        found = [sums[window][place] for _, window, place in sums_of(windows, len(steps))]
        return np.concatenate(found) if found else np.zeros((0, steps.shape[-1]))


def sums_of(windows: StepWindows, steps: int) -> list[tuple[int, Window, int]]:
    """All sums of the first steps, step by step: the step, the window, and its place among the full ones."""
    full = {window: iter(enumerate(windows.full(window, steps).tolist())) for window in windows.first}
    following = {window: next(places, None) for window, places in full.items()}
    found = []
    for step in range(steps):
        for window, places in full.items():
            one = following[window]
            if one is not None and one[1] == step:
                found.append((step, window, one[0]))
                following[window] = next(places, None)
    return found


def plan_series(
    query: Query,
    calendar: StepCalendar,
    windows: StepWindows,
    taken: Participation,
    prices: Mapping[str, Any],
    *,
    strategy: SeriesStrategy | None = None,
) -> SeriesPlan:
    """The plan of a series at a price; reads and spends nothing.

    Args:
        query: the question in one step.
        calendar: the steps.
        windows: what is wanted at each.
        taken: in how many steps a unit counts.
        prices: epsilon, for Laplace noise; with a delta, or rho, for Gaussian noise.
        strategy: what to measure, where that is known already.
    """
    _check(query, 1 if calendar.open_ended else windows.steps)
    stated = stated_price(**prices)
    gaussian = stated.rho is not None or bool(stated.delta)
    if calendar.open_ended and not gaussian:
        raise InvalidQuery(
            "Expected a delta or a rho beside an open end, got a pure epsilon.\n"
            "Hint: add delta=1e-6, or state rho= in place of epsilon, for Gaussian noise; or state the end, until=."
        )
    offer = replace(stated, law=Law.GAUSSIAN if gaussian else Law.LAPLACE)
    first = tuple((name, own.tobytes()) for name, own in windows.first.items())
    family = "open" if calendar.open_ended else "gaussian" if gaussian else "laplace"
    chosen = strategy or _strategy(family, windows.steps, first, taken)
    worse = chosen.mean_square if gaussian else chosen.absolute * chosen.spread
    spread = Fraction(1 / max(1.0, worse))
    plan = plan_of(query, offer, stated_weights(query, None), spread=spread)
    if plan.ranks or plan.values or any(block.block.form is forms.DISTINCT for block in plan.blocks):
        cure = "ask for counts, sums, means or variances, or for the number of units."
        raise InvalidQuery(expected("aggregates that add up over steps", "aggregates", "another", cure))
    if not gaussian and not all(column.linear for column in plan.columns):
        raise InvalidQuery(
            "Expected a delta or a rho beside means and variances of a series, got a pure epsilon.\n"
            "Hint: add delta=1e-6, or state rho= in place of epsilon, for Gaussian noise; or ask for counts and sums."
        )
    moved = chosen.moved if gaussian else chosen.absolute
    noises = tuple(_noise(plan, block, moved, offer) for block in plan.blocks)
    return SeriesPlan(calendar, chosen, plan, noises, offer)


@lru_cache(maxsize=STRATEGIES)
def _strategy(family: str, steps: int, first: tuple[tuple[Window, bytes], ...], taken: Participation) -> SeriesStrategy:
    """The best strategy, remembered: a series that is explained is often released."""
    places = {name: np.frombuffer(own, dtype=np.int64) for name, own in first}
    windows = StepWindows(steps, places)
    return FAMILIES[family](windows, taken)


def _noise(plan: Plan, block: PricedBlock, moved: int, offer: Price) -> Gaussian | Laplace:
    """The noise of a block over the whole series."""
    own, query = own_limits(plan.query, block.block), plan.query
    totals = query.cells if block.block.components == 1 else None
    back = block.steps if block.block.form.rotated else block.lattice.back
    _, once = offer.law.sensitivity_of(block.steps, own, Neighbors.ADD_REMOVE, back=back, totals=totals)
    twice = 2 if query.declaration.neighbors is Neighbors.REPLACE_ONE else 1
    if offer.law is Law.GAUSSIAN:
        square = once * moved * twice**2
        made = offer.noise((root_above(Fraction(square)), square), block.share)
    else:
        bound = Fraction(once * moved * twice)
        made = offer.noise((bound, bound), block.share)
    if not isinstance(made, Gaussian | Laplace):
        raise TypeError(made)
    return made


def _check(query: Query, steps: int) -> None:
    """Refuses groups that are not listed, and more of them than an answer has."""
    if query.keys is not None and type(query.keys) is not Keys:
        cure = "list the keys of each column, keys={'ward': [...]}."
        raise InvalidQuery(expected("keys that are listed", "keys", "others", cure))
    if query.cells * steps > MOST_KEYS:
        cure = "group more coarsely, or take longer steps."
        raise InvalidQuery(expected(f"at most {MOST_KEYS:,} groups in all steps", "groups", query.cells * steps, cure))


def published_totals(plan: SeriesPlan, exact: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The exact totals of the first steps, for each block an array of a row a step."""
    return [totals.reshape(-1, len(plan.groups) * totals.shape[1]) for totals in exact]


def parameters(plan: SeriesPlan) -> list[list[str]]:
    """What tells the noise of a series from that of another: of each block its steps, sensitivity and scale."""
    pairs = zip(plan.plan.blocks, plan.noises, strict=True)
    return [[str(block.steps), str(noise.sensitivity), str(noise.scale)] for block, noise in pairs]


def horizon(plan: SeriesPlan) -> int:
    """How many numbers of one column the whole series will have, which bands that hold simultaneously are for."""
    return plan.strategy.windows.number * len(plan.groups)
