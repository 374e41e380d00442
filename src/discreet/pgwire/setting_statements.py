"""Statements about the session itself: SET, SHOW, RESET, DISCARD and the like, and what EXPLAIN and COPY hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.sqlstates import SYNTAX, UNKNOWN_SETTING, Refused
from discreet.pgwire.statement_kinds import Statement, StatementKind, words
from discreet.pgwire.statement_results import StatementResult
from discreet.pgwire.type_codes import TEXT, ColumnType

_EXPLAIN = re.compile(r"\s*explain\b\s*(\((?P<options>[^)]*)\))?\s*(?P<old>(?:analyze\b|verbose\b|\s)*)", re.IGNORECASE)
_COPY = re.compile(r"\s*copy\s*\((?P<query>.*)\)\s*to\s+stdout\s*(?:with\s*)?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
FORMS = ("text", "csv", "binary")
ON, OFF = ("true", "on", "1"), ("false", "off", "0")
BETWEEN = ("(", ",", ")")
AS_ALWAYS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "null": {"text": ("\\N",), "csv": ("",)},
    "quote": {"csv": ('"',)},
    "escape": {"csv": ('"',)},
    "encoding": dict.fromkeys(FORMS, ("utf8", "UTF8", "utf-8", "UTF-8")),
}
"""Options of COPY that may be stated, by form, as what they are anyway."""
NO_DELIMITER = {"text": "\\\r\n.abcdefghijklmnopqrstuvwxyz0123456789", "csv": '"\r\n', "binary": ""}
"""What PostgreSQL does not take as one."""
OTHER_WORDS = {
    "transaction isolation level": "transaction_isolation",
    "time zone": "TimeZone",
    "names": "client_encoding",
}


def run_setting(one: Statement, settings: SessionSettings) -> StatementResult | None:
    """Runs a statement about settings; None for another kind."""
    match one.kind:
        case StatementKind.SET:
            return _set(one.text, settings)
        case StatementKind.SHOW:
            return shown_setting(one.text, settings)
        case StatementKind.RESET:
            return _reset(words(one.text)[1:], settings)
        case StatementKind.DISCARD:
            if words(one.text)[1:] == ["all"]:
                settings.reset_all()
            return StatementResult(tag=f"DISCARD {' '.join(words(one.text)[1:]).upper()}")
        case StatementKind.LISTEN:
            return StatementResult(tag=words(one.text)[0].upper())
    return None


def _set(text: str, settings: SessionSettings) -> StatementResult:
    said = words(text)[1:]
    local = said[:1] == ["local"]
    if said[:1] in (["local"], ["session"]) and said[1:2] not in (["authorization"], ["characteristics"]):
        said = said[1:]
    if said[:1] == ["transaction"] or said[:2] == ["session", "characteristics"] or said[:1] == ["constraints"]:
        return StatementResult(tag="SET")
    if said[:1] == ["role"] or said[:2] == ["session", "authorization"]:
        if said[-1:] in (["none"], ["default"], [settings.user]):
            return StatementResult(tag="SET")
        raise Refused.fixed_setting("role")
    name, value = _assignment(said)
    settings.set(name, value, local=local)
    return StatementResult(tag="SET")


def _assignment(said: Sequence[str]) -> tuple[str, str | None]:
    if said[:2] == ["time", "zone"]:
        return "TimeZone", _value(said[2:])
    if said[:1] == ["names"]:
        return "client_encoding", _value(said[1:])
    if len(said) < 3 or said[1] not in ("=", "to"):
        raise Refused(SYNTAX, "Expected SET name = value, got another form.", "SET discreet.epsilon = 0.1")
    return said[0], _value(said[2:])


def _value(said: Sequence[str]) -> str | None:
    """The value after the sign; None for DEFAULT."""
    if list(said) == ["default"]:
        return None
    joined = ""
    for word in said:
        tight = word == "," or joined.endswith("-") or not joined
        joined += word if tight else f" {word}"
    return joined


def shown_setting(text: str, settings: SessionSettings) -> StatementResult:
    """The value of a setting, or of all of them.

    Raises:
        Refused: it is not known.
    """
    said = words(text)[1:]
    if said == ["all"]:
        columns = [ColumnType(name, TEXT) for name in ("name", "setting", "description")]
        rows = [(name, value, "") for name, value in settings.everything()]
        return StatementResult(tag="SHOW", columns=tuple(columns), rows=tuple(rows))
    joined = " ".join(said)
    name = OTHER_WORDS.get(joined, joined)
    value = settings.get(name)
    if value is None and not name.startswith("discreet."):
        raise Refused(UNKNOWN_SETTING, f"Expected a known setting, got {name!r}.", "SHOW ALL lists them.")
    return StatementResult(tag="SHOW", columns=(ColumnType(name, TEXT),), rows=((value or "",),))


def _reset(said: Sequence[str], settings: SessionSettings) -> StatementResult:
    if list(said) == ["all"]:
        settings.reset_all()
    elif said and said[0] not in ("role", "session"):
        settings.set(OTHER_WORDS.get(" ".join(said), said[0]), None)
    return StatementResult(tag="RESET")


def explained_statement(text: str) -> tuple[str, bool]:
    """The statement that EXPLAIN is about, and whether its account is wanted as JSON.

    >>> explained_statement("EXPLAIN (FORMAT JSON) SELECT 1")
    ('SELECT 1', True)

    Raises:
        Refused: it would run the statement.
    """
    found = _EXPLAIN.match(text)
    options = ((found["options"] or "") if found else "").lower()
    if found is None or "analyze" in found["old"].lower() or re.search(r"analyze(?!\s+(false|off|0))", options):
        cure = "EXPLAIN without ANALYZE shows price and error bars, for nothing."
        raise Refused(SYNTAX, "Expected EXPLAIN of a question, got EXPLAIN ANALYZE, which would release it.", cure)
    return text[found.end() :], "json" in options


def copied_query(text: str) -> tuple[str, Mapping[str, Any]]:
    """The query of COPY (query) TO STDOUT, and how its rows are to be written.

    >>> copied_query("COPY (SELECT COUNT(*) FROM t) TO STDOUT (FORMAT csv, HEADER)")
    ('SELECT COUNT(*) FROM t', {'form': 'csv', 'header': True, 'delimiter': None})

    Raises:
        Refused: it is another copy: nothing is written here, and no table is copied whole.
    """
    found = _COPY.fullmatch(text)
    if found is None:
        raise Refused.unsupported()
    stated = _copy_options(words(found["rest"])) if found["rest"].strip() else {}
    form, delimiter = stated.get("format", "text").lower(), stated.get("delimiter")
    if form not in FORMS or (delimiter is not None and (len(delimiter) != 1 or delimiter in NO_DELIMITER[form])):
        raise Refused.unsupported()
    if any(name in stated and stated[name] not in known.get(form, ()) for name, known in AS_ALWAYS.items()):
        raise Refused.unsupported()  # a client that reads something else as NULL would read other values
    return found["query"], {"form": form, "header": stated.get("header", "off") in ON, "delimiter": delimiter}


def _copy_options(said: Sequence[str]) -> dict[str, str]:
    """The options of COPY by name, in its old words or its new ones; whatever else is refused."""
    left, found = list(said), dict[str, str]()
    while left:
        name = left.pop(0)
        if name in FORMS:
            found["format"] = name
        elif name == "header":
            found[name] = left.pop(0) if left[:1] and left[0] in (*ON, *OFF) else ON[0]
        elif name in ("format", "delimiter", *AS_ALWAYS) and len(left) > (left[:1] == ["as"]):
            found[name] = [left.pop(0) for _ in range(1 + (left[0] == "as"))][-1]
        elif name not in BETWEEN:
            raise Refused.unsupported()
    return found
