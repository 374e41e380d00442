"""Properties that are computed once, by whoever needs them first, without a lock.

Claim
    A `cached_property` of an object has one value for all threads, and never waits for a thread that another process
    has.
Requires
    A function whose result is the same however often it is computed.
Relies on
    `dict.setdefault`, which is one step for all threads.
Proof
    Until Python 3.12 `functools.cached_property` holds a lock while it computes, one for all objects of a class. A
    child that was forked meanwhile inherits the lock without the thread that would release it, and waits for ever, also
    for its first noise. Here nothing is held: two threads may compute the same, and both get what was kept first.
Rounding
    None.
Source
    The documentation of `functools.cached_property`, on its change in Python 3.12; POSIX, `fork`.
Mutant
    property-under-a-lock: a property is computed under the lock of its class; killed by
    test_a_forked_child_does_not_wait_for_the_threads_of_its_parent.
"""

from __future__ import annotations

import functools
from typing import Any, Self, TypeVar, overload

Computed = TypeVar("Computed")


class cached_property(functools.cached_property[Computed]):  # noqa: N801 (as in Python)
    """A property that is computed once.

    >>> class Square:
    ...     side = 3
    ...
    ...     @cached_property
    ...     def area(self) -> int:
    ...         return self.side**2
    >>> Square().area
    9
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Computed: ...
    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """The value, computed where there is none yet."""
        if instance is None or self.attrname is None:
            return super().__get__(instance, owner)
        held = instance.__dict__
        return held[self.attrname] if self.attrname in held else held.setdefault(self.attrname, self.func(instance))
