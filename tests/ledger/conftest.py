"""Charges to spend, and programs of their own to spend them in."""

from ledger_fixtures import at_once, charge, folder, new_ledger, path, rewritten, run, start, used

__all__ = ("at_once", "charge", "folder", "new_ledger", "path", "rewritten", "run", "start", "used")
