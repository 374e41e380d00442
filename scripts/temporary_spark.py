"""A Spark session of one's own, in local mode on two threads, for as long as a test or a benchmark needs it."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}
BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"}
"""For many small questions: Java compiles quickly rather than well, which halves the time of the tests."""
OLDEST_JAVA = 17


def java() -> int | None:
    """The version of the Java that would run Spark; None without any."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    if program is None:
        return None
    done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 (Spark would run it too)
    version = done.stderr.partition('"')[2].partition('"')[0].split(".")[0].split("-")[0]
    return int(version) if version.isdecimal() else None


@contextmanager
def temporary_spark(settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Starts a session with its files in a folder of its own; stops it and removes the folder."""
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.ERROR)
    with TemporaryDirectory(prefix="discreet-spark-", ignore_cleanup_errors=True) as folder:
        places = {"spark.sql.warehouse.dir": folder, "spark.local.dir": folder}
        builder = SparkSession.builder.master("local[2]").appName("discreet")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # which has what adds noise
        for name, value in {**SETTINGS, **places, **(settings or {})}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
