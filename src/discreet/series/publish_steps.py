"""The transaction of a series: open it once, then look, add noise and record, step after step.

Claim
    What `publish` returns is on record in the ledger: an opening whose charge was recorded with it before a row was
    read, and points that were drawn once each. Whatever is refused is refused before anything is charged or read, by
    what is declared, asked and on record alone; but for a budget that is frozen or closed while the rows are looked at:
    what was drawn of them is thrown away unseen.
Requires
    As `series_plan` and `series_record`.
Relies on
    `series_record`: one opening, one draw for each step. `series_plan`: what the charge pays for. `kept_step_totals`,
    where the curator keeps totals. `engines.engine.hide_failure_details`: a failure shows nothing of the rows.
Proof
    By reading `publish`: all checks come first; `Budget.opened` next, which records the charge with the opening; then,
    while steps are missing, and the charge on record is that of the plan, `_drawn` looks at the rows, measures the
    missing steps with noise of their own, and returns bytes; `Budget.published` keeps them if nobody was faster, and
    what is shown is read from the ledger afterwards. The exact totals and a draw that came second live in frames below
    `hide_failure_details` alone. What is thrown away is independent of what a later look draws, and whether it is
    depends on the curator, who has not seen it either.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009).
Mutant
    one-key-for-all-askers: who shares no answers opens the series of everybody anew; killed by
    test_an_asker_apart_has_a_series_apart.
    own-draw-is-shown: what was drawn is shown, whatever is on record; killed by
    test_only_what_is_on_record_is_shown.
    looked-before-the-charge: the rows are read before the series is charged; killed by
    test_the_charge_comes_before_the_rows.
    opened-for-less: an opening is believed, whatever its charge was; killed by
    test_a_series_that_was_not_paid_for_is_not_drawn.
    noise-of-the-first-block: all blocks get the noise of the first; killed by test_each_block_has_its_own_noise.
    frozen-before-the-look-alone: a freeze during a look does not stop its point; killed by
    test_a_freeze_during_a_look_stops_its_point.
    kept-after-the-charge: steps that cannot be kept are refused once they are paid for; killed by
    test_what_cannot_be_kept_is_refused_before_a_charge.
    copies-looked-at-once: a copy of kept steps is compared with the first point on record alone; killed by
    test_another_copy_of_the_folder_is_refused.
    kept-totals-beside-the-look: totals that are kept are read before the handler; killed by
    test_no_kept_total_is_in_reach_of_a_failure.
    version-looked-at-once: the version of the rows is compared before the first step alone; killed by
    test_older_rows_are_not_drawn_from_once_another_process_was_quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.protected_table import Protected
from discreet.curator.transaction import charge_to, once
from discreet.engines.engine import hide_failure_details
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
    expected,
    printable,
)
from discreet.ledger.budget import Budget
from discreet.ledger.hash_chain import DAMAGED
from discreet.noise.entropy import is_private
from discreet.query.question_documents import UNNAMED
from discreet.series.explain_series import series_receipt
from discreet.series.kept_step_totals import check_keeping, kept_totals
from discreet.series.noisy_stream import measured
from discreet.series.series_plan import SeriesPlan, parameters, published_totals
from discreet.series.series_record import Opening, Point, check_version, key_of, points_of, price_texts

if TYPE_CHECKING:
    from discreet.series.series_question import SeriesQuestion


Totals = Callable[[], tuple[list[NDArray[Any]], str] | DiscreetError]
"""A look at the exact totals of all steps so far: of each block an array of a row a step; and the mark of what is kept
of the last one. Or why what is kept cannot be taken.
"""


@dataclass(frozen=True, eq=False)
class Published:
    """What is on record of a series."""

    plan: SeriesPlan
    points: list[Point]
    facts: Mapping[str, Any]


def publish(question: SeriesQuestion, prices: Mapping[str, Any], last: int) -> Published:
    """What is on record once every step up to `last` was published."""
    source = question._source  # noqa: SLF001 (a question of this room)
    question._terms.check_size(question._question._query.cells, last)  # noqa: SLF001 (a question of this room)
    budget = source.budget if isinstance(source, Protected) else None
    if not isinstance(source, Protected) or not isinstance(budget, Budget):
        cure = "ask it of a table as dp.protect gives it, and not of a part of one."
        raise InvalidQuery(expected("a table with a budget of its own", "table", "another", cure))
    if UNNAMED.match(source.declaration.name):
        cure = "give it one, dp.protect(..., name='admissions'): a ledger knows the series by it tomorrow."
        raise InvalidQuery(expected("a table with a name", "name", "none", cure))
    # The scope is part of the key: what is drawn for one opening is never kept behind another one.
    key = key_of(source.declaration.name, question._terms.name, budget._scope)  # noqa: SLF001 (as above)
    stored = budget.stored(key)
    if stored is None:
        question._terms.check_over(last)  # noqa: SLF001 (as above)
        stored = _opened(question, source, budget, key, prices)
    opening = Opening.of(stored)
    asked = question._asked  # noqa: SLF001 (as above)
    opening.check(asked)
    price = _price(opening, prices)
    plan = question._plan(price, opening.strategy)  # noqa: SLF001 (as above)
    opening.check({"noise": parameters(plan)})
    payer, points = "", points_of(budget.points(key))
    if (points[-1].end if points else 0) <= last:
        question._terms.check_over(last)  # noqa: SLF001 (as above)
        payer = _check_paid(budget, key, plan)
    check_version(points, source.declaration.version)
    while (first := points[-1].end if points else 0) <= last:
        _check_open(budget, payer)
        source.desk.engine.check_alive()
        if source.keep_steps is None:
            totals = _from_all_rows(question, source, plan, last)
        else:  # each time: what was published meanwhile may be of another copy of the folder
            totals = partial(kept_totals, source, question, (key, stored), points, plan, last=last)
        look = partial(_drawn, source, plan, totals, first)
        drawn = hide_failure_details(partial(hide_failure_details, look))
        if isinstance(drawn, DiscreetError):
            raise drawn
        _check_open(budget, payer)
        budget.published(key, len(points) + 1, drawn)
        points = points_of(budget.points(key))
        check_version(points, source.declaration.version)  # another process may have drawn from newer rows meanwhile
    return Published(plan, points, opening.facts_of(points))


def _opened(question: SeriesQuestion, source: Protected, budget: Budget, key: str, prices: Mapping[str, Any]) -> bytes:
    """The opening of a series that has none yet, recorded with its charge."""
    plan = question._plan(prices)  # noqa: SLF001 (as above)
    rows = question._question._query.relation  # noqa: SLF001 (as above)
    source.desk.engine.statement(plan.step_plan(rows, 1))  # refused now, if the engine cannot say it
    check_keeping(source, question)
    source.desk.engine.check_alive()
    terms = question._terms  # noqa: SLF001 (as above)
    what = question.in_words
    header = {
        "release": key,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "private": is_private(source.desk.words()),
        "question": printable(what),
    }
    asked = {**question._asked, "price": price_texts(prices), "noise": parameters(plan)}  # noqa: SLF001 (as above)
    opening = Opening(asked, {**header, **series_receipt(plan, terms.stated)}, plan.strategy).to_bytes()
    charge = charge_to(source.declaration, key, what, plan.charge, plan.event)
    return once(
        budget,
        key,
        stored=lambda: budget.stored(key),
        draw=lambda _: budget.opened(charge, opening),
        fresh=False,
    )


def _check_paid(budget: Budget, key: str, plan: SeriesPlan) -> str:
    """The level that paid for a series; refuses to draw for an opening whose charge on record is not that of the plan:
    nobody opens a series by hand.
    """
    paid = budget.payment(key)
    if paid is None or paid.key != key or paid.event != plan.event:
        raise LedgerError(expected("the charge of this series", "charge", "another one", DAMAGED))
    return paid.level


def _check_open(budget: Budget, payer: str) -> None:
    """Refuses new points of a series where the budget of who asks, or of who paid, was frozen or closed since."""
    standing = next((one for one in (budget.standing, budget.standing_of(payer)) if one != "open"), "open")
    if standing != "open":
        cure = "what was published stays; ask the curator to open it again, budget.unfreeze(...), before more is."
        raise BudgetExceeded(expected("a budget that is open", "budget", standing, cure))


def _from_all_rows(question: SeriesQuestion, source: Protected, plan: SeriesPlan, last: int) -> Totals:
    """The totals of every step up to `last`, from the rows of all; refuses what the engine cannot say."""
    step_plan = plan.step_plan(question._question._query.relation, last + 1)  # noqa: SLF001 (as above)
    statement = source.desk.engine.statement(step_plan)
    return lambda: (published_totals(plan, source.desk.engine.totals(step_plan, statement)), "")


def _drawn(source: Protected, plan: SeriesPlan, totals: Totals, first: int) -> bytes | DiscreetError:
    """Looks at the rows, and returns the steps from `first` on with their noise, as they are recorded; or a refusal."""
    found = totals()
    if isinstance(found, DiscreetError):
        return found
    exact, kept = found
    words = source.desk.words()
    noisy = []
    for noise, history in zip(plan.noises, exact, strict=True):
        rows = np.array(measured(plan.strategy, history, first), dtype=object)
        noisy.append(noise.add_noise(rows, words))
    return Point(first, source.declaration.version, is_private(words), noisy, kept).to_bytes()


def _price(opening: Opening, prices: Mapping[str, Any]) -> dict[str, Any]:
    """The price of a series that is open: what is stated has to be the same."""
    if any(prices[name] is not None for name in ("epsilon", "rho")):
        opening.check({"price": price_texts(prices)})
    elif prices["delta"]:
        raise InvalidParameter(expected("an epsilon beside a delta", "delta", prices["delta"], "leave it out."))
    return opening.price
