"""Which questions have an answer that can go to a file group by group, and which keys are too many for any other."""

from __future__ import annotations

from discreet.errors import InvalidQuery
from discreet.planning.group_keys import MOST_KEYS
from discreet.planning.plan import Query


def check_held(query: Query) -> None:
    """Refuses an answer that is to be held in memory, and has too many groups."""
    if query.cells > MOST_KEYS:
        raise InvalidQuery(
            f"Expected at most {MOST_KEYS:,} groups in an answer in memory, got {query.cells:,}.\n"
            "Hint: have it written to a file, .release(..., to='answer.parquet')."
        )


def check_written(query: Query, *, is_open: bool, in_rounds: bool, reported: bool, processed: bool) -> None:
    """Refuses an answer that cannot be written group by group, before anything is read."""
    ranked = next((a.name for a in query.aggregates if a.statistic.apart), None)
    refusals = {
        "keys, limits and bounds that are stated": (
            is_open,
            "some that are to be found",
            "state them, or leave out to= and use .to_parquet(path) on the answer.",
        ),
        "groups": (query.keys is None, "a question about all rows", "use .release(...).to_parquet(path)."),
        "columns that are totals": (
            ranked is not None,
            f"{ranked}, which is computed from no totals",
            "ask for quantiles, ends and numbers of values in a question of their own, without to=.",
        ),
        "one charge": (
            in_rounds,
            "rounds",
            "state epsilon; rounds look at the whole answer before the next one.",
        ),
        "an answer without a report": (
            reported,
            "report=",
            "leave it out; .count() can be asked with the same report.",
        ),
        "no steps after the noise": (
            processed,
            "some",
            "leave out having, order_by, limit, mutate and select: do them on the file, for nothing.",
        ),
    }
    for what, (is_so, found, cure) in refusals.items():
        if is_so:
            raise InvalidQuery(f"Expected {what} for to=, got {found}.\nHint: {cure}")
