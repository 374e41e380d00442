"""`release_log`: a log of users, items and counts, released as a log of the same columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.curator.budget import Budget
from discreet.curator.protect import protect
from discreet.errors import InvalidParameter, expected, nearest
from discreet.exact.amounts import fraction, positive
from discreet.logs.answer import LogRelease
from discreet.logs.collect import COUNT, ITEM, USER, bounded, pairs, totals
from discreet.logs.multinomial import ACKNOWLEDGED, MultinomialLog
from discreet.logs.programs import OBJECTIVES
from discreet.logs.sound import CONFIDENCE, SoundLog, released_extra, released_people, released_users, shares
from discreet.logs.synthetic import named, rows
from discreet.logs.thresholds import Screen
from discreet.privacy.definitions import Guarantee
from discreet.query.language.values import Kind, Value
from discreet.query.scan import kind_of
from discreet.query.seen import Seen, seen
from discreet.query.table import PrivateTable, whole
from discreet.query.unread import no_column

METHODS = ("sound", "multinomial")
MAX_ITEMS, MAX_COUNT = 10, 10
MOST_ITEMS, MOST_COUNT = 10_000, 1_000_000
LARGEST_COUNT = 1 << 31


def release_log(
    table: Any,
    *,
    user: str,
    item: str,
    count: str | None = None,
    epsilon: object,
    delta: object,
    method: str = "sound",
    budget: Budget | None = None,
    max_items: int | None = None,
    max_count: int | None = None,
    objective: str | None = None,
    size: int | None = None,
    support: float | None = None,
    acknowledge: str | None = None,
    fresh: bool = False,
) -> LogRelease:
    """A log in the columns of the one that goes in: users, items and, where there are some, counts.

    ``method="sound"`` is (epsilon, delta)-differentially private for users from end to end: a user counts in at most
    `max_items` items (10, if nobody says), `max_count` times in each (10), each item's users and counts get noise, and
    only items whose noisy users reach a threshold are shown. The users in its rows are made up.

    ``method="multinomial"`` is Hong, Vaidya, Lu and Wu's (EDBT 2012), with real users in its rows: probabilistic
    differential privacy of the sampling step for fixed row counts, which are themselves computed from the log, so it
    promises nothing from end to end. It runs with ``acknowledge="counts-are-not-private"`` alone.

    Rows without a user or an item, and rows whose count is NULL, NaN or below 1, are left out; counts are rounded down.

    Args:
        table: what `protect` takes, or a protected table, which brings its own budget.
        user: the column that says who; the unit that is protected.
        item: the column that says what: numbers without fractions, text, dates or truth values.
        count: the column that says how often; without one, a user has an item or does not.
        epsilon: what the release costs, charged before a row is read. Where neither `budget` nor the table brings an
            allowance, this call is one by itself, of exactly this epsilon and delta: all of it is spent, nobody keeps a
            record of it, and every further call is a further release.
        delta: above 0, as the items are not known beforehand.
        method: "sound" or "multinomial".
        budget: what is charged instead, where `table` is not protected yet.
        max_items: for "sound": in how many items a user counts. Of a user with more, a hash of user and item chooses.
        max_count: for "sound": with how many counts in each; larger ones count as this.
        objective: for "multinomial": "size", "support" (of frequent items) or "diversity".
        size: for "support": how many rows the output should have.
        support: for "support": the share of all counts from which on an item is frequent.
        acknowledge: for "multinomial": says that you know what it does not promise.
        fresh: draws and pays anew, where the same release would be given again for nothing.

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
    if method not in METHODS:
        raise InvalidParameter(expected("a method", "method", method, nearest(str(method), METHODS)))
    price = _price(epsilon, delta)
    own: dict[str, Any] = {"max_items": max_items, "max_count": max_count}
    other: dict[str, Any] = {"objective": objective, "size": size, "support": support, "acknowledge": acknowledge}
    _only_for(method, own if method == "multinomial" else other)
    if method == "multinomial":
        wanted = _aim(objective, size, support, acknowledge)
    people = _protected(table, user, price, budget)
    own_budget = {} if budget is not None or people is table else {"budget": ALONE}
    parts = seen(people)
    who, what, often = _columns(people, parts, user, item, count)
    line = f"log of {item} by {user}" + (f", counts {count}" if count else "") + f" ({method})"
    names = [user, item, *([count] if count else [])]
    if method == "multinomial":
        found = pairs(parts.relation, user=who, item=what, count=often, max_count=LARGEST_COUNT)
        drawn = MultinomialLog(what=line, guarantee=price, unit=user, expression=found, **wanted)
        shown, receipt = parts.source.read(drawn, fresh=fresh)  # type: ignore[attr-defined]  # the curator's source
        return _sampled(shown, receipt | own_budget, names)
    declared = parts.source.declaration
    items, most = _limits(max_items, max_count, declared, counted=count is not None)
    half, part = shares(price, declared.neighbors)
    screen = Screen.of(epsilon=half, delta=part, max_items=items, max_count=most)
    found = bounded(pairs(parts.relation, user=who, item=what, count=often, max_count=most), items)
    facts: dict[str, Any] = {"neighbors": declared.neighbors, "unit": user, "screen": screen}
    sound = SoundLog(what=line, guarantee=price, expression=totals(found), **facts)
    shown, receipt = parts.source.read(sound, fresh=fresh)  # type: ignore[attr-defined]  # as above
    return _dealt(shown, receipt | own_budget, names, screen, _user_type(parts))


def _price(epsilon: object, delta: object) -> Guarantee:
    small = fraction("delta", delta)
    if not 0 < small < 1:
        cure = "items that nobody listed need a delta, as delta=1e-8; smaller than one over the number of users."
        raise InvalidParameter(expected("a delta between 0 and 1", "delta", delta, cure))
    return Guarantee(epsilon=positive("epsilon", epsilon), delta=small)


def _only_for(method: str, others: dict[str, Any]) -> None:
    """Refuses what the method has no use for."""
    for name, value in others.items():
        if value is not None:
            rival = next(one for one in METHODS if one != method)
            raise InvalidParameter(expected(f"no {name} with method={method!r}", name, value, f"it is for {rival!r}."))


def _aim(objective: str | None, size: int | None, support: float | None, acknowledge: str | None) -> dict[str, Any]:
    """What the multinomial release is to be good at, once its limits are acknowledged."""
    aim = "size" if objective is None else objective
    if aim not in OBJECTIVES:
        raise InvalidParameter(expected("an objective", "objective", aim, nearest(str(aim), OBJECTIVES)))
    if aim != "support":
        for name, value in {"size": size, "support": support}.items():
            if value is not None:
                cure = 'leave it out, or write objective="support".'
                raise InvalidParameter(expected(f"no {name} for objective={aim!r}", name, value, cure))
    share = fraction("support", 0.002 if support is None else support)
    if not 0 < share <= 1:
        cure = "write the share of all counts from which on an item is frequent, as support=0.002."
        raise InvalidParameter(expected("a support above 0, up to 1", "support", support, cure))
    if acknowledge != ACKNOWLEDGED:
        raise InvalidParameter(
            expected(f"acknowledge={ACKNOWLEDGED!r} with the multinomial release", "acknowledge", acknowledge, WARNING)
        )
    return {"objective": aim, "size": None if size is None else whole("size", size), "support": float(share)}


ALONE = (
    "made for this call, exactly its epsilon and delta, and spent by it: the promise is that of this one release, and "
    "those of several calls add up"
)

WARNING = (
    "its row counts are computed from the log without noise, so it promises nothing from end to end: its condition "
    'speaks of the sampling step for fixed counts alone. method="sound" does without this.'
)


def _protected(table: Any, user: str, price: Guarantee, budget: Budget | None) -> PrivateTable:
    if not isinstance(user, str):
        raise InvalidParameter(expected("the name of a column", "user", user, "the column that says who."))
    if not isinstance(table, PrivateTable):
        # Exactly what the call costs, reachable by nothing else.
        alone = Budget(epsilon=price.epsilon, delta=price.delta) if budget is None else budget
        try:
            return protect(table, unit=user, budget=alone)
        except InvalidParameter as refused:  # in the words of this call
            raise InvalidParameter(str(refused).replace("got unit=", "got user=", 1)) from None
    if budget is not None:
        raise InvalidParameter(
            expected("no budget beside a protected table", "budget", budget, "it is charged to the table's own.")
        )
    unit = seen(table).source.declaration.unit
    if unit != (user,):
        named_unit = ", ".join(unit) or "each row"
        raise InvalidParameter(
            expected(f"the protected unit, {named_unit}", "user", user, "a log is released by the unit it protects.")
        )
    return table


def _columns(
    people: PrivateTable, parts: Seen, user: str, item: str, count: str | None
) -> tuple[Any, Value, Value | None]:
    for name, written in {"item": item, "count": count}.items():
        if written is not None and written not in people.columns:
            refusal = no_column(written, people.columns, parts.closed, what="a column of the log", label=name)
            raise InvalidParameter(refusal)
    if len({user, item, count}) < 3:
        raise InvalidParameter(expected("different columns", "item", item, "user, item and count are three columns."))
    what, often = parts.columns[item], None if count is None else parts.columns[count]
    if what.kind is Kind.REAL:
        cure = "floats make no items: round or cut the column to whole numbers or text first."
        raise InvalidParameter(expected("items of whole numbers, text or dates", "item", f"{item}: real", cure))
    if often is not None and not often.kind.numeric:
        cure = "the count says how often; leave it out where there is none."
        raise InvalidParameter(expected("a count of numbers", "count", f"{count}: {often.kind.value}", cure))
    return parts.units[0], what, often


def _limits(max_items: int | None, max_count: int | None, declared: Any, *, counted: bool) -> tuple[int, int]:
    """In how many items a user counts, and how often: as stated, as declared of the table, or 10."""
    groups, rows_of_one = (
        None if name in declared.auto_limits else getattr(declared, name) for name in ("max_groups", "max_rows")
    )
    items = whole("max_items", max_items if max_items is not None else groups or MAX_ITEMS)
    if not counted and max_count is not None:
        cure = "name the column that says how often, count=..., or leave max_count out."
        raise InvalidParameter(expected("no max_count without counts", "max_count", max_count, cure))
    often = whole("max_count", max_count if max_count is not None else rows_of_one or MAX_COUNT) if counted else 1
    for name, value, most in (("max_items", items, MOST_ITEMS), ("max_count", often, MOST_COUNT)):
        if value > most:
            cure = "the noise grows with it; choose what most users stay below."
            raise InvalidParameter(expected(f"a {name} of at most {most:,}", name, value, cure))
    return items, often


def _user_type(parts: Seen) -> pa.DataType:
    """Text where the log's users are text, whole numbers otherwise."""
    return pa.string() if kind_of(parts.units[0].type()) is Kind.TEXT else pa.int64()


def _dealt(table: pa.Table, receipt: dict[str, Any], names: list[str], screen: Screen, kind: pa.DataType) -> LogRelease:
    """A released log from noisy totals: whole numbers, and rows that add up to them."""
    users = released_users(table, screen)
    held = np.maximum(np.floor(users + 0.5), 1).astype(np.int64)
    half = screen.within(CONFIDENCE)
    items = {names[1]: table[ITEM], "users": held}
    items |= {"users_low": np.maximum(users - half, 0.0), "users_high": users + half}
    counts = None
    if len(names) == 3:
        extra = np.floor(released_extra(table) + 0.5) if screen.parts == 2 else np.zeros(held.size)
        counts = held + np.clip(extra, 0, held * (screen.max_count - 1)).astype(np.int64)
        items[names[2]] = counts
    who, what, often = rows(held, counts, released_people(table, screen))
    columns = {names[0]: named(who, kind), names[1]: table[ITEM].take(pa.array(what))}
    if often is not None:
        columns[names[2]] = pa.array(often)
    return LogRelease(pa.table(columns), pa.table(items), receipt)


def _sampled(table: pa.Table, receipt: dict[str, Any], names: list[str]) -> LogRelease:
    """A released log from rows that were drawn."""
    receipt |= {
        "found": {key.decode(): value.decode() for key, value in table.schema.metadata.items() if key != b"receipt"}
    }
    rows_drawn = table.select([USER, ITEM, COUNT]).replace_schema_metadata(None)
    grouped = rows_drawn.group_by(ITEM).aggregate([(USER, "count"), (COUNT, "sum")])
    order = [(f"{COUNT}_sum", "descending"), (ITEM, "ascending")]
    grouped = grouped.sort_by(order)
    items = {names[1]: grouped[ITEM], "users": grouped[f"{USER}_count"]}
    if len(names) == 3:
        return LogRelease(
            rows_drawn.rename_columns(names), pa.table({**items, names[2]: grouped[f"{COUNT}_sum"]}), receipt
        )
    single = rows_drawn.take(pa.array(np.repeat(np.arange(rows_drawn.num_rows), rows_drawn[COUNT].to_numpy())))
    return LogRelease(
        single.select([USER, ITEM]).rename_columns(names), pa.table({**items, "rows": grouped[f"{COUNT}_sum"]}), receipt
    )
