"""One release of all levels: priced, charged, measured, stored, and a mapping of tables that agree with each other.

Claim
    What `release_levels` returns is a function of the noisy totals of a `LevelPlan`, each drawn once, after its charge
    was recorded; or of those on record.
Requires
    A plan of the table that it is asked of.
Relies on
    `curator.transaction`; `level_plan`; `level_answers` is post-processing.
Proof
    The plan is given, so it was priced. `transaction.released` records the charge, and calls `draw` afterwards, which
    asks the engine for the totals of the leaves and gives each level its own noise before anything is returned.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009).
Mutant
    upper-levels-as-they-are: only the leaves get noise; killed by test_every_level_has_its_noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.answers.cell_sums import CellSums, row_weights
from discreet.answers.linear_combination import Combination
from discreet.answers.receipt import Receipt
from discreet.answers.stored_answers import unpacked
from discreet.curator.protected_table import Protected
from discreet.curator.receipt_builder import header
from discreet.curator.release_key import described, digest, hashed
from discreet.curator.serialization import check_length, packed
from discreet.curator.transaction import Drawing, charge_to, released
from discreet.errors import InvalidParameter, expected, nearest_name, printable
from discreet.exact.given_values import flag
from discreet.guesses.answer_words import LEVELS, ReleasedNames
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.hierarchies.explain_levels import account
from discreet.hierarchies.level_answers import Answers, Noisy, Part
from discreet.hierarchies.level_plan import LevelPlan
from discreet.hierarchies.level_sums import LevelSums
from discreet.noise.entropy import RandomWords
from discreet.planning.noise_laws import width_of
from discreet.planning.planner import level as confidence_of
from discreet.query.explanation import as_text

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
"""Of the errors that a receipt tells."""


class HierarchyRelease(CellSums, ReleasedNames, Mapping[str, pa.Table]):
    """Tables of all levels, by name, the total first: they add up along the path, and have one receipt.

    Each has the columns of the path down to its level, those of the cells, and ``x``, ``x_low`` and ``x_high`` for each
    aggregate x: the ends hold the exact value for the bounded and weighted population with the stated confidence, for
    each row on its own. `sum` and `difference` add up cells of any level.

    >>> import pyarrow as pa
    >>> import discreet as dp
    >>> from discreet.testing import people
    >>> keys = dp.public_keys(pa.table({"plan": ["free", "25%"]}))
    >>> answer = people().hierarchy(["plan"], keys=keys, max_groups=1).agg(n=lambda t: t.count()).release(epsilon=1)
    >>> list(answer), answer["plan"].column_names
    (['total', 'plan'], ['plan', 'n', 'n_low', 'n_high'])
    """

    _ask: ClassVar[str] = "ask for a level, answer['county'], or for its length, len(answer)."
    _instead = LEVELS

    sum = with_usage_hint(".sum('county', 'n', state='north')")(CellSums.sum)
    difference = with_usage_hint(".difference('county', 'n', {'state': 'north'}, {'state': 'south'})")(
        CellSums.difference
    )

    def __init__(self, answers: Answers, facts: Mapping[str, Any], confidence: float) -> None:
        self._answers, self._sums, self._confidence = answers, LevelSums(answers), confidence
        self._tables = self.intervals(confidence)
        self._receipt = Receipt(facts)

    def __getitem__(self, level: str) -> pa.Table:
        return self._tables[self._level(level)]

    def _level(self, level: object) -> str:
        if not isinstance(level, str) or level not in self._tables:
            raise InvalidParameter(expected("a level of the path", "level", level, nearest_name(level, self._tables)))
        return level

    def __contains__(self, level: object) -> bool:
        return level in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {table.num_rows:,}" for name, table in self._tables.items())
        return printable(f"<levels and their rows: {rows} · {self._receipt.cost}{self._receipt.warning}>")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the aggregates."""
        return tuple(column.aggregate.name for column in self._answers.plan.plan.columns)

    @with_usage_hint(".intervals(confidence=0.9)")
    def intervals(self, confidence: float = 0.95, *, simultaneous: bool = False) -> dict[str, pa.Table]:
        """The tables of all levels with intervals at another confidence, for nothing: per cell, or with `simultaneous`
        for all cells, columns and levels at once (Bonferroni).
        """
        places = self._answers.plan.places
        wanted = confidence_of(confidence)
        if flag("simultaneous", simultaneous):
            every = sum(places.tree.sizes) * places.number_of_cells * len(self.columns)
            wanted = 1 - (1 - wanted) / max(1, every)
        levels = enumerate(places.levels)
        return {name: self._answers.table(level, places.named(level), wanted) for level, name in levels}

    @with_usage_hint(".weighted('county', 'n', weights)")
    def weighted(self, level: str, column: str, weights: ArrayLike) -> Combination:
        """The sum of a column over the cells of a level, each times its weight, a number for each row of its table;
        errors as of `sum`.
        """
        rows, place = self[level], self._answers.plan.places.levels.index(level)
        own = row_weights(weights, rows.num_rows)
        found = {one.aggregate.name: one for one in self._answers.plan.plan.columns}
        if not isinstance(column, str) or column not in found:
            raise InvalidParameter(expected("a column of the table", "column", column, nearest_name(column, found)))
        return self._sums.combination(place, found[column], rows[column].to_numpy(), own, self._confidence)

    def _rows(self, table: str) -> tuple[pa.Table, tuple[str, ...]]:
        """The table of a level, and the columns that name its cells."""
        rows, places = self[table], self._answers.plan.places
        return rows, tuple(places.named(places.levels.index(table), 0, 0).column_names)

    @property
    def receipt(self) -> Receipt:
        """What was promised, and the noise of each level. A copy, ready for JSON."""
        return Receipt.of(self._receipt)

    @with_usage_hint(".to_pandas('county')")
    def to_pandas(self, level: str) -> pd.DataFrame:
        """The table of a level as a pandas frame."""
        frame: pd.DataFrame = self[level].to_pandas()
        return frame


def release_levels(source: Protected, plan: LevelPlan, *, fresh: bool, confidence: float) -> HierarchyRelease:
    """The answers of all levels, for one charge; those on record where there are some."""
    statement = source.desk.engine.statement(plan.plan)
    key = release_key(source, plan, statement)

    def draw(drawing: Drawing) -> bytes:
        exact = source.desk.engine.totals(plan.plan, statement)
        noisy = measured(plan, [block.reshape(plan.places.path.num_rows, -1) for block in exact], drawing.words)
        flat = [np.zeros((0, 1)) if own is None else own for levels in noisy for own in levels]
        return packed(flat, level_receipt(plan, key, drawing))

    charge = charge_to(source.declaration, key, asked(plan), plan.charge, plan.event)

    def foreseen() -> None:
        """What could fail after the charge: the length of the answer, and what its receipt says."""
        check_length(plan.plan, sum(plan.places.tree.sizes) * plan.places.number_of_cells)
        account(plan, "", CONFIDENCE)

    stored = released(source.desk, charge, draw, fresh=fresh, first=foreseen)
    return HierarchyRelease(*stored_levels(plan, stored), confidence)


def stored_levels(plan: LevelPlan, stored: bytes) -> tuple[Answers, dict[str, Any]]:
    """The answers of all levels and the receipt, from noisy totals on record."""
    totals, facts = unpacked(stored)
    left = iter(totals)
    noisy = [
        [None if noise is None else own.reshape(-1, _width(plan, i)) for noise, own in zip(noises, left, strict=False)]
        for i, noises in enumerate(plan.noises)
    ]
    whole = Part(plan, plan.places.tree, plan.known)
    return whole.down(whole.up(noisy)), facts


def measured(plan: LevelPlan, leaves: list[NDArray[Any]], words: RandomWords) -> Noisy:
    """The noisy totals of all levels, from the exact ones of the leaves, block by block."""
    return [
        [None if noise is None else noise.add_noise(exact, words) for noise, exact in zip(noises, sums, strict=True)]
        for noises, own in zip(plan.noises, leaves, strict=True)
        for sums in [plan.places.tree.sums(own)]
    ]


def _width(plan: LevelPlan, block: int) -> int:
    """How many totals of a block each place has."""
    return plan.places.number_of_cells * plan.plan.blocks[block].block.components


def release_key(source: Protected, plan: LevelPlan, statement: str, **more: object) -> str:
    """The name of a release: equal for equal questions at an equal price."""
    base = digest(plan.plan, statement, source.schema)
    scales = [
        [None if one is None else [str(one.sensitivity), str(width_of(one))] for one in own] for own in plan.noises
    ]
    price = [str(plan.charge.epsilon), str(plan.charge.delta), str(plan.charge.rho)]
    return hashed([base, plan.places.levels, scales, price, plan.integers, more])


def asked(plan: LevelPlan) -> str:
    """The question in one line, for the ledger."""
    return f"{described(plan.plan)}, all levels"


def level_receipt(plan: LevelPlan, key: str, drawing: Drawing) -> dict[str, Any]:
    """All that was claimed of a release, ready for JSON."""
    facts = as_text(account(plan, "", CONFIDENCE).facts)
    promise = f"{plan.charge.promise} for {facts['neighbors']} neighbors"
    del facts["sql"], facts["also priced"]
    return {**header(key, drawing, asked(plan)), "guarantee": promise, **facts}
