"""Attacks every public mechanism, aggregate and verb at length, and writes what was found as JSON and as a page.

Run it with `make audit`; it takes about a quarter of an hour on two cores. `--runs 2000` is a quick look. The pairs of
inputs are those of scripts/attacks.py, the parameters those of scripts/searches.py. It ends with 1 if a violation was
found, or if an attack that must come close to the promise no longer does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import discreet as dp
from attacked_questions import DELTAS, PEOPLE, QUESTIONS, answered
from attacks import PATTERNS, attacks
from discreet.audit import Finding, Report, exact, replay, sampled, search
from searches import SEARCHES

RUNS = 50_000
LEAST_RUNS = 1000
TRIES = 25
"""Neighbors that the search makes beside the known ones, for each question."""
POINTS = {"aggregates and verbs": 500, "every mechanism": 60, "Staircase": 50, "KMeans": 200}
"""How many points of parameters are attacked in a search; 400, if it is not named."""
SEARCHED = 5
"""Of a search, each point gets so many times fewer runs."""
TEETH = 0.5
"""What an attack on a pair that uses all of epsilon must prove of it; one that does not would see nothing else."""
ENOUGH = 10_000
"""Runs from which that is demanded."""
FOLDER = Path("build", "audit")
KINDS = {
    "sampled": "A mechanism runs often on two inputs that one unit could exchange. What comes out proves how large "
    "epsilon is at least, with a chance of one in a million for a false alarm; 1 is allowed. On the pairs marked * the "
    f"promise is used up: if less than {TEETH} is proved there, the audit fails, since it would be blind. The others "
    "are inputs that have broken other libraries; they prove less where they are no worst case here, or where delta "
    "covers them.",
    "replayed": "A question is asked of a table and of its worst neighbors, with the same chance each time. Its exact "
    "totals may move by 100% of the sensitivity that the noise is made for, and nothing else may differ: neither "
    "columns, order and types, nor messages, the receipt or the price.",
    "searched": "Parameters are searched for those that come closest to breaking a promise: first every two values of "
    "two parameters together, then changes of what was worst.",
    "enumerated": "Delta at epsilon 1 from all probabilities of a law, in both directions. 0 is allowed.",
}

Task = tuple[str, str, int]
"""The kind of an attack, its name, and how many runs."""


def tasks(runs: int) -> list[Task]:
    """All attacks, the slow ones first."""
    searches = [("searched", name, max(20, POINTS.get(name, 400) * min(runs, RUNS) // RUNS)) for name in SEARCHES]
    questions = [("replayed", name, TRIES) for name in QUESTIONS]
    samples = [("sampled", f"{one.mechanism}: {one.words}", max(LEAST_RUNS, runs // one.cost)) for one in attacks()]
    choices = [("enumerated", f"{kind}: {words}", 0) for kind in CHOOSING for words in PATTERNS]
    return [*searches[::-1], *questions[::-1], *samples[::-1], *choices]


CHOOSING = ("Exponential", "PermuteAndFlip", "NoisyMax")
TIGHT = {f"{one.mechanism}: {one.words}" for one in attacks() if one.tight}


def tried(task: Task) -> tuple[Task, float, dict[str, Any]]:
    """Runs one attack; returns how long a processor worked on it, and its report."""
    began = time.process_time()
    by = {"sampled": by_samples, "replayed": by_replay, "enumerated": by_enumeration, "searched": by_search}
    report = by[task[0]](task)
    return task, time.process_time() - began, report.to_dict() | {"ok": report.ok}


def by_samples(task: Task) -> Report:
    """A lower bound on epsilon from many runs, where 1 is claimed."""
    [attack] = [one for one in attacks() if f"{one.mechanism}: {one.words}" == task[1]]
    report = sampled(attack.make(1.0), attack.first, attack.second, epsilon=1, delta=attack.delta, runs=task[2])
    if task[1] in TIGHT and report.strain < TEETH and task[2] >= ENOUGH:
        message = f"epsilon is at least {report.strain:.3g}, and {TEETH} should show on this pair: the attack is blunt."
        return replace(report, findings=(*report.findings, Finding(kind="power", message=message)))
    return report


def by_search(task: Task) -> Report:
    """The worst of many parameters."""
    make, space = SEARCHES[task[1]]
    return search(make(RUNS // SEARCHED), space, tries=task[2])


def by_replay(task: Task) -> Report:
    """A question on all neighbors of its table, and on those that a search finds."""
    ask, delta = QUESTIONS[task[1]], DELTAS.get(task[1], 0)
    return replay(lambda rows: answered(ask, rows), PEOPLE, unit="person", epsilon=1, delta=delta, tries=task[2])


def by_enumeration(task: Task) -> Report:
    """The exact probabilities of all choices."""
    kind, words = task[1].split(": ")
    rule = getattr(dp, kind)(sensitivity=1, epsilon=1)
    first, second = PATTERNS[words]
    return exact(rule.probabilities(first), rule.probabilities(second), epsilon=1, name=task[1])


def measured(task: Task, report: dict[str, Any]) -> str:
    """What an attack came to, in a few words."""
    rows = report["measured"]
    if task[0] == "sampled":
        best = max((row["epsilon at least"] for row in rows), default=0.0)
        return f"epsilon at least {max(best, 0.0):.3f}" + (" *" if task[1] in TIGHT else "")
    if task[0] == "searched":
        tried, worst = report["tried"], {**rows[0]} if rows else {}
        worst.pop("part of what is allowed", None)
        told = ", ".join(f"{name}={value}" for name, value in worst.items())
        return (
            f"{report['strain']:.0%} of what is allowed with {told}; met {tried['pairs of values met']} pairs of values"
        )
    if task[0] == "replayed":
        return f"moved by {report['strain']:.0%} of the sensitivity, {report['tried']['neighbors']} neighbors"
    deltas = [row["delta"] for row in rows if row["epsilon"] == 1]
    return f"delta {max(deltas):.3g}"


UNITS = {"sampled": "runs on each input", "searched": "points", "replayed": "tries beyond the known", "enumerated": ""}


def page(found: Sequence[tuple[Task, float, dict[str, Any]]], facts: dict[str, Any]) -> str:
    """The report for readers."""
    faults = [(task, report) for task, _, report in found if not report["ok"]]
    verdict = f"**{len(faults)} found a violation.**" if faults else "None found a violation."
    lines = [
        "# What was found when discreet attacked itself",
        "",
        "Differential privacy is a promise about the worst case, so `make audit` looks for it:",
        f"{len(found)} attacks on every public mechanism, aggregate and verb, by the inputs that have broken other",
        f"libraries and by search. {verdict} That proves nothing: the last part says what could not have been seen.",
        "",
    ]
    for task, report in faults:
        told = (f"- {one['message']} {one['neighbor']}".rstrip() for one in report["findings"])
        lines += [f"## Violation: {task[1]}", "", *told, ""]
    for kind, words in KINDS.items():
        of_kind = [one for one in found if one[0][0] == kind]
        if not of_kind:
            continue
        lines += [f"## {kind.capitalize()}", "", words, ""]
        lines += [f"| what | {UNITS[kind]} | outcome | seconds |", "|---|---|---|---|"]
        for task, seconds, report in of_kind:
            amount = f"{task[2]:,}" if task[2] else ""
            lines.append(f"| {task[1]} | {amount} | {measured(task, report)} | {seconds:.0f} |")
        lines.append("")
    blind = dict.fromkeys(one for _, _, report in found for one in report["blind"])
    rare = {one for one in blind if one.startswith("what happens in fewer")}  # each attack says it for its own runs
    unseen = [one for one in blind if one not in rare] + [
        "what happens less often than about once in as many runs as were made"
    ]
    lines += ["## What could not have been seen", "", *(f"- {one}" for one in unseen), ""]
    lines += ["## Where it ran", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]
    return "\n".join(lines)


def main() -> None:
    """Runs all attacks, several at a time, and writes both reports."""
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
        for done in as_completed([pool.submit(tried, task) for task in chosen]):
            found.append(done.result())
            task, seconds, report = found[-1]
            verdict = "ok" if report["ok"] else "VIOLATION"
            told = f"{task[0]:10} {task[1]:45} {verdict:9} {measured(task, report)}  {seconds:.0f} s"
            print(f"{len(found):4}/{len(chosen)}  {told}", flush=True)
    found.sort(key=lambda one: -chosen.index(one[0]))
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "minutes of one processor": round(sum(seconds for _, seconds, _ in found) / 60, 1),
        "attacks at a time": arguments.jobs,
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
