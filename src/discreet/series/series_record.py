"""What a ledger keeps of a series: how it was opened, and what was published, in an order that cannot change.

Claim
    A series is opened once under its name, with one charge, and everything that its later releases need is in the
    answer of that charge. What is published of a step is drawn by one process, once, and is on record before anybody
    sees it; it is the same bits for whoever asks later.
Requires
    A ledger that keeps its claim; one name for one series.
Relies on
    `ledger.ledger`: `opened` records the charge together with the opening, or neither; `published` keeps what came
    first at a place. `transaction.once`: threads that open the same wait for each other.
Proof
    The opening holds public facts alone: it is written before a row is read. `published` returns what is on record, and
    only that is shown: what another process drew for the same steps is gone with it. Its length depends on the number
    of steps, groups and blocks alone, each number in `BYTES`; so nothing that is done with a draw can fail for what was
    drawn, and a draw that was lost before it was recorded has shown nothing.
    *Refusals* come from the opening, the declaration, the versions on record and what was asked: no row has a part.
Rounding
    Numbers of more than 255 bits are the largest that there is.
Source
    Append-only records, as `ledger.hash_chain`.
Mutant
    opened-as-you-like: a series goes on with other windows; killed by test_a_series_stays_what_it_was_opened_as.
    versions-go-back: an older version of the table is taken; killed by test_versions_never_go_back.
    openings-alike: two ledgers hold one and the same opening; killed by test_a_folder_for_several_ledgers.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.release_key import hashed
from discreet.errors import InvalidQuery, LedgerError, expected, printable
from discreet.exact.written_amounts import stored_amount
from discreet.ledger.hash_chain import DAMAGED
from discreet.noise.entropy import random_key
from discreet.planning.planner import stated_price
from discreet.series.open_ended_strategy import OpenEndedStrategy
from discreet.series.participation import Participation
from discreet.series.series_strategy import SeriesStrategy
from discreet.series.step_windows import StepWindows, Window
from discreet.series.stream_strategy import StreamStrategy

FORMAT = 2
FORMATS = (1, FORMAT)
"""In the first one no steps were apart, and units of several steps were priced by partners alone (`participation`)."""
BYTES = 32
LARGEST = 2 ** (8 * BYTES - 1) - 1


def key_of(table: str, name: str, scope: str = "") -> str:
    """The key of a series in a ledger: by its table and its name, whatever else was stated of it; of those who share no
    answers, by whose it is, so that there is one opening of a key.
    """
    return hashed(["series", FORMATS[0], table, name, *([scope] if scope else [])])


def price_texts(prices: Mapping[str, Any]) -> dict[str, str]:
    """A price as an opening keeps it; refuses what is none."""
    stated = stated_price(**prices)
    if stated.rho is not None:
        return {"rho": str(stated.rho)}
    return {"epsilon": str(stated.epsilon), "delta": str(stated.delta)}


@dataclass(frozen=True, eq=False)
class Opening:
    """What a series was opened with."""

    asked: Mapping[str, Any]
    """All that a later release has to state again."""
    receipt: Mapping[str, Any]
    strategy: SeriesStrategy

    def to_bytes(self) -> bytes:
        """As the ledger keeps it; never the same twice, so that steps are kept for one ledger (`kept_step_totals`)."""
        windows = self.strategy.windows
        named = [[name, isinstance(name, int)] for name in windows.first]
        facts = {
            "format": FORMAT,
            "asked": self.asked,
            "receipt": self.receipt,
            "windows": named,
            "participation": [self.strategy.participation.steps, self.strategy.participation.apart],
            "family": self.strategy.family,
            "mark": random_key().hex(),
        }
        arrays: dict[str, Any] = {"facts": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)}
        if isinstance(self.strategy, OpenEndedStrategy):
            arrays.update(_few(self.strategy))
        elif isinstance(self.strategy, StreamStrategy):
            arrays["matrix"] = self.strategy.matrix[np.tril_indices(windows.steps)].astype(np.int32)
            for place, name in enumerate(windows.first):
                arrays[f"first{place}"] = windows.first[name]
                arrays[f"deviations{place}"] = self.strategy.deviations[name]
                arrays[f"roundings{place}"] = self.strategy.roundings[name]
        target = io.BytesIO()
        np.savez_compressed(target, **arrays)
        return target.getvalue()

    @classmethod
    def of(cls, stored: bytes) -> Opening:
        """What `to_bytes` wrote."""
        try:
            with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
                found = {name: arrays[name] for name in arrays.files}
            facts = json.loads(found["facts"].tobytes())
        except (EOFError, KeyError, OSError, ValueError):
            raise LedgerError(expected("a series under its name", "answer", "another one", DAMAGED)) from None
        if facts["format"] not in FORMATS:
            cure = "upgrade discreet: a newer version opened this series."
            raise LedgerError(expected(f"a series of format {FORMAT}", "format", facts["format"], cure))
        names: list[Window] = [name for name, _ in facts["windows"]]
        if "column" in found:
            found = _many(found, len(names))
        first = {name: found[f"first{place}"] for place, name in enumerate(names)}
        steps = len(next(iter(first.values())))
        told = StepWindows(steps, first), Participation(*facts["participation"]), facts["family"]
        strategy = _strategy(found, *told)
        for kind in ("deviations", "roundings"):  # the same bits wherever they are read
            own = {name: found[f"{kind}{place}"] for place, name in enumerate(names)}
            strategy.__dict__[kind] = own
        if facts["format"] == 1 and isinstance(strategy, StreamStrategy):
            facts["asked"].setdefault("apart", 1)
            strategy.__dict__["moved"] = strategy.participation.squared(strategy.gram, ranked=False)
        return cls(facts["asked"], facts["receipt"], strategy)

    @property
    def price(self) -> dict[str, Fraction]:
        """The price that it was opened at, as a plan takes it."""
        return {name: stored_amount(amount) for name, amount in self.asked["price"].items()}

    def facts_of(self, points: Sequence[Point]) -> dict[str, Any]:
        """The receipt of some points: private, if all noise in them was."""
        private = bool(self.receipt["private"]) and all(point.private for point in points)
        return {**self.receipt, "private": private}

    def check(self, asked: Mapping[str, Any]) -> None:
        """Refuses a release that states anything else than the opening."""
        for name, old in self.asked.items():
            if name in asked and asked[name] != old:
                cure = f"it was opened with {_shown(old)}; state that, or open another series under another name."
                what = f"the {name} that the series was opened with"
                raise InvalidQuery(expected(what, name, printable(_shown(asked[name])), cure))


def _strategy(
    found: Mapping[str, NDArray[Any]], windows: StepWindows, taken: Participation, family: str
) -> SeriesStrategy:
    """The strategy of a column, or of a matrix."""
    if "column" in found:
        return OpenEndedStrategy(windows, found["column"], taken, family)
    matrix = np.zeros((windows.steps, windows.steps), dtype=np.int64)
    matrix[np.tril_indices(windows.steps)] = found["matrix"]
    return StreamStrategy(windows, matrix, taken, family)


def _few(strategy: OpenEndedStrategy) -> dict[str, NDArray[Any]]:
    """The arrays of a million steps, by their changes and by the few values that they have, which compress well."""
    arrays: dict[str, NDArray[Any]] = {"column": np.diff(strategy.column, prepend=0).astype(np.int32)}
    for place, name in enumerate(strategy.windows.first):
        arrays[f"first{place}"] = np.diff(strategy.windows.first[name], prepend=0).astype(np.int32)
        for kind in ("deviations", "roundings"):
            values, places = np.unique(getattr(strategy, kind)[name], return_inverse=True)
            arrays[f"{kind}{place}"], arrays[f"{kind}{place}of"] = values, places.astype(np.int32)
    return arrays


def _many(arrays: Mapping[str, NDArray[Any]], windows: int) -> dict[str, NDArray[Any]]:
    """What `_few` wrote."""
    found = {"column": np.cumsum(arrays["column"], dtype=np.int64)}
    for place in range(windows):
        found[f"first{place}"] = np.cumsum(arrays[f"first{place}"], dtype=np.int64)
        for kind in ("deviations", "roundings"):
            found[f"{kind}{place}"] = arrays[f"{kind}{place}"][arrays[f"{kind}{place}of"]]
    return found


def _shown(fact: Any) -> str:
    text = fact if isinstance(fact, str) else json.dumps(fact)
    return text if len(text) < 120 else f"{text[:117]}..."


@dataclass(frozen=True, eq=False)
class Point:
    """What one release published: some steps, and the noisy numbers of each block, a row a step."""

    first: int
    version: str
    private: bool
    noisy: Sequence[NDArray[Any]]
    kept: str = ""
    """The mark of the record that has its last step, where it was drawn from totals that the curator keeps."""

    @property
    def end(self) -> int:
        """The step behind its last."""
        return self.first + len(self.noisy[0])

    def to_bytes(self) -> bytes:
        """As the ledger keeps it: of a length that follows from the number of steps, groups and blocks alone."""
        shapes = [list(block.shape) for block in self.noisy]
        facts = {"first": self.first, "version": self.version, "private": self.private, "shapes": shapes}
        facts |= {"kept": self.kept} if self.kept else {}
        numbers = (min(max(int(one), -LARGEST), LARGEST) for block in self.noisy for one in block.reshape(-1).tolist())
        header = json.dumps(facts).encode()
        return len(header).to_bytes(8) + header + b"".join(one.to_bytes(BYTES, signed=True) for one in numbers)

    @classmethod
    def of(cls, stored: bytes) -> Point:
        """What `to_bytes` wrote."""
        size = int.from_bytes(stored[:8])
        facts = json.loads(stored[8 : 8 + size])
        held = stored[8 + size :]
        numbers = [int.from_bytes(held[i : i + BYTES], signed=True) for i in range(0, len(held), BYTES)]
        blocks, place = [], 0
        for shape in facts["shapes"]:
            many = int(np.prod(shape))
            blocks.append(np.array(numbers[place : place + many], dtype=object).reshape(shape))
            place += many
        return cls(facts["first"], facts["version"], facts["private"], blocks, facts.get("kept", ""))


def points_of(stored: Sequence[bytes]) -> list[Point]:
    """All that was published, in its order."""
    points = [Point.of(one) for one in stored]
    end = 0
    for point in points:
        if point.first != end:
            raise LedgerError(expected("steps that follow each other", "step", point.first, DAMAGED))
        end = point.end
    return points


def check_version(points: Sequence[Point], version: str) -> None:
    """Refuses a version of the table that is older than the last that was published of."""
    known = list(dict.fromkeys(point.version for point in points))
    last = points[-1].version if points else version
    if version != last and version in known:
        cure = "what was published since is of a later one: give the newest rows, .refreshed(..., version=...)."
        raise InvalidQuery(expected(f"version {last!r} of the table, or a later one", "version", version, cure))
