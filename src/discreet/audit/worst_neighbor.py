"""Searches for a worse neighbor: changes one thing at a time in the worst one so far, and keeps improvements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from discreet.audit.neighbor_tables import Neighbor, with_value
from discreet.testing.scripted_words import splitmix

FACTORS = (-1, 0, 0.5, 2, 10, 1000)
LARGEST = 10_000


def search_worst_neighbor(
    table: pa.Table,
    known: Sequence[Neighbor],
    unit: Sequence[str],
    badness: Callable[[Neighbor], float],
    tries: int,
) -> list[Neighbor]:
    """The neighbors found in so many tries, each worse than the one before; none if no neighbor was worse.

    Only the rows of the one unit that was added are changed, so all are neighbors of the table.

    >>> table = pa.table({"person": [1], "x": [1.0]})
    >>> start = Neighbor(words="with one more", data=pa.table({"person": [1, 2], "x": [1.0, 1.0]}))
    >>> [worst] = search_worst_neighbor(table, [start], ["person"], lambda one: abs(one.data["x"][1].as_py()), 12)[-1:]
    >>> worst.data["x"][1].as_py() > 100
    True
    """
    added = [one for one in known if one.data.num_rows > table.num_rows]
    if not added or not tries:
        return []
    scored = sorted(((badness(one), i) for i, one in enumerate(added)), reverse=True)
    best, current = scored[0][0], added[scored[0][1]]
    result: list[Neighbor] = []
    words = splitmix(0)
    for _ in range(tries):
        moves = list(_moves(current, table.num_rows, unit))
        if not moves:
            break
        candidate = moves[int(words(1)[0] % len(moves))]
        score = badness(candidate)
        if score > best:
            best, current = score, candidate
            result.append(candidate)
    return result


def _moves(one: Neighbor, fixed: int, unit: Sequence[str]) -> Iterator[Neighbor]:
    """The same neighbor with one thing changed about the rows that were added."""
    base, rows = one.data.slice(0, fixed), one.data.slice(fixed)
    if unit and rows.num_rows * 2 < LARGEST:
        yield Neighbor(words=f"{one.words}, twice as many rows", data=pa.concat_tables([base, rows, rows]))
    for name in rows.column_names:
        kind = rows[name].type
        if name in unit or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            continue
        value = pc.max(rows[name]).as_py() or 1
        for factor in FACTORS:
            scaled = value * factor
            changed = with_value(rows, name, float(scaled) if pa.types.is_floating(kind) else int(scaled))
            if changed is not None:
                words = f"{one.words}, {name}={scaled:g}"
                yield Neighbor(words=words, data=pa.concat_tables([base, changed]))
