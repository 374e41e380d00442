"""Principals with their roles and tokens, as the state store has them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidParameter, expected
from discreet.service.roles import Principal, Role
from discreet.service.service_errors import OTHER_GROUP, Conflict, forbidden, not_signed_in
from discreet.service.state_store import Execute, Rows, StateStore
from discreet.service.tokens import hash_of, is_token, new_id, new_token, same

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
TOKEN, SESSION = "token", "session"
LONGEST_LIFE = 366 * 86400.0
SESSION_LIFE = 12 * 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRecord:
    """What is known of a token; not the token."""

    id: str
    principal: str
    created: float
    expires: float | None
    revoked: float | None


_WITH_ROLES = "principal.is_operator, member.dataset, member.role, member.grouped"
_ROLES = "LEFT JOIN member ON member.principal = principal.name"
_OF_NAME = f"SELECT {_WITH_ROLES} FROM principal {_ROLES} WHERE principal.name = ?"  # noqa: S608 (own words)
_OF_TOKEN = (
    f"SELECT token.hash, token.principal, token.expires, token.revoked, token.kind, {_WITH_ROLES} "  # noqa: S608 (as above)
    f"FROM token LEFT JOIN principal ON principal.name = token.principal {_ROLES} WHERE token.hash = ?"
)


def principal_name(name: object) -> str:
    """A name for a principal."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        cure = "use letters, digits and . _ @ + -, at most 100."
        shown = name[:100] if isinstance(name, str) else type(name).__name__
        raise InvalidParameter(expected("a name for a principal", "name", shown, cure))
    return name


class Members:
    """The principals of a store."""

    def __init__(self, store: StateStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def authenticate(self, token: object) -> Principal:
        """Who sends a token or has a session.

        Raises:
            NotSignedIn: nobody; the reason is not said.
        """
        return self._holder(token)[0]

    def _holder(self, token: object) -> tuple[Principal, float | None, str]:
        """Whose token this is, until when, and whether it is one or the secret of a session; of one moment."""
        if not is_token(token):
            raise not_signed_in()
        hashed = hash_of(str(token))
        rows = self._store.read(_OF_TOKEN, hashed)
        for stored, name, expires, revoked, kind, *_ in rows[:1]:  # of one token, as often as its principal has a role
            if same(stored, hashed) and revoked is None and (expires is None or self._clock() < expires):
                return _principal(name, [row[5:] for row in rows]), expires, kind
        raise not_signed_in()

    def principal(self, name: str) -> Principal:
        """Somebody, with the roles of now; without any, where nobody has this name."""
        return _principal(name, self._store.read(_OF_NAME, name))

    def exists(self, name: str) -> bool:
        """Whether there is a principal of this name."""
        return bool(self._store.read("SELECT 1 FROM principal WHERE name = ?", name))

    def everybody(self) -> list[Principal]:
        """All principals."""
        return [self.principal(name) for (name,) in self._store.read("SELECT name FROM principal ORDER BY name")]

    def of(self, dataset: str) -> list[dict[str, Any]]:
        """The members of a data set, by name and role."""
        sql = "SELECT principal, role, grouped FROM member WHERE dataset = ? ORDER BY principal, role"
        return [{"name": name, "role": role, "group": group} for name, role, group in self._store.read(sql, dataset)]

    def add(self, name: str, *, operator: bool = False) -> None:
        """Makes a principal, or makes one an operator."""
        principal_name(name)
        sql = (
            "INSERT INTO principal VALUES (?, ?) ON CONFLICT (name) "
            "DO UPDATE SET is_operator = CASE WHEN excluded.is_operator = 1 THEN 1 ELSE principal.is_operator END"
        )
        self._store.write(lambda execute: execute(sql, name, int(operator)))

    def give(self, name: str, dataset: str, role: Role) -> None:
        """Gives a role for a data set; of an analyst, in no group, unless they are in one."""
        self.add(name)
        sql = "INSERT INTO member VALUES (?, ?, ?, NULL) ON CONFLICT (principal, dataset, role) DO NOTHING"
        self._store.write(lambda execute: execute(sql, name, dataset, role.value))

    def admit(self, name: str, dataset: str, group: str | None) -> None:
        """Makes somebody an analyst of a data set, in a group or not.

        Raises:
            Conflict: they are an analyst of it already, in another group.
        """
        self.add(name)
        sql = (
            "INSERT INTO member VALUES (?, ?, ?, ?) ON CONFLICT (principal, dataset, role) "
            "DO UPDATE SET grouped = excluded.grouped "
            "WHERE COALESCE(member.grouped, '') = COALESCE(excluded.grouped, '') RETURNING principal"
        )
        if not self._store.write(lambda execute: execute(sql, name, dataset, Role.ANALYST.value, group)):
            raise Conflict(OTHER_GROUP)

    def issue(self, name: str, *, expires: float | None = None, kind: str = TOKEN) -> tuple[str, TokenRecord]:
        """A new token for a principal, which is shown this once, and its record."""
        if not self.exists(principal_name(name)):
            raise forbidden()
        now = self._clock()
        if expires is not None and not now < expires <= now + LONGEST_LIFE:
            raise InvalidParameter(expected("a time within a year from now", "expires", expires, "give one, or none."))
        return self._made(name, expires, kind)

    def _made(self, name: str, expires: float | None, kind: str, of: str | None = None) -> tuple[str, TokenRecord]:
        """A new token; one that is begun `of` another, by its hash, only while that one holds, and so ended with it."""
        token, now = new_token(), self._clock()
        record = TokenRecord(id=new_id(), principal=name, created=now, expires=expires, revoked=None)

        def work(execute: Execute) -> None:
            if of is not None and not execute("SELECT 1 FROM token WHERE hash = ? AND revoked IS NULL", of):
                raise not_signed_in()  # revoked since it was looked up: who revoked it ended the sessions of then
            sql = "INSERT INTO token (hash, id, principal, created, expires, kind) VALUES (?, ?, ?, ?, ?, ?)"
            execute(sql, hash_of(token), record.id, name, now, expires, kind)

        self._store.write(work)
        return token, record

    def session(self, name: str) -> str:
        """The secret of a new session, for a cookie; it signs in like a token, for twelve hours."""
        return self.issue(name, expires=self._clock() + SESSION_LIFE, kind=SESSION)[0]

    def sign_in(self, token: object) -> str:
        """The secret of a session for whoever has a token, no longer than the token itself; a session begins no other.

        Raises:
            NotSignedIn: it is no token.
        """
        who, expires, kind = self._holder(token)
        if kind != TOKEN:
            raise not_signed_in()
        end = self._clock() + SESSION_LIFE
        until = end if expires is None else min(end, expires)
        return self._made(who.name, until, SESSION, of=hash_of(str(token)))[0]

    def tokens(self) -> list[TokenRecord]:
        """All tokens, without sessions."""
        sql = "SELECT id, principal, created, expires, revoked FROM token WHERE kind = ? ORDER BY created, id"
        names = ("id", "principal", "created", "expires", "revoked")
        return [TokenRecord(**dict(zip(names, row, strict=True))) for row in self._store.read(sql, TOKEN)]

    def revoke(self, identity: str) -> None:
        """Ends a token, by its id, and all sessions of its principal: one of them may have been begun with it."""
        now = self._clock()

        def work(execute: Execute) -> bool:
            sql = "UPDATE token SET revoked = COALESCE(revoked, ?) WHERE id = ? RETURNING principal"
            ended = execute(sql, now, identity)
            for (name,) in ended:
                sql = "UPDATE token SET revoked = COALESCE(revoked, ?) WHERE principal = ? AND kind = ?"
                execute(sql, now, name, SESSION)
            return bool(ended)

        if not self._store.write(work):
            raise forbidden()

    def sign_out(self, secret: object) -> None:
        """Ends the session, or the token, that this is the secret of, if there is one."""
        if is_token(secret):
            sql = "UPDATE token SET revoked = COALESCE(revoked, ?) WHERE hash = ?"
            self._store.write(lambda execute: execute(sql, self._clock(), hash_of(str(secret))))


def _principal(name: str, rows: Rows) -> Principal:
    """Somebody, of rows with whether they are an operator, and a data set, role and group each, where there is one."""
    roles: dict[str, set[Role]] = {}
    groups: dict[str, str] = {}
    for _, dataset, role, grouped in rows:
        if role is not None:
            roles.setdefault(dataset, set()).add(Role(role))
            if grouped and role == Role.ANALYST:
                groups[dataset] = grouped
    return Principal(name=name, roles=roles, groups=groups, operator=any(row[0] for row in rows))


def roles_of(principal: Principal) -> Mapping[str, list[str]]:
    """The roles of somebody by data set, ready for JSON."""
    return {name: sorted(role.value for role in roles) for name, roles in sorted(principal.roles.items())}
