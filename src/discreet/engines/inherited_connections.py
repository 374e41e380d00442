"""Connections to DuckDB that a fork inherits: they are never closed there.

DuckDB crashes where a forked child lets go of one, as garbage is collected or as the child ends: the threads of a
database are those of the parent alone.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any
from weakref import WeakSet

_connections: WeakSet[Any] = WeakSet()


def kept_open_in_forks(connection: Any) -> None:
    """Has a connection, whoever still uses it here, stay open in each process that is forked from now on."""
    _connections.add(connection)


def _after_fork_in_child() -> None:
    """Keeps all of them for good; a list of ours would let go of them as the interpreter ends."""
    for connection in list(_connections):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
