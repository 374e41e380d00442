"""Logs of the service: one line of JSON for each record, on standard error, which whoever starts it collects."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

HTTP = "discreet.http"
"""Whose messages are such lines already."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; the cause of a failure is in it, for whoever may see rows."""
        if record.name == HTTP:
            return record.getMessage()
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "event": "log",
            "logger": record.name,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["cause"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_standard_error() -> None:
    """Has everything that this library logs written as lines of JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    own = logging.getLogger("discreet")
    own.handlers[:] = [handler]
    own.setLevel(min(own.level or logging.INFO, logging.INFO))  # DISCREET_LOG=debug shows more
    own.propagate = False
