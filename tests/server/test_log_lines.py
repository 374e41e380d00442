"""Logs: each record is one line of JSON; those of requests are lines already."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from discreet.server.log_lines import HTTP, JsonLines, log_to_standard_error


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    own = logging.getLogger("discreet")
    before = (own.handlers[:], own.level, own.propagate)
    yield
    own.handlers[:], own.propagate = before[0], before[2]
    own.setLevel(before[1])


def test_a_request_is_its_own_line() -> None:
    record = logging.LogRecord(HTTP, logging.INFO, "", 0, '{"status": 200}', (), None)
    assert JsonLines().format(record) == '{"status": 200}'


def test_everything_else_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_standard_error()
    try:
        int("two\nlines")
    except ValueError:
        logging.getLogger("discreet.service").exception("a job\nfailed")
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["level"], told["message"], told["logger"]) == ("error", "a job\nfailed", "discreet.service")
    assert r"two\nlines" in told["cause"]


def test_it_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_standard_error()
    log_to_standard_error()
    logging.getLogger("discreet.curator").info("once")
    assert len(capsys.readouterr().err.splitlines()) == 1
