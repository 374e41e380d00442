"""What was used last, kept in memory up to a number of things."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Held = TypeVar("Held")


class RecentlyUsed(Generic[Held]):
    """What was used last, up to a number; for threads.

    >>> recent = RecentlyUsed[str](most=2)
    >>> [recent.get(number, lambda: "made") for number in (1, 2, 3)]
    ['made', 'made', 'made']
    >>> recent.held(1), recent.held(3)
    (None, 'made')
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, Held] = OrderedDict()
        self._lock = threading.Lock()

    def held(self, key: Hashable) -> Held | None:
        """What is held under a key, if it is."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def get(self, key: Hashable, make: Callable[[], Held]) -> Held:
        """What is held under a key, or made now."""
        if (found := self.held(key)) is not None:
            return found
        made = make()
        with self._lock:
            self._held[key] = made
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return made
