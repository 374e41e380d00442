"""Parts of a document while it is read: each knows its place, and refuses what it is not.

Claim
    `whole_document` and the methods of `DocumentPart` return, or raise InvalidQuery, for whatever they are given;
    the work is linear in its size, which is limited before anything is made of it.
Requires
    Nothing.
Relies on
    Nothing.
Proof
    The walk of `whole_document` keeps a list of its own, so depth costs no stack, and ends at the limits on the number
    of values, on their depth and on the length of texts. Only the exact types that JSON has pass it, none of whose
    methods is the caller's. The other methods compare types and names, and go through a list once.
Rounding
    None.
Source
    None.
Mutant
    depth-unlimited: the depth of a document is not looked at; killed by test_documents_have_limits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from discreet.errors import InvalidQuery, expected, nearest_name
from discreet.sensitivity.intervals import LARGEST_INT, SMALLEST_INT

MOST_VALUES = 100_000
"""Names, constants, lists and objects of a document."""
MOST_OBJECTS = 4000
"""Operations, columns and constants that are objects: checking one takes up to a millisecond."""
DEEPEST_DOCUMENT = 300
LONGEST_STRING = 10_000
SHOWN = 60
"""Characters of a value that a refusal shows."""
CURE = "discreet docs documents says what a document holds; question.document() writes one."


def whole_document(value: object) -> DocumentPart:
    """What is read as a document; refuses what is no JSON, or too much of it."""
    left: list[tuple[object, int]] = [(value, 1)]
    count = objects = 0
    while left:
        one, depth = left.pop()
        count += 1
        if depth > DEEPEST_DOCUMENT:
            _too_much(f"at most {DEEPEST_DOCUMENT} levels", "depth")
        if type(one) is dict:
            if not all(type(name) is str for name in one):
                raise InvalidQuery(expected("names as text", "document", "others", CURE))
            count += len(one)
            objects += 1
            if objects > MOST_OBJECTS:
                _too_much(f"at most {MOST_OBJECTS:,} operations, columns and other objects", "size")
            _check_texts(one)
            left += [(part, depth + 1) for part in one.values()]
        elif type(one) is list:
            left += [(part, depth + 1) for part in one]
        else:
            _check_scalar(one)
        if count + len(left) > MOST_VALUES:
            _too_much(f"at most {MOST_VALUES:,} values", "size")
    return DocumentPart(value, "document")


def plain_document(given: Mapping[str, Any]) -> dict[str, Any]:
    """A document as `json.loads` reads it, within its limits, where a stricter reader has decimals.

    >>> from decimal import Decimal
    >>> plain_document({"a": Decimal("0.5")})
    {'a': 0.5}
    """
    try:
        found: dict[str, Any] = json.loads(json.dumps(given, default=_as_float))
    except (TypeError, ValueError, RecursionError):
        raise InvalidQuery(expected("what JSON has", "document", "something else", CURE)) from None
    whole_document(found)
    return found


def _as_float(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(type(value).__name__)


def _check_texts(texts: Mapping[str, object]) -> None:
    if any(len(text) > LONGEST_STRING for text in texts):
        _too_much(f"texts of at most {LONGEST_STRING:,} characters", "text")
    if any("\0" in text or text.encode(errors="replace").decode() != text for text in texts):
        raise InvalidQuery(expected("text that UTF-8 can hold, without NUL", "text", "another", CURE))


def _check_scalar(one: object) -> None:
    if type(one) is str:
        _check_texts({one: None})
    elif type(one) is int:
        if not SMALLEST_INT <= one <= LARGEST_INT:
            _too_much("whole numbers of 64 bits", "number")
    elif type(one) is float:
        if not math.isfinite(one):
            raise InvalidQuery(expected("finite numbers", "number", one, CURE))
    elif one is not None and type(one) is not bool:
        cure = "give what json.loads made of its text."
        raise InvalidQuery(expected("what JSON has", "document", type(one).__name__, cure))


def _too_much(what: str, name: str) -> NoReturn:
    raise InvalidQuery(expected(what, name, "more", "ask for less at a time, in several questions."))


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A value of a document, and where it stands."""

    value: Any
    place: str

    def refuse(self, what: str, cure: str = CURE) -> NoReturn:
        """Says what was expected here."""
        shown = self.value
        if isinstance(shown, dict | list):
            shown = f"{'an object' if isinstance(shown, dict) else 'a list'} of {len(shown)}"
        elif isinstance(shown, str) and len(shown) > SHOWN:
            shown = f"{shown[:SHOWN]}..."
        raise InvalidQuery(expected(what, self.place, shown, cure))

    def having_fields(self, needed: Sequence[str], other: Sequence[str] = ()) -> dict[str, DocumentPart]:
        """The fields of an object that has all that are needed, and none but these and some others."""
        if not isinstance(self.value, dict):
            self.refuse(f"an object with {', '.join(needed)}")
        if missing := [name for name in needed if name not in self.value]:
            self.refuse(f"an object with {missing[0]!r}")
        known = (*needed, *other)
        if unknown := [name for name in self.value if name not in known]:
            DocumentPart(unknown[0], self.place).refuse("a known field", nearest_name(unknown[0][:SHOWN], known))
        return {name: DocumentPart(value, f"{self.place}.{name}") for name, value in self.value.items()}

    def one_of(self, known: Sequence[str], what: str) -> tuple[str, DocumentPart]:
        """The name and the value of an object that has one field."""
        if not isinstance(self.value, dict) or len(self.value) != 1:
            self.refuse(f"an object with one field, {what}")
        ((name, value),) = self.value.items()
        if name not in known:
            DocumentPart(name, self.place).refuse(what, nearest_name(name[:SHOWN], known))
        return name, DocumentPart(value, f"{self.place}.{name}")

    def fields(self) -> dict[str, DocumentPart]:
        """The fields of an object, by whatever names."""
        if not isinstance(self.value, dict):
            self.refuse("an object by name")
        return {name: DocumentPart(value, f"{self.place}.{name[:SHOWN]}") for name, value in self.value.items()}

    def listed(self, *, least: int = 0, most: int = MOST_VALUES) -> list[DocumentPart]:
        """The values of a list."""
        if not isinstance(self.value, list) or not least <= len(self.value) <= most:
            self.refuse(f"a list of {least} to {most:,}" if most < MOST_VALUES else "a list")
        return [DocumentPart(value, f"{self.place}[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self.refuse("text")
        return self.value

    def texts(self, *, least: int = 0) -> list[str]:
        """A list of texts."""
        return [part.text() for part in self.listed(least=least)]

    def number(self, *, least: int = 0) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < least:
            self.refuse(f"a whole number of {least} or more")
        return self.value

    def pairs(self) -> Iterator[tuple[str, DocumentPart]]:
        """What a list of pairs has by name, in its order, each name once."""
        seen: set[str] = set()
        for part in self.listed(least=1):
            name, value = part.listed(least=2, most=2)
            if name.text() in seen:
                name.refuse("each name once")
            seen.add(name.text())
            yield name.text(), value


def difference(one: Any, other: Any, place: str = "document") -> str:
    """Where two documents first differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        parts = [(one[name], other[name], f"{place}.{name[:SHOWN]}") for name in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        parts = [(mine, theirs, f"{place}[{i}]") for i, (mine, theirs) in enumerate(zip(one, other, strict=True))]
    else:
        return place
    return next((difference(*part) for part in parts if not same(part[0], part[1])), place)


def same(one: Any, other: Any) -> bool:
    """Whether two documents are the same text: 1, 1.0 and true are three.

    >>> same([1], [1]), same([1], [1.0]), same({"a": 1}, {"a": True})
    (True, False, False)
    """
    left = [(one, other)]
    while left:
        mine, theirs = left.pop()
        if type(mine) is not type(theirs):
            return False
        if isinstance(mine, dict):
            if mine.keys() != theirs.keys():
                return False
            left += [(mine[name], theirs[name]) for name in mine]
        elif isinstance(mine, list):
            if len(mine) != len(theirs):
                return False
            left += zip(mine, theirs, strict=True)
        elif mine != theirs:
            return False
    return True
