"""Hostile rows, and tables that must not be read."""

from query_fixtures import by_row, exact, hostile, protect_people, refused, unreadable

__all__ = ("by_row", "exact", "hostile", "protect_people", "refused", "unreadable")
