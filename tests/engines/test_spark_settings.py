"""What is put in place of a Spark session's settings, tried on one of paper; see `conformance/test_settings.py`."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.engines.spark_settings import FIXED, IGNORED, PREFIX, is_ignored, our_settings
from spark_names import RESET

STATIC = "spark.sql.someStaticThing"


class Conf:
    """Settings that have been made."""

    def __init__(self, made: dict[str, str]) -> None:
        self.made = made

    @property
    def getAll(self) -> dict[str, str]:  # noqa: N802 (Spark's name)
        """All of them."""
        return self.made

    def isModifiable(self, name: str) -> bool:  # noqa: N802 (as above)
        """Whether one can be made now."""
        return name != STATIC

    def set(self, name: str, value: str) -> None:
        """Makes one."""
        assert self.isModifiable(name)
        self.made[name] = value

    def unset(self, name: str) -> None:
        """Takes one back."""
        assert self.isModifiable(name)
        del self.made[name]


class Interrupted(Conf):
    """The same; one change is cut by an interrupt, so many changes from when `left` is set."""

    left = -1

    def _count(self) -> None:
        self.left -= 1
        if self.left == -1:
            raise KeyboardInterrupt

    def set(self, name: str, value: str) -> None:
        """Makes one."""
        if self.left >= 0:
            self._count()
        super().set(name, value)

    def unset(self, name: str) -> None:
        """Takes one back."""
        if self.left >= 0:
            self._count()
        super().unset(name)


CURATORS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    "spark.sql.notYetInvented": "true",
    "spark.sql.shuffle.partitions": "7",
    "spark.executor.memory": "1g",
    STATIC: "x",
}


def test_what_is_not_known_is_taken_back() -> None:
    conf: Any = Conf(dict(CURATORS))
    with our_settings(SimpleNamespace(conf=conf)):
        assert {name: conf.made.get(name) for name in FIXED} == FIXED
        left = {name: value for name, value in conf.made.items() if name not in FIXED}
        assert left == {"spark.sql.shuffle.partitions": "7", "spark.executor.memory": "1g", STATIC: "x"}
    assert conf.made == CURATORS


@pytest.mark.parametrize("name", ["spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles"])
def test_no_row_is_passed_over(name: str) -> None:
    """Where Spark may pass over what it cannot read, one row hides everybody who comes after it in its file."""
    conf: Any = Conf({name: "true"})
    with our_settings(SimpleNamespace(conf=conf)):
        assert conf.made[name] == "false"
    assert conf.made == {name: "true"}


def test_settings_come_back_after_a_failure() -> None:
    conf = Conf(dict(CURATORS))
    with pytest.raises(ZeroDivisionError), our_settings(SimpleNamespace(conf=conf)):
        raise ZeroDivisionError
    assert conf.made == CURATORS


@pytest.mark.parametrize("place", range(8))
def test_settings_are_taken_back_through_interrupts(place: int) -> None:
    """The curator's settings are theirs again, whenever Ctrl-C falls while they are restored."""
    conf = Interrupted(dict(CURATORS))
    with pytest.raises(KeyboardInterrupt), our_settings(SimpleNamespace(conf=conf)):
        conf.left = place
    assert conf.made == CURATORS


def test_a_release_fails_for_no_length_of_time() -> None:
    """Which rows could make it take: without adaptive plans, Spark waits for what it broadcasts, for some time only."""
    conf: Any = Conf({"spark.sql.broadcastTimeout": "1"})
    with our_settings(SimpleNamespace(conf=conf)):
        assert conf.made["spark.sql.broadcastTimeout"] == "-1"
    assert conf.made == {"spark.sql.broadcastTimeout": "1"}


def test_what_is_let_be_is_not_what_is_meant() -> None:
    starts = [start for reason in IGNORED.values() for start in reason]
    assert len(set(starts)) == len(starts)
    for start, meant in itertools.product(starts, RESET):
        assert not meant.startswith(start), (start, meant)
    assert not [name for name in FIXED if is_ignored(name)]
    assert all(name.startswith(PREFIX) for name in FIXED)


@pytest.mark.parametrize(
    "name",
    [
        "parquet.filterPushdown",
        "orc.filterPushdown",
        "inMemoryColumnarStorage.partitionPruning",
        "sources.bucketing.enabled",
    ],
)
@pytest.mark.parametrize("made", [[], ["true"]])
def test_what_is_stated_of_rows_decides_nothing(name: str, made: list[str]) -> None:
    """Statistics without NaN hide it until another row is there; of wrong buckets, one unit counts twice."""
    found = {f"spark.sql.{name}": value for value in made}
    conf: Any = Conf(dict(found))
    with our_settings(SimpleNamespace(conf=conf)):
        assert conf.made[f"spark.sql.{name}"] == "false"
    assert conf.made == found


@pytest.mark.parametrize("size", ["0", "-1"])
@pytest.mark.parametrize(
    "name",
    [
        "execution.arrow.maxRecordsPerBatch",
        "execution.rangeExchange.sampleSizePerPartition",
        "execution.pandas.udf.buffer.size",
        "files.maxPartitionBytes",
        "files.openCostInBytes",
        "parquet.columnarReaderBatchSize",
        "orc.columnarReaderBatchSize",
    ],
)
def test_no_answer_fails_by_the_size_of_its_parts(name: str, size: str) -> None:
    """With sizes that Spark takes, each answer failed after its charge or was of no rows; see `conformance`."""
    conf: Any = Conf({f"spark.sql.{name}": size})
    with our_settings(SimpleNamespace(conf=conf)):
        assert int(conf.made[f"spark.sql.{name}"].removesuffix("MB")) > 0
    assert conf.made == {f"spark.sql.{name}": size}
