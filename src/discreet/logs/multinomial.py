"""`sample_own_log`: the multinomial release of Hong, Vaidya, Lu and Wu, on a log of the curator's own.

It is here for comparison with `release_log`, since textbooks and lecture notes show it. It charges no budget and takes
no protected table, since its result is not differentially private from end to end.

Claim
    What `sample_own_log` returns holds x_i rows of each item i, whose users have the law of
    `multinomial_sampling.sample_rows`; where a limit is stated, every user meets the condition of
    `multinomial_sampling.within` for these x. No protected table is read.
Requires
    A log that needs no protection.
Relies on
    `multinomial_sampling.within` and `multinomial_sampling.sample_rows`; `user_item_pairs.pairs`: one row a pair.
Proof
    Stated counts are taken as they are, checked for all users who have a shared item, and drawn; chosen ones were
    checked by `integer_programs.choose`. A user without a shared item has an empty product, which is 1. Items of one
    user have no row. A `PrivateTable` is refused first.
Rounding
    The epsilon and delta that the counts need are rounded up.
Source
    Hong, Vaidya, Lu, Wu, Differentially Private Search Log Sanitization with Optimal Output Utility (EDBT 2012).
Mutant
    stated-counts-unchecked: counts pass if they suit one user; killed by test_one_user_beyond_the_limit_is_enough.
    protected-logs-are-sampled: a protected table is taken as well; killed by test_no_protected_table_is_sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.curator.protect import protect
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import decimal_text, fraction, is_whole, positive
from discreet.ledger.budget import Budget
from discreet.logs.integer_programs import OBJECTIVES, choose
from discreet.logs.log_columns import check_user, columns_of
from discreet.logs.multinomial_sampling import (
    Integers,
    UserItemPairs,
    is_bounded,
    largest_loss,
    losses,
    of_several_users,
    sample_rows,
)
from discreet.logs.released_log import LogRelease
from discreet.logs.user_item_pairs import COUNT, ITEM, USER, pairs
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.planning.contribution_limits import checked_limit
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of

LARGEST_COUNT = 1 << 31
MOST_DRAWN = 1 << 40
SUPPORT = Fraction(1, 500)
NOT_COVERED = (
    "the row counts of the items: a program computes them from the exact log, or they were stated and checked on it",
    "which items are left out, since one user alone has them",
    "the status of the program and the losses in this receipt",
    "hence the result as a whole: between neighbors whose row counts differ, delta is 1",
)


class LogSample(LogRelease):
    """Rows of real users, drawn from a log of the curator's own. NOT differentially private from end to end.

    >>> import pyarrow as pa
    >>> log = pa.table({"who": [1, 2, 2], "query": ["google", "google", "car price"]})
    >>> sample = sample_own_log(log, user="who", item="query", output_counts={"google": 3})
    >>> sample.receipt["private"], sample.items.to_pydict()["rows"]
    (False, [3])
    """

    def _caption(self) -> str:
        return f"{len(self):,} rows of {self.items.num_rows:,} items · multinomial · NOT PRIVATE from end to end"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """The rows to draw: stated counts of each item, or the limits within which a program chooses them."""

    stated: Mapping[Any, int] | None
    objective: str
    epsilon: Fraction | None
    delta: Fraction | None
    size: int | None
    support: Fraction


def sample_own_log(
    log: Any,
    *,
    user: str,
    item: str,
    count: str | None = None,
    output_counts: Mapping[Any, int] | None = None,
    epsilon: object = None,
    delta: object = None,
    objective: str | None = None,
    size: int | None = None,
    support: object = None,
) -> LogSample:
    """Multinomial sampling of a log of your own, with real users in its rows: NOT private from end to end.

    Item i gets x_i rows, and the user of each is drawn with probability c_ik / c_i, c_ik being how often user k has the
    item and c_i the sum over all users. Items of one user get none. The condition of Hong, Vaidya, Lu and Wu (EDBT
    2012), for every user k: the product of (c_i / (c_i - c_ik)) ** x_i is at most e^epsilon, and at most 1/(1 - delta).
    It is probabilistic differential privacy of the sampling step for *fixed* x. But x, or whether it meets the
    condition, is a function of the exact log. So no budget is charged, and a protected table is refused:
    `release_log` is for those.

    Args:
        log: what `protect` takes, but for a protected table.
        user: the column that says who.
        item: the column that says what.
        count: the column that says how often; without one, a user has an item or does not.
        output_counts: x by item, checked for every user; items that are not named get no row.
        epsilon: the limit on every user's loss. Needed where a program is to choose x; beside `output_counts` it may be
            left out, and so may `delta`: the receipt then says what they would have to be.
        delta: the limit on the probability that a user is in the rows.
        objective: what a program optimizes: "size", "support" (of frequent items) or "diversity".
        size: for "support": how many rows.
        support: for "support": the share of all counts from which on an item is frequent, 0.002 by default.

    Raises:
        InvalidParameter: something is not usable, or a user's condition does not hold for the stated counts.

    >>> import pyarrow as pa
    >>> log = pa.table({"who": [1, 2, 3], "page": ["/home"] * 3})
    >>> sample = sample_own_log(log, user="who", item="page", output_counts={"/home": 2}, epsilon=1)
    >>> len(sample), sample.receipt["needs"]["epsilon"]
    (2, '0.810931')
    """
    wanted = _wanted(output_counts, epsilon, delta, objective, (size, support))
    found = _pairs(log, user, item, count)
    shown, facts = _sampled(found, wanted, fresh_words())
    return _sample([user, item, *([count] if count else [])], shown, {**_facts(wanted), **facts})


def _wanted(
    stated: object, epsilon: object, delta: object, objective: str | None, more: tuple[int | None, object]
) -> _Wanted:
    size, support = more
    limits = {
        "epsilon": None if epsilon is None else positive("epsilon", epsilon),
        "delta": None if delta is None else fraction("delta", delta),
    }
    small = limits["delta"]
    if small is not None and not 0 < small < 1:
        raise InvalidParameter(expected("a delta between 0 and 1", "delta", delta, "write delta=0.5, or leave it out."))
    aim = "size" if objective is None else objective
    if not isinstance(aim, str) or aim not in OBJECTIVES:
        raise InvalidParameter(expected("an objective", "objective", objective, nearest_name(aim, OBJECTIVES)))
    if stated is not None and objective is not None:
        cure = "state the counts, or have a program choose them."
        raise InvalidParameter(expected("no objective beside output_counts", "objective", objective, cure))
    for name, value in {"size": size, "support": support}.items():
        if value is not None and aim != "support":
            cure = 'leave it out, or write objective="support".'
            raise InvalidParameter(expected(f"no {name} but for objective='support'", name, value, cure))
    for name, limit in limits.items():
        if limit is None and stated is None:
            cure = "both limits choose the row counts; state these to do without: output_counts={'google': 20}."
            raise InvalidParameter(expected(f"a value of {name}", name, None, cure))
    share = SUPPORT if support is None else fraction("support", support)
    if not 0 < share <= 1:
        cure = "write the share of all counts from which on an item is frequent, as support=0.002."
        raise InvalidParameter(expected("a support above 0, up to 1", "support", support, cure))
    rows = None if size is None else checked_limit("size", size)
    return _Wanted(stated=_counts(stated), objective=aim, size=rows, support=share, **limits)


def _counts(stated: object) -> dict[Any, int] | None:
    if stated is None:
        return None
    cure = "write output_counts={'google': 20, 'book': 3}."
    if not isinstance(stated, Mapping):
        raise InvalidParameter(expected("a dict of row counts by item", "output_counts", stated, cure))
    for number in stated.values():
        if not is_whole(number) or not 0 <= number <= MOST_DRAWN:
            raise InvalidParameter(expected("whole numbers of 0 or more", "output_counts", number, cure))
    return {name: int(number) for name, number in stated.items()}


def _pairs(log: Any, user: str, item: str, count: str | None) -> pa.Table:
    """One row for each pair of user and item, in the order of items and users."""
    if isinstance(log, PrivateTable):
        cure = "use dp.release_log, which is private from end to end; this is for a log that needs no protection."
        raise InvalidParameter(expected("a log of your own", "log", "a protected table", cure))
    check_user(user)
    table = protect(log, unit=user, budget=Budget(epsilon=1))  # for its rules of reading; nothing is released
    parts: Any = view_of(table)
    who, what, often = columns_of(table, parts, user, item, count)
    expression = pairs(parts.relation, user=who, item=what, count=often, max_count=LARGEST_COUNT)
    engine = parts.source._engine  # noqa: SLF001 (the curator's own log, which no budget stands before)
    found: pa.Table = engine.run_statement(parts.source.declaration, engine.compiled(expression))
    return found.sort_by([(ITEM, "ascending"), (USER, "ascending")]).combine_chunks()


def _sampled(table: pa.Table, wanted: _Wanted, words: RandomWords) -> tuple[pa.Table, dict[str, Any]]:
    """Samples real users' rows for each item, and returns them with facts for the receipt."""
    log = UserItemPairs(_codes(table[USER]), _codes(table[ITEM]), table[COUNT].to_numpy().astype(np.int64))
    kept = of_several_users(log)
    if wanted.stated is None:
        limits = {"epsilon": wanted.epsilon or Fraction(0), "delta": wanted.delta or Fraction(0)}
        chosen = choose(kept, wanted.objective, rows=wanted.size, support=float(wanted.support), **limits)
        status, rows = chosen.status, chosen.rows
    else:
        status, rows = "stated", _stated(table, log, wanted.stated)
        _check(table, kept, rows, wanted)
    several = np.bincount(log.items, minlength=log.size)[log.items] > 1
    table = table.filter(pa.array(several)).set_column(
        table.column_names.index(COUNT), COUNT, pa.array(sample_rows(kept, rows, words))
    )
    largest = largest_loss(kept, rows)
    facts = {
        "rows": int(rows.sum()),
        "row_counts": status,
        "needs": _needs(largest),
        "users": kept.people,
    }
    return table.filter(pa.array(table[COUNT].to_numpy() > 0)), facts


def _stated(table: pa.Table, log: UserItemPairs, stated: Mapping[Any, int]) -> Integers:
    """The stated row counts by number of the item."""
    numbers = dict(zip(table[ITEM].to_pylist(), log.items.tolist(), strict=True))
    users = np.bincount(log.items, minlength=log.size)
    rows = np.zeros(log.size, dtype=np.int64)
    for name, number in stated.items():
        if name not in numbers:
            raise InvalidParameter(expected("items of the log", "output_counts", name, "leave it out."))
        if number and users[numbers[name]] < 2:
            cure = "one row of it would name its only user: state 0, or leave it out."
            raise InvalidParameter(expected("no row of an item of one user", "output_counts", {name: number}, cure))
        rows[numbers[name]] = number
    return rows[: of_several_users(log).size]


def _check(table: pa.Table, kept: UserItemPairs, rows: Integers, wanted: _Wanted) -> None:
    """Refuses row counts for which some user's condition does not hold."""
    if wanted.epsilon is None and wanted.delta is None:
        return
    holds = is_bounded(kept, rows, epsilon=wanted.epsilon, delta=wanted.delta)
    if not holds.all():
        names = dict(zip(_codes(table[USER]).tolist(), table[USER].to_pylist(), strict=True))
        place = int(np.flatnonzero(~holds)[0])
        needs = _needs(float(losses(kept, rows)[place]))
        cure = f"user {names[place]!r} needs an epsilon of {needs['epsilon']} and a delta of {needs['delta']}."
        raise InvalidParameter(
            expected("row counts within the limits for every user", "output_counts", int(rows.sum()), cure)
        )


def _needs(loss: float) -> dict[str, str]:
    """The epsilon and the delta that a loss needs, rounded up."""
    up = {"epsilon": (6, loss), "delta": (9, -math.expm1(-loss))}
    contexts = {name: (Context(digits, ROUND_CEILING), end) for name, (digits, end) in up.items()}
    return {name: f"{own.create_decimal_from_float(end).normalize(own):f}" for name, (own, end) in contexts.items()}


def _facts(wanted: _Wanted) -> dict[str, Any]:
    limits = {
        name: "none" if value is None else decimal_text(value)
        for name, value in {"epsilon": wanted.epsilon, "delta": wanted.delta}.items()
    }
    return {
        "private": False,
        "guarantee": "none from end to end",
        "covered": f"epsilon {limits['epsilon']}, delta {limits['delta']}: probabilistic differential privacy of the "
        "sampling step for fixed row counts, for the removal of one user",
        "not_covered": list(NOT_COVERED),
        "method": "multinomial",
        "charge": {"epsilon": "0", "delta": "0"},
        "objective": None if wanted.stated is not None else wanted.objective,
    }


def _sample(names: list[str], drawn_rows: pa.Table, receipt: dict[str, Any]) -> LogSample:
    """The rows in the columns of the log, and the totals of its items."""
    table = drawn_rows.select([USER, ITEM, COUNT]).replace_schema_metadata(None)
    grouped = table.group_by(ITEM).aggregate([(USER, "count"), (COUNT, "sum")])
    grouped = grouped.sort_by([(f"{COUNT}_sum", "descending"), (ITEM, "ascending")])
    items = {names[1]: grouped[ITEM], "users": grouped[f"{USER}_count"]}
    if len(names) == 3:
        return LogSample(table.rename_columns(names), pa.table({**items, names[2]: grouped[f"{COUNT}_sum"]}), receipt)
    single = table.take(pa.array(np.repeat(np.arange(table.num_rows), table[COUNT].to_numpy())))
    single = single.select([USER, ITEM]).rename_columns(names)
    return LogSample(single, pa.table({**items, "rows": grouped[f"{COUNT}_sum"]}), receipt)


def _codes(column: pa.ChunkedArray) -> Integers:
    """Numbers from 0, one for each value of a column."""
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
