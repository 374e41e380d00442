"""Arithmetic with a whole answer or question: refused, with the line that calculates with one of its columns."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from discreet.errors import InvalidQuery


class NoArithmetic:
    """What is no number, though a column of it is: `answer + 1` is refused with the line to write."""

    __slots__ = ()
    _calculation: ClassVar[str] = "write .mutate(rate=_.a / _.n), which carries the interval on."

    def _refused(self, *_: object) -> NoReturn:
        said = f"Expected a column to calculate with, got a {type(self).__name__}."
        raise InvalidQuery(f"{said}\nHint: {self._calculation}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __neg__ = __abs__ = __pow__ = __rpow__ = __mod__ = __floordiv__ = _refused
