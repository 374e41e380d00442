"""A PostgreSQL server for states, where one is installed."""

from ledger_fixtures import server

__all__ = ("server",)
