"""A Spark session of one's own, in local mode on two threads or on a cluster, for as long as it is needed."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
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
DEPLOY = "org.apache.spark.deploy"
PATIENCE = 60
"""Seconds that a server has to start."""


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
def temporary_cluster(workers: int = 2) -> Iterator[dict[str, str]]:
    """Starts a master and workers, each with two cores on an address of its own; gives what a session needs to join.

    In Spark's own `local-cluster` all workers are one host, and a task is never speculated on a host where it runs.
    """
    import pyspark

    program = f"{Path(pyspark.__file__).parent}/bin/spark-class"
    options = next(iter(BRIEF.values()))
    started: list[subprocess.Popen[bytes]] = []
    with TemporaryDirectory(prefix="discreet-cluster-", ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "SPARK_DAEMON_JAVA_OPTS": options, "SPARK_DAEMON_MEMORY": "256m"}
        environment.update(SPARK_HOME=str(Path(pyspark.__file__).parent), SPARK_LOCAL_DIRS=folder)

        def start(name: str, said: str, *words: str) -> str:
            log = Path(folder, f"{len(started)}.log")
            with log.open("wb") as file:
                command = [program, f"{DEPLOY}.{name}", "--port", "0", "--webui-port", "0", *words]
                started.append(subprocess.Popen(command, env=environment, stdout=file, stderr=file))  # noqa: S603 (ours)
            for _ in range(10 * PATIENCE):
                if found := re.search(said, log.read_text()):
                    return found[1]
                time.sleep(0.1)
            raise RuntimeError(f"{name} did not start: {log.read_text()[-2000:]}")

        try:
            master = start("master.Master", r"Starting Spark master at (\S+)", "--host", "127.0.0.1")
            for number in range(1, workers + 1):
                words = ("--host", f"127.0.0.{number}", "--cores", "2", "--memory", "1g", "-d", folder, master)
                start("worker.Worker", r"(Successfully registered) with master", *words)
            yield {
                "spark.master": master,
                "spark.executor.extraJavaOptions": options,
                "spark.executor.memory": "512m",
                "spark.scheduler.minRegisteredResourcesRatio": "1",
                "spark.cores.max": str(2 * workers),
            }
        finally:
            for process in started[::-1]:
                process.terminate()
            for process in started:
                process.wait()


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
