"""Five tasks in discreet and five other libraries: what each writes, how far off it is, how long.

``python benchmarks/five_tasks.py --python opendp=PATH --python tumult=PATH ...`` runs `rivals/tasks_NAME.py` with the
given Python for each rival, since their requirements clash, and discreet with the running one; who is not named is left
out. ``--page`` writes the figures and the code into docs/coming-from.md, so that what is shown is what ran.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
from rivals.tasks import TASKS

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "coming-from.md"
LIBRARIES = {
    "discreet": "discreet",
    "opendp": "OpenDP",
    "tumult": "Tumult Analytics",
    "smartnoise": "SmartNoise SQL",
    "diffprivlib": "diffprivlib",
    "pipelinedp": "PipelineDP",
}
INSTALL = {
    "opendp": "opendp[polars] pyarrow",
    "tumult": "tmlt.analytics",
    "smartnoise": "smartnoise-sql pyarrow",
    "diffprivlib": "diffprivlib pyarrow pandas 'scikit-learn<1.8'",
    "pipelinedp": "pipeline-dp pyarrow",
}
COPIES = 50
"""How often the bundled table is repeated, with new persons each time: a million rows."""
PATIENCE = 300
"""Seconds after which a task, with all its runs, is given up."""
BEGIN, END = "<!-- written by benchmarks/five_tasks.py -->", "<!-- end of what is written -->"

TRUTHS = {
    "rows": "SELECT plan, count(*) FROM people GROUP BY plan",
    "visits": "SELECT plan, avg(least(visits, 50)) FROM people GROUP BY plan",
    "spending": "SELECT plan, avg(least(spending, 5000)) FROM people GROUP BY plan",
    "median": "SELECT 'all', quantile_cont(least(spending, 5000), 0.5) FROM people",
    "levels": "SELECT level, count(*) FROM people GROUP BY level",
}


def write_table(path: Path, copies: int) -> dict[str, dict[str, float]]:
    """Writes the table that all are asked of, and returns the exact answers."""
    source = files("discreet.data") / "rand_hie.parquet"
    connection = duckdb.connect()
    connection.sql(
        f"CREATE TABLE people AS SELECT person * {copies} + copy AS person, plan, visits, spending, "  # noqa: S608 - ours
        f"CAST(floor(spending) AS BIGINT) AS level FROM '{source}', range({copies}) AS copies(copy)"
    )
    connection.sql(f"COPY people TO '{path}'")
    return {
        task: {str(key): float(value) for key, value in connection.sql(sql).fetchall()} for task, sql in TRUTHS.items()
    }


def told(python: str, name: str, path: Path, task: str, runs: int, *, patience: float) -> dict[str, Any]:
    """What a library answers to one task, in a process of its own."""
    words = [python, str(HERE / "rivals" / "tasks.py"), name, str(path), task, str(runs)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=patience)  # noqa: S603 - ours
    except subprocess.TimeoutExpired:
        return {"outcome": "late", "patience": patience}
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return {"outcome": "failed"}
    answered: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answered


def error(answers: list[dict[str, float]], truth: dict[str, float]) -> tuple[float, float]:
    """Root mean square error over all groups of all runs, and the share of groups that were there."""
    misses = [answer[key] - truth[key] for answer in answers for key in answer.keys() & truth.keys()]
    mean = math.sqrt(statistics.fmean(miss * miss for miss in misses)) if misses else math.nan
    return mean, len(misses) / (len(truth) * len(answers))


def cell(answered: dict[str, Any], truth: dict[str, float]) -> str:
    """One library's error, and its median time."""
    match answered["outcome"]:
        case "absent":
            return "cannot"
        case "late":
            return f"not in {answered['patience']:g} s"
        case "failed":
            return "fails"
    far, share = error(answered["answers"], truth)
    found = "" if share == 1 else f", {100 * share:.0f} % of the groups"
    return f"{far:.2g}{found}; {statistics.median(answered['seconds']):.2g} s"


def figures(pythons: dict[str, str], copies: int, runs: int, patience: float) -> str:
    """The table of errors and times, as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        truths = write_table(path, copies)
        columns: dict[str, list[str]] = {}
        for name, python in pythons.items():
            version, cells = "", []
            for task in TASKS:
                outcome = told(python, name, path, task, runs, patience=patience)
                version = f" {outcome['version']}" if "version" in outcome else version
                cells.append(cell(outcome, truths[task]))
                print(f"{LIBRARIES[name]}: {task}: {cells[-1]}", file=sys.stderr, flush=True)
            columns[LIBRARIES[name] + version] = cells
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {task} | {' | '.join(cells)} |" for task, *cells in zip(TASKS, *columns.values(), strict=True)]
    machine = f"{date.today()}, {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"  # noqa: DTZ011 - a label
    rows = f"{len(truths['levels']):,} whole amounts"
    return "\n".join([*lines, "", f"{machine}; medians of {runs} runs after a first one; {rows} in `levels`.", ""])


def source(name: str, task: str) -> str | None:
    """The text of a library's function for a task; a function that helps all of them goes before the first."""
    text = (HERE / "rivals" / f"tasks_{name}.py").read_text(encoding="utf-8")
    functions = {
        node.name: ast.get_source_segment(text, node) or ""
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    if task not in functions:
        return None
    helping = [of for other, of in functions.items() if other not in TASKS] if task == next(iter(TASKS)) else []
    return "\n\n\n".join([*helping, functions[task]])


def code() -> str:
    """All functions, task by task, as Markdown; those of discreet are run with the documents."""
    parts = []
    for task, question in TASKS.items():
        parts += [f"## {question}", ""]
        for name, title in LIBRARIES.items():
            text = source(name, task)
            if text is None:
                parts += [f"{title} cannot.", ""]
            elif name == "discreet":
                parts += ["```python", text, "", f'print({task}("people.parquet"))', "```", ""]
            else:
                parts += ["<details>", f"<summary>{title}</summary>", "", "```py", text, "```", "", "</details>", ""]
    return "\n".join(parts)


def page(text: str, table: str | None = None) -> str:
    """A page with the code put in between the marks, and the table, or the one that it had."""
    before, rest = text.split(BEGIN)
    written, after = rest.split(END)
    if table is None:
        table = written.split("## ")[0].strip("\n") + "\n"
    return f"{before}{BEGIN}\n\n{table}\n{code()}\n{END}{after}"


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="a rival, and its Python")
    parser.add_argument("--copies", type=int, default=COPIES)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds for all runs of a task")
    parser.add_argument("--page", action="store_true", help="write figures and code into docs/coming-from.md")
    parser.add_argument("--code", action="store_true", help="write the code alone, and keep the figures")
    given = parser.parse_args()
    if given.code:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    pythons = {"discreet": sys.executable, **dict(entry.split("=", 1) for entry in given.python)}
    for name, packages in INSTALL.items():
        if name not in pythons:
            print(
                f"{LIBRARIES[name]} is left out: pip install {packages}, in an environment of its own", file=sys.stderr
            )
    table = figures(pythons, given.copies, given.runs, given.patience)
    print(table)
    if given.page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main()
