"""The folder where a curator keeps the exact totals of steps: records that follow each other, each written once.

Claim
    All processes that read the records of a series see the beginning of one and the same sequence, whenever any of them
    was killed. A record is as it was written, of this series and behind the record that it was written behind, and so
    is the file of units that the last one names; anything else is refused in words that hold nothing of it but the
    number of a file. Of two copies of a folder that went on apart, no record of one has the mark of one of the other.
Requires
    A local file system with hard links. That nobody rewrites files together with their sums: whoever can do so has the
    exact totals.
Relies on
    `link` gives a name to a complete file, and fails where there is one of that name. SHA-256.
Proof
    A file is written aside, flushed, and gets its name by `link`: a name stands for one content, for good, or for none.
    Records are numbered without a gap, and number n is written by somebody who has read number n - 1. The units of
    record n are flushed before it. Each record has 128 random bits as its mark, and names the mark of the one before,
    so that a mark stands for all records up to its own; it says nothing of what they hold. Files of units are removed
    once the record at their place, or a later one, is there and names another one; who comes to link that record
    afterwards fails, and who still wants to read it finds a later record.
Rounding
    None: totals are whole numbers, each in `series_record.BYTES`.
Source
    As `ledger.file_location`.
Mutant
    last-record-stays: who comes later replaces a record; killed by test_a_record_is_written_once.
    records-unsummed: a record is believed, whatever it says; killed by test_what_was_edited_is_refused.
    records-of-any-copy: a record is taken behind any other; killed by test_what_was_edited_is_refused.
    records-of-any-series: a record of another series is taken; killed by test_what_was_edited_is_refused.
    sums-are-shown: refusals have the sum of the units; killed by test_refusals_hold_nothing_of_the_units.
    units-unsummed: a file of units is believed; killed by test_what_was_edited_is_refused.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp

import pyarrow as pa

from discreet.errors import InvalidParameter, expected
from discreet.ledger.file_location import flush_folder
from discreet.noise.entropy import random_key
from discreet.series.series_record import Point

SUM = 32
"""The bytes of a SHA-256."""
RECORDS, UNITS = ".steps", ".units"
UNREADABLE = "a file that cannot be read"
CURE = (
    "restore the folder from a copy of it. While the table has the rows of all steps as they were, the next step can "
    "also be published without keep_steps, and others with an empty folder then."
)


@dataclass(frozen=True, eq=False)
class StepRecord:
    """Some steps: their exact totals as a `Point` holds numbers, and the file of the units of all steps so far."""

    totals: Point
    units: str
    """Its name; empty where no units are told apart."""
    mark: str
    """What tells it, and all before it, from records of other copies of the folder."""


class StepFiles:
    """The records of one series in a folder of the curator's."""

    def __init__(self, folder: Path, series: str) -> None:
        self._place, self._series = folder / series[:SUM], series
        self._read: list[StepRecord] = []

    def records(self) -> list[StepRecord]:
        """All records in their order; refuses those that are not what was written."""
        numbers = sorted(path.name for path in self._place.glob(f"*{RECORDS}") if not path.name.startswith("."))
        for place, name in enumerate(numbers, start=1):
            if name != _name(place):
                raise _refused(self._place / _name(place), "none")
            if place > len(self._read):
                self._read.append(self._record(place))
        if len(numbers) < len(self._read):
            raise _refused(self._place, "fewer than before")
        return list(self._read)

    def _record(self, place: int) -> StepRecord:
        path = self._place / _name(place)
        try:
            held = path.read_bytes()
        except OSError:
            raise _refused(path, UNREADABLE) from None
        if sha256(held[SUM:]).digest() != held[:SUM]:
            raise _refused(path, "a file that was cut or changed")
        size = int.from_bytes(held[SUM : SUM + 8])
        facts = json.loads(held[SUM + 8 : SUM + 8 + size])
        totals = Point.of(held[SUM + 8 + size :])
        first = self._read[-1].totals.end if self._read else 0
        told = facts["series"], facts["place"], facts.get("after"), totals.first
        if told != (self._series, place, self._mark_before(place), first):
            raise _refused(path, "a file of another series, of another copy or of another place")
        return StepRecord(totals, facts["units"], facts["mark"])

    def _mark_before(self, place: int) -> str:
        return self._read[place - 2].mark if place > 1 else ""

    def mark_of(self, step: int) -> str:
        """The mark of the record that has a step, of those that were read; empty where none has."""
        return next((one.mark for one in self._read if one.totals.first <= step < one.totals.end), "")

    def units(self) -> pa.Table | None:
        """The units of all steps so far; None where there are no steps yet, or none are told apart.

        Raises:
            FileNotFoundError: somebody has written a later record meanwhile.
        """
        if not self._read or not self._read[-1].units:
            return None
        import pyarrow.parquet as pq

        path = self._place / self._read[-1].units
        try:
            held = path.read_bytes()
        except FileNotFoundError:
            known = len(self._read)
            if len(self.records()) > known:
                raise
            raise _refused(path, "none") from None
        except OSError:
            raise _refused(path, UNREADABLE) from None
        if sha256(held).hexdigest() != path.stem.partition("-")[2]:
            raise _refused(path, "a file that was cut or changed")
        return pq.read_table(io.BytesIO(held))

    def add(self, place: int, totals: Point, units: pa.Table | None) -> bool:
        """Writes the record of a place, if nobody was faster; what somebody else wrote stays."""
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = ""
        if units is not None:
            import pyarrow.parquet as pq

            sink = io.BytesIO()
            pq.write_table(units, sink)
            name = f"{place:08d}-{sha256(sink.getvalue()).hexdigest()}{UNITS}"
            self._put(name, sink.getvalue())
        marks = {"mark": random_key()[:16].hex(), "after": self._mark_before(place)}
        facts = json.dumps({"format": 1, "series": self._series, "place": place, "units": name, **marks}).encode()
        body = len(facts).to_bytes(8) + facts + totals.to_bytes()
        first = self._put(_name(place), sha256(body).digest() + body)
        self._clear(place)
        return first

    def _put(self, name: str, content: bytes) -> bool:
        """Gives a content a name, for good; False where the name has one."""
        handle, aside = mkstemp(prefix=f".{name[:8]}-", dir=self._place)  # 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(aside, self._place / name)
        except (FileExistsError, FileNotFoundError):  # not found: whoever was faster has cleared what was written aside
            return False
        finally:
            Path(aside).unlink(missing_ok=True)
        flush_folder(self._place)
        return True

    def _clear(self, place: int) -> None:
        """Removes what no record needs, and nobody will give a name: of this place, or of an earlier one."""
        needed = {record.units for record in self.records()[-1:]}
        for path in (*self._place.glob(f"*{UNITS}"), *self._place.glob(".*-*")):
            number = path.name.removeprefix(".")[:8]
            if number.isdigit() and int(number) <= place and path.name not in needed:
                path.unlink(missing_ok=True)


def _name(place: int) -> str:
    return f"{place:08d}{RECORDS}"


def _refused(path: Path, got: str) -> InvalidParameter:
    name = path.name.partition("-")[0].removesuffix(path.suffix) + path.suffix  # what follows is a sum of private units
    return InvalidParameter(expected(f"the steps that were kept in {name}", "keep_steps", got, CURE))
