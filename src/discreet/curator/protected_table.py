"""A protected table: the only place where budget, data and entropy meet, in one order.

Claim
    Whatever an analyst asks of a `Protected`, in whatever order, from whatever threads: each answer is a function of
    the noisy totals of a plan whose charge was recorded before the engine saw it, or of an answer that was given
    before.
Requires
    A ledger that keeps its claim; an engine that computes the plan's totals; entropy.
Relies on
    `curator.transaction`: nothing is looked at before its charge is recorded. `ledger.ledger`: the sum of all recorded
    charges stays within the allowance. `planning.planner`: the plan's mechanisms are charge-private.
Proof
    Each kind of release is priced (the plan is given) and goes through `transaction.released` with what it draws: each
    block by its own mechanism, with fresh noise. A repeat is found by the plan's canonical text, made from public facts
    alone, and is answered from the store without data or noise.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009); Haeberlen, Pierce and Narayan, "Differential privacy under fire"
    (2011).
Mutant
    tables-are-copied: a table can be pickled, and its copy spends on its own; killed by
    test_tables_and_questions_stay_where_their_budget_is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import ibis.expr.schema as sch
import pyarrow as pa

from discreet.answers.answer_file import AnswerFile
from discreet.answers.batch_release import BatchRelease
from discreet.answers.release import Release
from discreet.answers.stored_answers import completed_release, stored_table, table_of, unpacked
from discreet.curator.add_noise import chosen_quantiles, counted_values, noisy_totals_of, value_statements
from discreet.curator.batch_transaction import batch_release
from discreet.curator.file_release import FileRelease, in_file
from discreet.curator.mixed_batch_transaction import mixed_batch_release
from discreet.curator.multi_table import (
    check_units,
    combined_declaration,
    joined,
    matching,
    parts_of,
    public_part,
    united,
)
from discreet.curator.noise_reduction_release import in_rounds
from discreet.curator.open_question_transaction import drawn_open, open_digest, statements
from discreet.curator.receipt_builder import foreseen, reading_receipt, receipt
from discreet.curator.release_key import described, digest
from discreet.curator.serialization import packed
from discreet.curator.table_input_release import Reading, reading_digest
from discreet.curator.transaction import Drawing, ReleaseContext, charge_to, charge_to_each, released
from discreet.engines.engine import Engine
from discreet.engines.multi_table_engine import TablePart, several_tables
from discreet.engines.statement_cache import SEPARATOR
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.cached_property import cached_property
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.ledger.parallel_composition import PartBudget, Parts
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.open_question_plan import OpenQuestionPlan
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration
from discreet.query.accuracy_rounds import Rounds
from discreet.query.public_table import PublicTable
from discreet.query.source import Beside, ReleaseCall


class Protected:
    """A table, what is stated of it, and the budget that stands before it."""

    def __init__(
        self,
        engine: Engine,
        declaration: Declaration,
        budget: Budget | PartBudget,
        words: Callable[[], RandomWords] = fresh_words,
        keep_steps: str | None = None,
    ) -> None:
        self._engine = engine
        self.keep_steps = keep_steps
        """The folder in which exact totals of the steps of series are kept, if the curator gave one."""
        self.declaration = declaration
        self.budget = budget
        self._words = words

    def __repr__(self) -> str:
        return f"<protected source {self.declaration.name!r}>"

    def __reduce__(self) -> NoReturn:
        """A copy would be a second table, beside the budget that is spent here."""
        cure = "call dp.protect where the copy should go, with a ledger= that both budgets share."
        raise InvalidParameter(
            expected("a table that stays where its budget is", "copy of", self.declaration.name, cure)
        )

    @cached_property
    def schema(self) -> sch.Schema:
        """The raw column names and types."""
        return self._engine.schema

    def statement(self, plan: Plan | OpenQuestionPlan) -> str:
        """The SQL that the engine runs for a plan, with what stands in it for all that is to be found first."""
        if isinstance(plan, OpenQuestionPlan):
            answering = [] if plan.placeholder_plan.shown else [self._engine.script(plan.placeholder_plan)]
            return SEPARATOR.join([*statements(self._engine, plan), *answering])
        return SEPARATOR.join((self._engine.script(plan), *value_statements(self._engine, plan)))

    def beside(self, other: Any) -> Beside:
        """This table and another one, protected under the same budget or public, in one plan and for one charge."""
        mine = parts_of(self._engine, self.declaration)
        others = (public_part(other),) if isinstance(other, PublicTable) else self._same_budget(other)
        every, places = joined(mine, others)
        by_row = not isinstance(other, PublicTable) and not self.declaration.unit
        if len(every) == len(mine) and not by_row:
            return Beside(self, places)
        stated = combined_declaration(self.declaration, every)
        stated = united(stated, other.declaration) if by_row else stated
        return Beside(Protected(several_tables(every), stated, self.budget, self._words), places)

    def with_budget(self, budget: object) -> Protected:
        """The same table, whose releases are charged to a level in its budget."""
        if not isinstance(budget, Budget) or not isinstance(self.budget, Budget) or not self.budget.holds(budget):
            cure = "give a level in the budget of this table, dp.Budget(parent=table.budget, epsilon=..., name=...)."
            raise InvalidQuery(expected("a level in the budget of this table", "budget", budget, cure))
        return Protected(self._engine, self.declaration, budget, self._words, self.keep_steps)

    def parts(self, number: int, most: int) -> tuple[Protected, ...]:
        """So many sources of this table that charge together what the `most` dearest of them cost."""
        parts = Parts(self.budget, number=number, most=most)
        budgets = (PartBudget(parts, part) for part in range(number))
        return tuple(Protected(self._engine, self.declaration, budget, self._words) for budget in budgets)

    def restated(self, **facts: Any) -> Protected:
        """A source of the same tables, of whose rows after a verb other limits hold, or more of them are one unit's."""
        return Protected(self._engine, replace(self.declaration, **facts), self.budget, self._words)

    def rowwise(self, rows_changed: int) -> Protected:
        """A source of the same tables in which rows belong to nobody, and neighbors differ in so many of them."""
        parts = parts_of(self._engine, self.declaration)
        stated = replace(
            combined_declaration(self.declaration, parts), unit=(), rows_changed=rows_changed, auto_limits=frozenset()
        )
        stated = replace(stated, max_groups=None, max_rows=None, size=None, meets_others=True)
        return Protected(several_tables(parts), stated, self.budget, self._words)

    def _same_budget(self, other: Protected) -> tuple[TablePart, ...]:
        if other.budget is not self.budget:
            cure = "protect both with one dp.Budget: one charge is for both of them; a part stands by itself."
            raise InvalidQuery(expected("tables under the same budget", "budget", "another", cure))
        matching(self.declaration, other.declaration)
        others = parts_of(other._engine, other.declaration)
        if self.declaration.unit:
            check_units(parts_of(self._engine, self.declaration), others)
        return others

    def release(
        self, plan: Plan | OpenQuestionPlan | Rounds, *, fresh: bool, confidence: float, call: ReleaseCall | None = None
    ) -> Release:
        """Price, reserve, look, add noise, commit, release; a repeat is answered from the store for nothing."""
        del call  # the plan is all that is needed here
        if isinstance(plan, OpenQuestionPlan):
            return self._found(plan, fresh=fresh, confidence=confidence)
        if isinstance(plan, Rounds):
            last, ended = in_rounds(self.desk, plan, fresh=fresh)
            return Release(last, *unpacked(ended), confidence)
        statement = self._engine.statement(plan)
        others = (*self._engine.rank_statements(plan), *value_statements(self._engine, plan))
        key = digest(plan, SEPARATOR.join((statement, *others)), self.schema)

        def draw(drawing: Drawing) -> bytes:
            noisy = noisy_totals_of(self._engine, plan, statement, drawing.words)
            noisy += chosen_quantiles(self._engine, plan, drawing.words)
            noisy += counted_values(self._engine, plan, drawing.words)
            return packed(noisy, receipt(plan, key, drawing))

        stored = released(self.desk, self._charge(key, plan), draw, fresh=fresh, first=partial(foreseen, plan))
        return Release(plan, *unpacked(stored), confidence)

    def release_batch(
        self, plan: BatchPlan | MixedBatchPlan, *, fresh: bool, confidence: float, call: ReleaseCall | None = None
    ) -> BatchRelease:
        """The same order for several tables at once."""
        del call
        if isinstance(plan, MixedBatchPlan):
            return mixed_batch_release(self.desk, plan, self.schema, fresh=fresh, confidence=confidence)
        return batch_release(self.desk, plan, self.schema, fresh=fresh, confidence=confidence)

    def write(self, plan: Plan, to: object, *, fresh: bool, confidence: float) -> AnswerFile:
        """The same order for an answer that goes to a file, some groups at a time."""
        statement = self._engine.statement(plan)
        key = digest(plan, statement, self.schema)
        order = FileRelease(plan=plan, statement=statement, key=key, to=to, confidence=confidence)
        return in_file(self.desk, order, self._charge(key, plan), fresh=fresh)

    def read(
        self, reading: Reading, *, fresh: bool, call: ReleaseCall | None = None
    ) -> tuple[pa.Table, dict[str, Any]]:
        """The same order for a reading: what its mechanism shows, and the receipt."""
        del call
        statement = self._engine.compiled(reading.expression)
        key = reading_digest(reading, self.declaration, statement, self.schema)
        asked = reading.what, reading.guarantee, reading.charged_event
        each_of = getattr(reading, "each_of", False)  # the noise of all others is for rows of one unit each
        charge = (charge_to_each if each_of else charge_to)(self.declaration, key, *asked)

        def draw(drawing: Drawing) -> bytes:
            shown = reading.add_noise(self._engine.run_statement(self.declaration, statement), drawing.words)
            return stored_table(shown, reading_receipt(reading, self.declaration, key, drawing))

        return table_of(released(self.desk, charge, draw, fresh=fresh))

    def _found(self, open_plan: OpenQuestionPlan, *, fresh: bool, confidence: float) -> Release:
        """The same where something is open: both looks are paid for before the first, and the second, if there is one,
        depends on the rows through what the first one found alone.
        """
        key = open_digest(self._engine, open_plan, self.schema)
        draw = partial(drawn_open, self._engine, open_plan, key)
        first = partial(foreseen, open_plan.placeholder_plan)
        stored = released(self.desk, self._charge(key, open_plan), draw, fresh=fresh, first=first)
        return completed_release(open_plan, stored, confidence)

    @property
    def desk(self) -> ReleaseContext:
        """What a release takes from here."""
        return ReleaseContext(engine=self._engine, budget=self.budget, words=self._words)

    def _charge(self, key: str, plan: Plan | OpenQuestionPlan) -> Charge:
        """What a release of a plan costs."""
        asked = described(plan.placeholder_plan if isinstance(plan, OpenQuestionPlan) else plan)
        return charge_to(self.declaration, key, asked, plan.charge, plan.event)
