"""Every line that is logged, and every warning, is a constant with public values in it; a listed few have causes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "discreet"
LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log"}

PUBLIC = {
    "ledger/file_locks.py": {"seconds": "a constant of this library"},
    "curator/transaction.py": {
        "charge.guarantee": "what was charged, which the ledger tells",
        "charge.what": "the question in one line, which the ledger tells",
        "printable(charge.source)": "the name and version that were declared",
    },
    "service/series_desk.py": {
        "self.series.name": "declared by a curator",
        "self.dataset.name": "declared by a curator",
        "told": "the reason that the service shows for a series that is held",
    },
    "pgwire/catalog_answers.py": {
        "copy.sql('postgres')[:LONGEST_LOGGED]": "a statement about the catalog, without its constants",
        "problem": "what an empty catalog in memory says of such a statement",
    },
    "server/http_guard.py": {"json.dumps(line)": "the pattern of a route, a code, a principal and a duration"},
    # Warnings
    "clustering/pipeline_steps.py": {"', '.join(fitted)": "the kinds of steps that a program has"},
    "curator/log_output.py": {
        "VARIABLE": "a constant of this library",
        "', '.join(LEVELS)": "constants of this library",
        "stated": "a variable of the environment",
        "cure": "a constant of this library",
    },
    "curator/protection_warnings.py": {"source.name": "declared", "source.version": "declared"},
    "engines/engine_selection.py": {"support.title": "of this library", "found": "a version", "tried": "versions"},
    "mechanisms/frequencies.py": {
        "decimal_text(epsilon)": "a parameter",
        "people": "a parameter",
        "sd": "made of both",
    },
}
"""What lines and warnings hold beside constants, by file, and why it is public."""

CAUSES = {
    "engines/engine.py": "to discreet.curator, which nobody sees who did not configure it",
    "service/series_desk.py": "to the log of a server, which its operator reads",
    "service/auditor_verbs.py": "as above",
    "service/curator_verbs.py": "as above",
    "service/job_runner.py": "as above",
    "server/openid_sign_in.py": "as above",
    "server/pages/page_site.py": "as above",
    "pgwire/server.py": "as above",
    "pgwire/session.py": "as above",
}
"""Files that log an exception with what it says, and where to."""


class Line(NamedTuple):
    """One call that logs, or warns."""

    file: str
    message: ast.expr
    values: list[ast.expr]
    with_cause: bool


def lines_of(file: str, text: str) -> Iterator[Line]:
    """The calls of one file; fails where a logger has another name, under which they would not be found."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of, name = node.func.value, node.func.attr
        if isinstance(of, ast.Name) and (of.id, name) == ("warnings", "warn"):
            yield Line(file, node.args[0], values_of(node.args[0], tree), with_cause=False)
        elif name in LEVELS and isinstance(of, ast.Name) and of.id in ("logger", "logging", "log", "own"):
            message, *values = node.args
            cause = name == "exception" or any(keyword.arg == "exc_info" for keyword in node.keywords)
            yield Line(file, message, [*values_of(message, tree), *values], with_cause=cause)
        elif name == "getLogger":
            assert not node.args or isinstance(node.args[0], ast.Constant), file


def values_of(message: ast.expr, tree: ast.AST) -> list[ast.expr]:
    """What a message holds beside constants: the parts of an f-string, where it is named before as well."""
    if isinstance(message, ast.Constant):
        return []
    if isinstance(message, ast.JoinedStr):
        parts = [part.value for part in message.values if isinstance(part, ast.FormattedValue)]
        return [value for part in parts for value in (values_of(named(part, tree), tree) or [])]
    if isinstance(message, ast.Call) and isinstance(message.func, ast.Name) and message.func.id == "expected":
        return [value for part in message.args for value in values_of(part, tree)]
    return [message]


def named(part: ast.expr, tree: ast.AST) -> ast.expr:
    """The f-string that a name stands for; the part itself otherwise."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.JoinedStr) and isinstance(part, ast.Name):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == part.id:
                return node.value
    return part


@functools.cache
def lines() -> list[Line]:
    """All of them."""
    files = sorted(SOURCE.rglob("*.py"))
    return [line for path in files for line in lines_of(str(path.relative_to(SOURCE)), path.read_text("utf-8"))]


def test_lines_hold_constants_and_what_is_listed_as_public() -> None:
    found: dict[str, set[str]] = {}
    for line in lines():
        for value in line.values:
            found.setdefault(line.file, set()).add(ast.unparse(value))
    assert found == {file: set(values) for file, values in PUBLIC.items()}


def test_causes_are_logged_where_it_is_listed_alone() -> None:
    assert {line.file for line in lines() if line.with_cause} == set(CAUSES)
    engine = (SOURCE / "engines" / "engine.py").read_text("utf-8")
    assert 'logger = logging.getLogger("discreet.curator")\n' in engine
    assert "logger.addHandler(logging.NullHandler())" in engine


def test_a_line_with_a_value_of_rows_would_be_found() -> None:
    planted = 'logger.info("%s rows", len(rows))\nlogger.error(f"{total}")\nlogger.error("failed", exc_info=problem)\n'
    found = list(lines_of("planted.py", planted))
    assert [[ast.unparse(value) for value in line.values] for line in found] == [["len(rows)"], ["total"], []]
    assert [line.with_cause for line in found] == [False, False, True]
