"""Writes the table of docs/engines/exactness.md, from what the conformance suite tries."""

from __future__ import annotations

from pathlib import Path

from conformance_corpus import OPERATIONS

ENGINES = {"duckdb": "DuckDB", "postgresql": "PostgreSQL", "spark": "Spark"}
PAGE = Path(__file__).parents[1] / "docs" / "engines" / "exactness.md"
BEGIN, END = "<!-- the table begins -->\n", "<!-- the table ends -->\n"


def table() -> str:
    """One line for each example of an operation."""
    lines = [f"| operation | tried as | {' | '.join(ENGINES.values())} | across engines |", "|---|---|---|---|---|---|"]
    for name, operations in OPERATIONS.items():
        for operation in operations:
            taken = ["refused" if engine in operation.refused else "taken" for engine in ENGINES]
            agree = "exact" if operation.exact else "within one engine"
            written = operation.write.replace("|", "&#124;").replace("\t", "\\t").replace("\n", "\\n")
            lines.append(f"| {name} | <code>{written}</code> | {' | '.join(taken)} | {agree} |")
    return "\n".join(lines) + "\n"


def filled(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
