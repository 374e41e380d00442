"""The report of an audit: findings, what was tried, and what it cannot see; for people and programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from discreet.audit.code_locations import NOWHERE, Place
from discreet.errors import NoTruth
from discreet.exact.given_values import place_to_write

VERDICT = {
    True: "Nothing was found. That is no proof: see what could not have been seen.",
    False: "A violation was found.",
}
NOTED = "No violation was found; read the notes. That is no proof: see what could not have been seen."


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One fault: what it is, the line it is at, and the neighbor that showed it."""

    kind: str
    message: str
    place: Place = NOWHERE
    neighbor: str = ""
    is_violation: bool = True
    """Whether it breaks the guarantee; otherwise it is a note."""
    seen: Place = NOWHERE
    """The line where it showed, if that is another one."""
    subject: str = ""
    """Which surface, where several can be at one line."""
    size: float = 0.0
    """The measured value divided by the allowed one; the worst of several is kept."""

    @property
    def lines(self) -> list[str]:
        """The code of the line, or, with their numbers, of the two lines."""
        if not self.seen.line:
            return [self.place.text] if self.place.text else []
        return [f"{place.line}: {place.text}" for place in (self.place, self.seen) if place.text]

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place.line else ""
        code = "".join(f"\n    {line}" for line in self.lines)
        shown = f"\n    Seen {self.neighbor}." if self.neighbor else ""
        return f"{place}{self.message}{code}{shown}"


@dataclass(frozen=True, kw_only=True)
class Report(NoTruth):
    """The outcome of an audit.

    >>> report = Report(title="an audit", findings=(), tried={"neighbors": 3}, blind=("time",))
    >>> report.ok, "private" in str(report)
    (True, False)
    """

    _ask: ClassVar[str] = "ask for its outcome: assert report.ok."

    title: str
    findings: tuple[Finding, ...]
    tried: dict[str, Any]
    """What was tried, by name."""
    blind: tuple[str, ...]
    """What this audit cannot see."""
    rows: tuple[dict[str, Any], ...] = field(default=())
    """What was measured: one row for each call, event or epsilon."""
    strain: float = 0.0
    """The largest measured fraction of what is allowed; above 1 is a violation. A search maximizes it."""

    @property
    def ok(self) -> bool:
        """Whether no violation was found, which does not prove that there is none."""
        return not any(finding.is_violation for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The outcome in a sentence or two."""
        return NOTED if self.ok and self.findings else VERDICT[self.ok]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        findings = [asdict(finding) | _places(finding) for finding in self.findings]
        return {
            "title": self.title,
            "violations": sum(finding.is_violation for finding in self.findings),
            "findings": findings,
            "strain": self.strain,
            "tried": self.tried,
            "measured": list(self.rows),
            "blind": list(self.blind),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text; also written to a file, if one is named."""
        text = json.dumps(self.to_dict(), indent=1, default=str)
        if path is not None:
            Path(place_to_write(path, "report.json")).write_text(text + "\n", encoding="utf-8")
        return text

    def to_markdown(self, path: str | Path | None = None) -> str:
        """A page for readers; also written to a file, if one is named."""
        parts = [f"# {self.title}", self.verdict]
        for heading, violation in (("Violations", True), ("Worth knowing", False)):
            found = [finding for finding in self.findings if finding.is_violation is violation]
            if found:
                parts += [f"## {heading}", *map(_listed, found)]
        parts += ["## What was tried", "\n".join(f"- {name}: {value}" for name, value in self.tried.items())]
        if self.rows:
            parts += ["## What was measured", _table(self.rows)]
        parts += ["## What could not have been seen", "\n".join(f"- {one}" for one in self.blind)]
        text = "\n\n".join(parts) + "\n"
        if path is not None:
            Path(place_to_write(path, "report.md")).write_text(text, encoding="utf-8")
        return text

    def __str__(self) -> str:
        lines = [self.title, self.verdict, ""]
        for finding in self.findings:
            lines += [f"{'VIOLATION' if finding.is_violation else 'note'} ({finding.kind})", f"  {finding}", ""]
        lines += ["Tried: " + "; ".join(f"{name}: {value}" for name, value in self.tried.items())]
        return "\n".join([*lines, "Not seen: " + "; ".join(self.blind)])

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def _places(finding: Finding) -> dict[str, str]:
    seen = str(finding.seen) if finding.seen.line else ""
    return {"place": str(finding.place), "code": finding.place.text, "seen": seen}


def _listed(finding: Finding) -> str:
    place = f"**{finding.place}** " if finding.place.line else ""
    lines = "\n  ".join(finding.lines)
    code = f"\n\n  ```python\n  {lines}\n  ```" if lines else ""
    shown = f"\n\n  Seen {finding.neighbor}." if finding.neighbor else ""
    return f"- {place}({finding.kind}): {finding.message}{code}{shown}"


def _table(rows: Sequence[dict[str, Any]]) -> str:
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([_cell(row.get(name, "")) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _size(finding: Finding) -> float:
    """What is infinitely wrong for NaN is told better by an ordinary value that is wrong, too."""
    return finding.size if math.isfinite(finding.size) else 0.0


def worst(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """One finding for each kind and line: the largest; violations first, and the larger before the smaller notes."""
    kept: dict[tuple[str, Place, str], Finding] = {}
    for finding in findings:
        key = finding.kind, finding.place, finding.subject
        if key not in kept or _size(finding) > _size(kept[key]):
            kept[key] = finding
    return tuple(
        sorted(kept.values(), key=lambda one: (not one.is_violation, 0.0 if one.is_violation else -_size(one)))
    )
