"""Public keys that are all combinations of some lists, too many to be written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.planning.group_keys import Keys
from discreet.privacy.declaration import Key


@dataclass(frozen=True, slots=True)
class ProductKeys(Keys):
    """The groups of all combinations of one key of each list. An engine is not sent them: it says which it found.

    >>> from discreet.language.checked_expressions import Kind
    >>> ProductKeys.of(("a", "b"), (Kind.INTEGER, Kind.INTEGER), (range(10**6), range(10**6))).size
    1000000000000
    """

    lists: tuple[Sequence[Key], ...]

    @classmethod
    def of(cls, names: Sequence[str], kinds: Sequence[Any], lists: Sequence[Sequence[Key]]) -> ProductKeys:
        """Lists of keys by the names of their columns."""
        return cls(tuple(names), tuple(kinds), (), tuple(lists))

    @property
    def size(self) -> int:
        """How many groups there are."""
        return math.prod(map(len, self.lists))

    @property
    def facts(self) -> list[Any]:
        """What tells them from other keys; ready for JSON."""
        return [self.names, [[[type(key).__name__, str(key)] for key in own] for own in self.lists]]

    def to_arrow(self) -> pa.Table:
        """No table: there are too many."""
        raise TypeError(self.size)

    def written_out(self) -> Keys:
        """The same as tuples, the last list's keys running fastest."""
        return Keys(self.names, self.kinds, tuple(itertools.product(*self.lists)))
