"""What an analyst sends: a question as SQL or as a document, a price, and how it is to be answered; checked in full."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import confidence_level, delta_or_zero, positive
from discreet.exact.written_amounts import LONGEST_TEXT, MOST_DIGITS, is_amount, written_amount
from discreet.planning.first_look_budget import stated_part
from discreet.planning.group_keys import UNKNOWN_WORDS
from discreet.query.document_parts import plain_document
from discreet.statements.dialects import dialect_named

LONGEST_SQL = 20_000
MOST_NAMES = 100
MOST_KEYS = 10_000
ALL_TOGETHER = "all keys to be listed, or all to be found in one way"
ALL_UNKNOWN = 'write "keys": "unknown" for all columns together; for one of several, filter by the keys of the others.'
_DIGEST = re.compile(r"[0-9a-f]{64}")

FIELDS = ("question", "price", "weights", "fresh", "plan")
SQL_FIELDS = ("sql", "dialect", "keys", "max_groups", "max_rows")
PRICES = {
    "epsilon": ("epsilon", "delta", "first_look"),
    "rho": ("rho", "delta", "first_look"),
    "within": ("within", "confidence", "delta"),
}
"""The kinds of price, each by the name that tells it, with what may stand beside it."""


def amount(name: str, value: object) -> Fraction:
    """An amount as it is written in an ask: a decimal string, best; or a number, which means what it prints.

    >>> amount("epsilon", "0.1"), amount("epsilon", 0.1)
    (Fraction(1, 10), Fraction(1, 10))
    """
    text = value if isinstance(value, str) else str(value)
    known = isinstance(value, str | int | float | Decimal | Fraction) and not isinstance(value, bool)
    if not known or not is_amount(text):
        shown = text[:LONGEST_TEXT] if known else type(value).__name__
        raise InvalidParameter(expected("a number in text", name, shown, f'write it as "{name}": "0.5".'))
    found = written_amount(name, text)
    if not is_amount(str(found)):  # as it is stored, and read again when the job runs
        cure = f"write at most {MOST_DIGITS - 1} digits in all, and as many behind the point."
        raise InvalidParameter(expected(f"a fraction of at most {MOST_DIGITS} digits over as many", name, text, cure))
    return found


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A checked ask; equal asks have equal canonical forms.

    >>> ask = Ask.read({"question": {"sql": "SELECT COUNT(*) FROM people"}, "price": {"epsilon": "0.10"}})
    >>> ask.price["epsilon"], ask.fresh, ask.canonical["price"]
    (Fraction(1, 10), False, {'epsilon': '1/10'})
    """

    question: Mapping[str, Any]
    """``sql`` with what may stand beside it, or ``document``."""
    price: Mapping[str, Any]
    """The arguments of a release: epsilon, or rho, or within and confidence; delta; the part for first looks. Empty for
    the default.
    """
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    fresh: bool = False
    plan: str | None = None
    """The plan that an account named: where it is another one by now, the ask is refused before it is charged."""

    @classmethod
    def read(cls, given: object) -> Ask:
        """The ask that is written as JSON; whatever is not one is refused, with the name of what is wrong."""
        cure = 'write {"question": {"sql": "SELECT ..."}, "price": {"epsilon": "0.1"}}.'
        asked = _fields("ask", given, FIELDS, cure)
        if "question" not in asked:
            raise InvalidParameter(expected("a question", "ask", sorted(asked), cure))
        fresh = asked.get("fresh", False)
        if not isinstance(fresh, bool):
            raise InvalidParameter(expected("true or false", "fresh", _short(fresh), 'write "fresh": true.'))
        weights, plan = asked.get("weights") or {}, asked.get("plan")
        if plan is not None and not (isinstance(plan, str) and _DIGEST.fullmatch(plan)):
            cure = 'send the "plan" that explain gave, or leave it out.'
            raise InvalidParameter(expected("64 hexadecimal digits", "plan", _short(plan), cure))
        return cls(
            question=_question(asked["question"]),
            price=_price(asked.get("price")),
            weights={name: amount(name, value) for name, value in _names("weights", weights).items()},
            fresh=fresh,
            plan=plan,
        )

    @classmethod
    def stored(cls, text: str) -> Ask:
        """The ask whose canonical form this is."""
        return cls.read(json.loads(text))

    @staticmethod
    def amounts(given: object) -> Mapping[str, Fraction]:
        """An amount of privacy by itself, as in a price: epsilon or rho, with a delta or not."""
        found = _price(given)
        if not found or not {"within", "first_look"}.isdisjoint(found):
            cure = 'write {"epsilon": "0.5"} or {"rho": "0.05"}.'
            raise InvalidParameter(expected("an amount", "amount", sorted(found), cure))
        return found

    def priced(self, epsilon: Fraction) -> Ask:
        """The same with this epsilon, where it has no price."""
        return self if self.price else replace(self, price={"epsilon": epsilon})

    @property
    def canonical(self) -> dict[str, Any]:
        """The same as JSON in one form."""
        found: dict[str, Any] = {"question": dict(self.question), "price": _plain(self.price)}
        if self.weights:
            found["weights"] = _plain(self.weights)
        found |= {"fresh": True} if self.fresh else {}
        return found | ({} if self.plan is None else {"plan": self.plan})

    @property
    def text(self) -> str:
        """The canonical form as text."""
        return json.dumps(self.canonical, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def arguments(self) -> dict[str, Any]:
        """What `explain` and `release` of a question are given."""
        return {**self.price, **({"weights": dict(self.weights)} if self.weights else {})}


def _fields(name: str, given: object, known: tuple[str, ...], cure: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidParameter(expected("an object", name, _short(given), cure))
    for one in given:
        if one not in known:
            raise InvalidParameter(expected(f"a known field of {name}", "field", _short(one), nearest_name(one, known)))
    return given


def _stated(given: object) -> object:
    """What is left of an object without its nulls: what is null is not stated."""
    if not isinstance(given, Mapping):
        return given
    return {name: value for name, value in given.items() if value is not None}


def _names(name: str, given: object, cure: str | None = None) -> Mapping[str, Any]:
    cure = cure or f'write "{name}": {{"column": "1"}}.'
    if not isinstance(given, Mapping) or len(given) > MOST_NAMES or not all(isinstance(one, str) for one in given):
        got = len(given) if isinstance(given, Mapping) else _short(given)
        raise InvalidParameter(expected(f"an object of at most {MOST_NAMES} columns", name, got, cure))
    return given


def _short(value: object) -> object:
    """What a refusal shows of what was sent: a short text or number as it is, otherwise what it is."""
    if isinstance(value, str):
        return value if len(value) <= 80 else f"{value[:77]}..."
    return value if value is None or isinstance(value, bool) else f"<{type(value).__name__}>"


def _question(given: object) -> Mapping[str, Any]:
    cure = 'write {"sql": "SELECT ..."} or {"document": {...}}.'
    if isinstance(given, Mapping) and given.get("document") is not None:
        asked = _fields("question", _stated(given), ("document",), cure)
        if not isinstance(asked["document"], Mapping):
            raise InvalidQuery(expected("an object", "document", _short(asked["document"]), cure))
        return {"document": plain_document(asked["document"])}
    asked = _fields("question", _stated(given), SQL_FIELDS, cure)
    text = asked.get("sql")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_SQL:
        what = f"a statement of 1 to {LONGEST_SQL} characters"
        raise InvalidQuery(expected(what, "sql", _short(text), cure))
    if "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise InvalidQuery(expected("text that can be stored", "sql", _short(text), "remove what is no character."))
    found: dict[str, Any] = {"sql": text}
    if asked.get("dialect") is not None:
        found["dialect"] = dialect_named(asked["dialect"]).name
    for name in ("max_groups", "max_rows"):
        if (limit := asked.get(name)) is not None:
            if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 10**9:
                raise InvalidParameter(expected("a whole number of 1 or more", name, _short(limit), "write 1 or more."))
            found[name] = limit
    if asked.get("keys") is not None:
        found["keys"] = _all_keys(asked["keys"])
    return found


def _all_keys(given: object) -> str | Mapping[str, Any]:
    """The keys of all groups: a list for each, or how all of them are found together."""
    cure = 'write "keys": {"column": ["a", "b"]}, or "keys": "unknown" for keys of all columns that a first look finds.'
    if isinstance(given, str):
        if given not in UNKNOWN_WORDS:
            raise InvalidParameter(expected("keys", "keys", _short(given), cure))
        return given
    found = {name: _keys(name, keys) for name, keys in _names("keys", given, cure).items()}
    words = {keys for keys in found.values() if isinstance(keys, str)}
    if len(words) > 1 or (words and not all(isinstance(keys, str) for keys in found.values())):
        raise InvalidParameter(expected(ALL_TOGETHER, "keys", ", ".join(sorted(words)), ALL_UNKNOWN))
    return found


def _keys(name: str, given: object) -> Any:
    cure = f'write "keys": {{"{name[:40]}": ["a", "b"]}}, or "keys": "unknown" for keys that a first look finds.'
    if isinstance(given, str) and given in UNKNOWN_WORDS:
        return given
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_KEYS:
        raise InvalidParameter(expected("a list of keys", name, _short(given), cure))
    if not all(one is None or isinstance(one, str | int) for one in given):
        raise InvalidParameter(expected("keys that are text, whole numbers, true, false or null", name, "others", cure))
    return list(given)


def _price(given: object) -> Mapping[str, Any]:
    given = _stated(given)
    if given is None or given == {}:
        return {}
    cure = 'write {"epsilon": "0.1"}, {"rho": "0.01"} or {"within": {"column": "25"}, "confidence": "0.95"}.'
    asked = _fields("price", given, tuple(dict.fromkeys(chain(*PRICES.values()))), cure)
    kinds = [kind for kind in PRICES if asked.get(kind) is not None]
    if len(kinds) != 1 or any(name not in PRICES[kinds[0]] for name in asked if asked[name] is not None):
        raise InvalidParameter(expected("one kind of price", "price", sorted(asked), cure))
    found: dict[str, Any] = {}
    if kinds[0] == "within":
        within = _names("within", asked["within"])
        if not within:
            raise InvalidParameter(expected("an error for at least one column", "within", {}, cure))
        found["within"] = {name: positive(name, amount(name, value)) for name, value in within.items()}
        found["confidence"] = confidence_level(amount("confidence", asked.get("confidence") or "0.95"))
    else:
        found[kinds[0]] = positive(kinds[0], amount(kinds[0], asked[kinds[0]]))
    if asked.get("delta") is not None and (delta := delta_or_zero(amount("delta", asked["delta"]))):
        found["delta"] = delta
    if asked.get("first_look") is not None:
        found["first_look"] = stated_part(amount("first_look", asked["first_look"]))
    return found


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) if isinstance(value, Mapping) else str(value) for name, value in given.items()}
