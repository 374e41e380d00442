"""Charges to spend, and programs of their own to spend them in."""

from ledger_fixtures import (
    at_once,
    charge,
    folder,
    lasting,
    new_ledger,
    open_budget,
    path,
    rewritten,
    run,
    server,
    start,
    used,
)

__all__ = (
    "at_once",
    "charge",
    "folder",
    "lasting",
    "new_ledger",
    "open_budget",
    "path",
    "rewritten",
    "run",
    "server",
    "start",
    "used",
)
