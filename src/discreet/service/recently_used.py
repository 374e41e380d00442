"""What was used last, kept in memory up to a number of things, and up to a size of all together."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Held = TypeVar("Held")


class RecentlyUsed(Generic[Held]):
    """What was used last, up to a number and a size; for threads.

    >>> recent = RecentlyUsed[str](most=2)
    >>> [recent.get(number, lambda: "made") for number in (1, 2, 3)]
    ['made', 'made', 'made']
    >>> recent.held(1), recent.held(3)
    (None, 'made')
    """

    def __init__(self, most: int, most_size: int = sys.maxsize) -> None:
        self._most, self._most_size = most, most_size
        self._held: OrderedDict[Hashable, tuple[Held, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def held(self, key: Hashable) -> Held | None:
        """What is held under a key, if it is."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def get(self, key: Hashable, make: Callable[[], Held], size: int = 0) -> Held:
        """What is held under a key, or made now; what alone is larger than all may be is not held."""
        if (found := self.held(key)) is not None:
            return found
        made = make()
        if size > self._most_size:
            return made
        with self._lock:
            _, before = self._held.pop(key, (made, 0))
            self._held[key] = made, size
            self._size += size - before
            while len(self._held) > self._most or self._size > self._most_size:
                self._size -= self._held.popitem(last=False)[1][1]
        return made
