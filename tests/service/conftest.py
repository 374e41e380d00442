"""A PostgreSQL server for states, where one is installed; and a folder in memory."""

from ledger_fixtures import folder, server

__all__ = ("folder", "server")
