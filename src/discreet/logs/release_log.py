"""`release_log`: a log of users, items and counts, released as a log of the same columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Never

import numpy as np
import pyarrow as pa

from discreet.curator.protect import protect
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import fraction
from discreet.exact.given_values import flag
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.language.checked_expressions import Kind
from discreet.language.input_barrier import kind_of
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import stated_guarantee
from discreet.logs.item_threshold import ItemThreshold
from discreet.logs.log_columns import check_user, columns_of
from discreet.logs.released_log import LogRelease
from discreet.logs.synthetic import rows, user_names
from discreet.logs.thresholded_log import (
    CONFIDENCE,
    ThresholdedLog,
    released_extra,
    released_people,
    released_users,
    shares,
)
from discreet.logs.user_item_pairs import ITEM, bounded, pairs, totals
from discreet.planning.contribution_limits import checked_limit
from discreet.privacy.definitions import Guarantee
from discreet.query.table import PrivateTable
from discreet.query.table_view import TableView, view_of

MULTINOMIAL = ("method", "objective", "size", "support", "acknowledge")
"""Arguments of the former multinomial release."""
MAX_ITEMS, MAX_COUNT = 10, 10
MOST_ITEMS, MOST_COUNT = 10_000, 1_000_000


@with_usage_hint("dp.release_log(log, user='who', item='page', epsilon=1, delta=1e-8)")
def release_log(
    table: Any,
    *,
    user: str,
    item: str,
    count: str | None = None,
    epsilon: object = None,
    delta: object,
    rho: object = None,
    budget: Budget | None = None,
    max_items: int | None = None,
    max_count: int | None = None,
    fresh: bool = False,
    **other: Never,
) -> LogRelease:
    """Releases a log in the columns of the original one: users, items and, if there are any, counts.

    It is (epsilon, delta)-differentially private for users from end to end: a user counts in at most `max_items` items
    (10 by default), `max_count` times in each (10), each item's users and counts get noise, and only items whose
    noisy number of users reaches a threshold are shown. The users in its rows are synthetic.

    Rows without a user or an item, and rows whose count is NULL, NaN or below 1, are left out; counts are rounded down.

    Args:
        table: what `protect` takes, or a protected table, which brings its own budget.
        user: the column that says who; the unit that is protected.
        item: the column that says what: numbers without fractions, text, dates or truth values.
        count: the column that says how often; without one, a user has an item or does not.
        epsilon: what the release costs, charged before a row is read. Where neither `budget` nor the table has an
            allowance, a budget of exactly this epsilon and delta is made for this call and spent. No record of it is
            kept, and every further call is a further release.
        rho: of zero-concentrated differential privacy, instead of epsilon, which is the root of 2 rho then.
        delta: above 0, as the items are not known beforehand.
        budget: what is charged instead, where `table` is not protected yet.
        max_items: the number of items in which a user counts; if a user has more, a hash of user and item chooses.
        max_count: the largest count in each; larger ones count as this.
        fresh: draws and pays again, where otherwise the stored release would be returned at no cost.
        **other: nothing; arguments of the former multinomial release are refused.

    Raises:
        InvalidParameter: something is missing or not usable; nothing has been read or spent.
        BudgetExceeded: the budget has not enough left; nothing has been read or spent.

    >>> import pyarrow as pa
    >>> log = pa.table({"who": list(range(90)), "page": ["/home"] * 60 + ["/rare"] + ["/news"] * 29, "hits": [3] * 90})
    >>> released = release_log(
    ...     log,
    ...     user="who",
    ...     item="page",
    ...     count="hits",
    ...     epsilon=8,
    ...     delta=1e-6,
    ...     max_items=1,
    ... )
    >>> released.items["page"].to_pylist(), released.receipt["guarantee"]
    (['/home', '/news'], '(8, 0.000001)-differential privacy for add-remove neighbors, of the whole release')
    """
    _check_other(other)
    flag("fresh", fresh)
    price = _price(epsilon, delta, rho)
    people = _protected(table, user, price, budget)
    own_budget = {} if budget is not None or people is table else {"budget": ALONE}
    parts = view_of(people)
    who, what, often = columns_of(people, parts, user, item, count)
    description = f"log of {item} by {user}" + (f", counts {count}" if count else "") + " (sound)"
    names = [user, item, *([count] if count else [])]
    declared = parts.source.declaration
    items, most = _limits(max_items, max_count, declared, counted=count is not None)
    half, part = shares(price, declared.neighbors)
    threshold = ItemThreshold.of(epsilon=half, delta=part, max_items=items, max_count=most)
    found = bounded(pairs(parts.relation, user=who, item=what, count=often, max_count=most), items)
    facts: dict[str, Any] = {"neighbors": declared.neighbors, "unit": user, "screen": threshold}
    sound = ThresholdedLog(what=description, guarantee=price, expression=totals(found), **facts)
    shown, receipt = parts.source.read(sound, fresh=fresh)  # type: ignore[attr-defined]  # as above
    return _log_release(shown, receipt | own_budget, names, threshold, _user_type(parts))


def _price(epsilon: object, delta: object, rho: object) -> Guarantee:
    if not 0 < fraction("delta", delta) < 1:
        cure = "items that nobody listed need a delta, as delta=1e-8; smaller than one over the number of users."
        raise InvalidParameter(expected("a delta between 0 and 1", "delta", delta, cure))
    return stated_guarantee(epsilon, delta, rho)


def _check_other(other: Mapping[str, object]) -> None:
    """Refuses unknown arguments, with a hint for those of the former multinomial release."""
    for name, value in other.items():
        if name == "method" and value == "sound":
            continue
        cure = (
            "multinomial sampling is not private from end to end, so it is no release of a protected table. "
            "dp.sample_own_log takes a log of your own."
            if name in MULTINOMIAL
            else nearest_name(name, ("user", "item", "count", "budget", "max_items", "max_count", "fresh"))
        )
        raise InvalidParameter(expected("what a log is released with", name, value, cure))


ALONE = (
    "made for this call, exactly its epsilon and delta, and spent by it: the promise is that of this one release, and "
    "those of several calls add up"
)


def _protected(table: Any, user: str, price: Guarantee, budget: Budget | None) -> PrivateTable:
    check_user(user)
    if not isinstance(table, PrivateTable):
        # Exactly what the call costs, reachable by nothing else.
        if budget is None and price.rho is None:
            budget = Budget(epsilon=price.epsilon, delta=price.delta)
        alone = Budget(rho=price.rho, delta=price.delta) if budget is None else budget
        try:
            return protect(table, unit=user, budget=alone)
        except InvalidParameter as refused:  # in the words of this call
            raise InvalidParameter(str(refused).replace("got unit=", "got user=", 1)) from None
    if budget is not None:
        raise InvalidParameter(
            expected("no budget beside a protected table", "budget", budget, "it is charged to the table's own.")
        )
    unit = view_of(table).source.declaration.unit
    if unit != (user,):
        named_unit = ", ".join(unit) or "each row"
        raise InvalidParameter(
            expected(f"the protected unit, {named_unit}", "user", user, "a log is released by the unit it protects.")
        )
    return table


def _limits(max_items: int | None, max_count: int | None, declared: Any, *, counted: bool) -> tuple[int, int]:
    """The limits on items and counts of a user: as stated, as declared for the table, or 10."""
    groups, rows_of_one = (
        None if name in declared.auto_limits else getattr(declared, name) for name in ("max_groups", "max_rows")
    )
    items = checked_limit("max_items", max_items if max_items is not None else groups or MAX_ITEMS)
    if not counted and max_count is not None:
        cure = "name the column that says how often, count=..., or leave max_count out."
        raise InvalidParameter(expected("no max_count without counts", "max_count", max_count, cure))
    stated = max_count if max_count is not None else rows_of_one or MAX_COUNT
    often = checked_limit("max_count", stated) if counted else 1
    for name, value, most in (("max_items", items, MOST_ITEMS), ("max_count", often, MOST_COUNT)):
        if value > most:
            cure = "the noise grows with it; choose what most users stay below."
            raise InvalidParameter(expected(f"a {name} of at most {most:,}", name, value, cure))
    return items, often


def _user_type(parts: TableView) -> pa.DataType:
    """Text where the log's users are text, whole numbers otherwise."""
    return pa.string() if kind_of(parts.units[0].type()) is Kind.TEXT else pa.int64()


def _log_release(
    table: pa.Table, receipt: dict[str, Any], names: list[str], threshold: ItemThreshold, kind: pa.DataType
) -> LogRelease:
    """Makes a released log from noisy totals: whole numbers, and rows that add up to them."""
    users = released_users(table, threshold)
    whole_users = np.maximum(np.floor(users + 0.5), 1).astype(np.int64)
    half = threshold.within(CONFIDENCE)
    items = {names[1]: table[ITEM], "users": whole_users}
    items |= {"users_low": np.maximum(users - half, 0.0), "users_high": users + half}
    counts = None
    if len(names) == 3:
        extra = np.floor(released_extra(table) + 0.5) if threshold.parts == 2 else np.zeros(whole_users.size)
        counts = whole_users + np.clip(extra, 0, whole_users * (threshold.max_count - 1)).astype(np.int64)
        items[names[2]] = counts
    who, what, often = rows(whole_users, counts, released_people(table, threshold))
    columns = {names[0]: user_names(who, kind), names[1]: table[ITEM].take(pa.array(what))}
    if often is not None:
        columns[names[2]] = pa.array(often)
    return LogRelease(pa.table(columns), pa.table(items), receipt)
