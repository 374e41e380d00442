"""What SET, SHOW and RESET reach: the settings of PostgreSQL that clients follow, and those of a question's price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from discreet.pgwire.sqlstates import SAVEPOINT, TOO_LONG, Refused

OWN = "discreet."
PRICES = ("discreet.epsilon", "discreet.rho", "discreet.within")
"""Of these one counts: the one that was set last."""
LONGEST = 1_000
MOST_POINTS = 100
SERVER_VERSION = "15.0"
REPORTED = {
    "server_version": SERVER_VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "default_transaction_read_only": "on",
    "in_hot_standby": "off",
    "is_superuser": "off",
    "session_authorization": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
}
"""What a client is told at the start, and after a change."""
FIXED = {
    "server_version": SERVER_VERSION,
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "integer_datetimes": "on",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "block_size": "8192",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
    "transaction_read_only": "on",
    "password_encryption": "scram-sha-256",
    "ssl": "on",
    "wal_level": "replica",
    "data_directory_mode": "0700",
    "standard_conforming_strings": "on",
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
}
"""What is so whatever a client sets: answers are UTF-8, in UTC, in ISO form."""
CHANGEABLE = {
    "application_name": "",
    "search_path": '"$user", public',
    "extra_float_digits": "1",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "default_transaction_isolation": "read committed",
    "transaction_isolation": "read committed",
    "default_transaction_read_only": "on",
    "session_authorization": "",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "lc_messages": "C",
    "client_min_messages": "notice",
    "row_security": "on",
    "array_nulls": "on",
    "check_function_bodies": "on",
    "synchronize_seqscans": "on",
    "jit": "off",
}
"""What a client may set, and what it is before."""
ANYTHING_GOES = ("client_encoding", "timezone", "datestyle", "intervalstyle", "standard_conforming_strings")
"""What clients set out of habit: taken where it says what is so. Times have no zone here, so any zone is taken."""
ACCEPTED = {
    "client_encoding": ("utf8", "utf-8", "unicode"),
    "standard_conforming_strings": ("on", "true", "1"),
    "intervalstyle": ("postgres", "iso_8601"),
}


def _decimal(name: str, value: str) -> str:
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0 or len(value) > 40 or abs(number.adjusted()) > 30:
        raise Refused.setting(name, value, "a decimal number such as 0.1")
    return format(number, "f")


def _fraction(name: str, value: str) -> str:
    shown = _decimal(name, value)
    if not 0 < Decimal(shown) < 1:
        raise Refused.setting(name, value, "a number between 0 and 1, such as 0.95")
    return shown


def _switch(name: str, value: str) -> str:
    known = {"on": "on", "true": "on", "1": "on", "yes": "on", "off": "off", "false": "off", "0": "off", "no": "off"}
    if value.strip().lower() not in known:
        raise Refused.setting(name, value, "on or off")
    return known[value.strip().lower()]


def _amounts(name: str, value: str) -> str:
    """Names and amounts, as in ``people=25, visits=0.5``."""
    parts = [part.partition("=") for part in value.split(",")]
    if not value.strip() or any(not key.strip() or not sign for key, sign, _ in parts):
        raise Refused.setting(name, value, "columns and amounts, such as 'avg_visits=0.5, count=25'")
    return ", ".join(f"{key.strip()}={_decimal(name, amount)}" for key, _, amount in parts)


def _scans(name: str, value: str) -> str:
    if value.strip().lower() not in ("refuse", "declared", "ask"):
        raise Refused.setting(name, value, "refuse, declared or ask")
    return value.strip().lower()


CHECKS: Mapping[str, Callable[[str, str], str]] = {
    "discreet.epsilon": _decimal,
    "discreet.delta": _decimal,
    "discreet.rho": _decimal,
    "discreet.within": _amounts,
    "discreet.confidence": _fraction,
    "discreet.weights": _amounts,
    "discreet.intervals": _switch,
    "discreet.fresh": _switch,
    "discreet.scans": _scans,
}
DEFAULTS = {
    "discreet.confidence": "0.95",
    "discreet.intervals": "off",
    "discreet.fresh": "off",
    "discreet.scans": "refuse",
}


@dataclass
class SessionSettings:
    """The settings of one session; those of a transaction that is rolled back never were."""

    user: str
    first: dict[str, str] = field(default_factory=dict)
    """What the start of the session asked for: RESET goes back to it."""
    _now: dict[str, str] = field(default_factory=dict)
    _before: dict[str, str] = field(default_factory=dict)
    _kept: dict[str, str] | None = None
    """Inside a transaction, what its end keeps: all but what is local."""
    _points: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._now = dict(self.first)

    def get(self, name: str) -> str | None:
        """The value of a setting; None for one that is unknown, or is not set and has no default.

        Names are compared without regard to case.
        """
        key = _key(name)
        if key == "session_authorization":
            return self.user
        if key in self._now:
            return self._now[key]
        for known in (FIXED, CHANGEABLE, DEFAULTS):
            for one, value in known.items():
                if one.lower() == key:
                    return value
        return None

    def set(self, name: str, value: str | None, *, local: bool = False) -> str:
        """Sets a setting, or with None goes back to what it was at the start; returns what it is now.

        Raises:
            Refused: the name or the value is not known.
        """
        key = _key(name)
        checked = None if value is None else self._checked(name, key, value)
        changed = PRICES if key in PRICES else (key,)  # a price takes the place of the others
        stated = self.first if checked is None else {key: checked}
        if self._kept is not None and not local:
            _restate(self._kept, stated, changed)
        if self._kept is not None or not local:
            _restate(self._now, stated, changed)
        return self.get(key) or ""

    @property
    def stated(self) -> dict[str, str]:
        """What was set, by name in small letters."""
        return dict(self._now)

    def _checked(self, name: str, key: str, value: str) -> str:
        if len(value) > LONGEST:
            raise Refused.setting(name, value[:40], f"at most {LONGEST} characters")
        if key.startswith(OWN):
            if key not in CHECKS:
                raise Refused.unknown_setting(name, tuple(CHECKS))
            return CHECKS[key](name, value)
        if key in ACCEPTED and value.strip().strip("'\"").lower() not in ACCEPTED[key]:
            raise Refused.setting(name, value, f"{ACCEPTED[key][0].upper()}, the only one here")
        if key == "datestyle" and not value.strip().lower().startswith("iso"):
            raise Refused.setting(name, value, "ISO, the only one here")
        if key in {one.lower() for one in FIXED} and key not in ANYTHING_GOES:
            raise Refused.fixed_setting(name)
        return self.get(key) or value if key in ANYTHING_GOES else value

    def reset_all(self) -> None:
        """Goes back to the start of the session."""
        self._now = dict(self.first)
        self._kept = None if self._kept is None else dict(self.first)

    def begin(self) -> None:
        """Remembers what a rollback brings back, unless a transaction has begun."""
        if self._kept is not None:
            return
        self._before, self._kept, self._points = dict(self._now), dict(self._now), []

    def save(self, name: str) -> None:
        """Remembers what a rollback to a savepoint brings back.

        Raises:
            Refused: there are too many.
        """
        if len(self._points) >= MOST_POINTS:
            raise Refused(TOO_LONG, f"Expected at most {MOST_POINTS} savepoints, got more.", "release some.")
        self._points.append((name, dict(self._now), dict(self._kept or {})))

    def leave(self, name: str, *, keep: bool) -> None:
        """Forgets a savepoint and those after it, or without `keep` goes back to it.

        Raises:
            Refused: there is none of this name.
        """
        place = max((i for i, (held, _, _) in enumerate(self._points) if held == name), default=None)
        if place is None:
            raise Refused(
                SAVEPOINT, f"Expected a savepoint of this transaction, got {name!r}.", "SAVEPOINT name first."
            )
        if not keep:
            self._now, self._kept = (dict(held) for held in self._points[place][1:])
        del self._points[place + (not keep) :]

    def end(self, *, keep: bool) -> None:
        """Ends the transaction: without `keep` all is as before it, with it all but what was local."""
        if self._kept is not None:
            self._now = self._kept if keep else self._before
        self._kept = None

    def everything(self) -> list[tuple[str, str]]:
        """All names and values, for SHOW ALL and pg_settings."""
        names = dict.fromkeys((*FIXED, *CHANGEABLE, *DEFAULTS, *CHECKS))
        return sorted((name, self.get(name) or "") for name in names)

    def price(self, default: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """What a question is to cost, in the words of an ask; the default of the role where nothing is set."""
        said: dict[str, Any] = {}
        delta = self.get("discreet.delta")
        if within := self.get("discreet.within"):
            said = {"within": amounts(within), "confidence": float(self.get("discreet.confidence") or "0.95")}
        elif rho := self.get("discreet.rho"):
            said = {"rho": rho}
        elif epsilon := self.get("discreet.epsilon"):
            said = {"epsilon": epsilon}
        elif default:
            said = dict(default)
        if said and delta:
            said["delta"] = delta
        return said or None


def amounts(shown: str) -> dict[str, str]:
    """The columns and amounts of a setting.

    >>> amounts("n=25, v=0.5")
    {'n': '25', 'v': '0.5'}
    """
    return {name.strip(): amount.strip() for name, _, amount in (part.partition("=") for part in shown.split(","))}


def _restate(held: dict[str, str], stated: Mapping[str, str], names: Iterable[str]) -> None:
    """Makes some settings what is stated of them, and takes the others of these away."""
    for name in names:
        held.pop(name, None)
        if name in stated:
            held[name] = stated[name]


def _key(name: str) -> str:
    return name.lower().replace("transaction isolation level", "transaction_isolation").replace(" ", "")
