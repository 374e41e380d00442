"""The public names of a package, each loaded from its module when it is first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def loading(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the names of each of its modules.

    >>> load, listed, every = loading("discreet.exact", {"discreet.exact.amounts": ("positive",)})
    >>> load("positive").__name__, every
    ('positive', ['positive'])
    """
    homes = {name: module for module, own in names.items() for name in own}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        value = getattr(home, name) if hasattr(home, name) else import_module(f"{homes[name]}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted([*vars(sys.modules[package]), *homes]), sorted(homes)
