"""Attacks every public mechanism, aggregate and verb at length, and writes what was found as JSON and as a page.

Run it with `make audit`; it takes about half an hour on two cores. `--runs 2000` is a quick look. The pairs of inputs
are those of scripts/attacks.py. It ends with 1 if a violation was found.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import discreet as dp
from attacks import AGGREGATES, PATTERNS, PEOPLE, VERBS, Ask, answered, attacks
from discreet.audit import Report, exact, replay, sampled

RUNS = 50_000
LEAST_RUNS = 1000
TRIES = 25
"""Neighbors that the search makes beside the known ones, for each question."""
WEAK = 0.6
"""An attack that proves less of epsilon has little power, or the mechanism adds more noise than it is asked for."""
FOLDER = Path("build", "audit")

Task = tuple[str, str, int]
"""The kind of an attack, its name, and how many runs."""


def tasks(runs: int) -> list[Task]:
    """All attacks, the slow ones first."""
    samples = [("sampled", f"{one.mechanism}: {one.words}", max(LEAST_RUNS, runs // one.cost)) for one in attacks()]
    questions = [("replayed", name, TRIES) for name in questions_by_name()]
    choices = [("enumerated", f"{kind}: {words}", 0) for kind in CHOOSING for words in PATTERNS]
    return [*samples, *questions, *choices]


CHOOSING = ("Exponential", "PermuteAndFlip", "NoisyMax")


def questions_by_name() -> dict[str, Ask]:
    """Aggregates and verbs under one name each."""
    return {f"aggregate {name}": ask for name, ask in AGGREGATES.items()} | {
        f"verb {name}": ask for name, ask in VERBS.items()
    }


def tried(task: Task) -> tuple[Task, float, dict[str, Any]]:
    """Runs one attack; returns how long it took, and its report."""
    began = time.monotonic()
    report = {"sampled": by_samples, "replayed": by_replay, "enumerated": by_enumeration}[task[0]](task)
    return task, time.monotonic() - began, report.to_dict() | {"ok": report.ok}


def by_samples(task: Task) -> Report:
    """A lower bound on epsilon from many runs, where 1 is claimed."""
    [attack] = [one for one in attacks() if f"{one.mechanism}: {one.words}" == task[1]]
    return sampled(attack.make(1.0), attack.first, attack.second, epsilon=1, delta=attack.delta, runs=task[2])


def by_replay(task: Task) -> Report:
    """A question on all neighbors of its table, and on those that a search finds."""
    ask = questions_by_name()[task[1]]
    return replay(lambda rows: answered(ask, rows), PEOPLE, unit="person", epsilon=1, tries=task[2])


def by_enumeration(task: Task) -> Report:
    """The exact probabilities of all choices."""
    kind, words = task[1].split(": ")
    rule = getattr(dp, kind)(sensitivity=1, epsilon=1)
    first, second = PATTERNS[words]
    return exact(rule.probabilities(first), rule.probabilities(second), epsilon=1, name=task[1])


def measured(kind: str, report: dict[str, Any]) -> str:
    """What an attack came to, in a few words."""
    rows = report["measured"]
    if kind == "sampled":
        best = max((row["epsilon at least"] for row in rows), default=float("-inf"))
        return f"epsilon at least {best:.3f}" + ("" if best >= WEAK else " (little power)")
    if kind == "replayed":
        used = [row["moved at most"] / row["stated sensitivity"] for row in rows if row["stated sensitivity"] != "none"]
        return f"moved by {max(used, default=0):.0%} of the sensitivity, {report['tried']['neighbors']} neighbors"
    deltas = [row["delta"] for row in rows if row["epsilon"] == 1]
    return f"delta {max(deltas):.3g} at epsilon 1"


def page(found: Sequence[tuple[Task, float, dict[str, Any]]], facts: dict[str, Any]) -> str:
    """The report for readers."""
    faults = [(task, report) for task, _, report in found if not report["ok"]]
    lines = [
        "# Audit of discreet",
        "",
        f"{len(found)} attacks in {facts['minutes']:.0f} minutes; "
        + (f"**{len(faults)} found a violation.**" if faults else "none found a violation. That is no proof."),
        "",
        "Everything is attacked at epsilon 1. *Sampled*: a mechanism runs often on two inputs that one person could",
        "exchange, and the outcomes prove how large epsilon is at least, with a chance of one in a million for a",
        "false alarm; near 1 the attack uses all that is allowed, above 1 the claim is broken. *Replayed*: a question",
        "is asked of a table and of its worst neighbors with the same noise: how far do its exact totals move, and",
        "does anything else differ? *Enumerated*: delta from all probabilities.",
        "",
    ]
    for task, report in faults:
        lines += [f"## Violation: {task[1]}", "", *(f"- {one['message']}" for one in report["findings"]), ""]
    for kind in ("sampled", "replayed", "enumerated"):
        lines += [f"## {kind.capitalize()}", "", "| what | runs | outcome | seconds |", "|---|---|---|---|"]
        for task, seconds, report in found:
            if task[0] == kind:
                runs = f"{task[2]:,}" if kind == "sampled" else ""
                lines.append(f"| {task[1]} | {runs} | {measured(kind, report)} | {seconds:.0f} |")
        lines.append("")
    blind = dict.fromkeys(one for _, _, report in found for one in report["blind"])
    lines += ["## What could not have been seen", "", *(f"- {one}" for one in blind), ""]
    lines += ["## Where it ran", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]
    return "\n".join(lines)


def main() -> None:
    """Runs all attacks, two at a time, and writes both reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=RUNS, help="of a quick mechanism, on each input")
    parser.add_argument("--jobs", type=int, default=2, help="how many attacks at a time")
    parser.add_argument("--only", default="", help="only attacks whose name has this text")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the reports are written")
    arguments = parser.parse_args()
    began = time.monotonic()
    chosen = [task for task in tasks(arguments.runs) if arguments.only in task[1]]
    found = []
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for outcome in pool.map(tried, chosen):
            found.append(outcome)
            task, seconds, report = outcome
            verdict = "ok" if report["ok"] else "VIOLATION"
            print(f"{task[0]:10} {task[1]:45} {verdict:9} {measured(task[0], report)}  {seconds:.0f} s", flush=True)
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "minutes": (time.monotonic() - began) / 60,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        **{name: version(name) for name in ("discreet", "numpy", "duckdb", "ibis-framework")},
    }
    arguments.folder.mkdir(parents=True, exist_ok=True)
    attacks_made = [{"kind": t[0], "name": t[1], "runs": t[2], "seconds": s, **r} for t, s, r in found]
    text = json.dumps({"facts": facts, "attacks": attacks_made}, indent=1, default=str)
    (arguments.folder / "report.json").write_text(text)
    (arguments.folder / "report.md").write_text(page(found, facts))
    violations = sum(not report["ok"] for _, _, report in found)
    print(f"{len(found)} attacks, {violations} violation(s): {arguments.folder / 'report.md'}")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
