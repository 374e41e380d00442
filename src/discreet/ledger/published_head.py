"""The end of a ledger's chain, to be printed, signed and published: by it, an old copy that was put back is found.

Claim
    `check_continues` accepts a ledger only if it has, at the position of a published head, the very lines that it had
    when the head was taken, up to a collision of SHA-256; a ledger that lost later lines, or in which any of those was
    changed, is refused. `check_signature` accepts a head only if whoever has the private key signed all that it says.
Requires
    The head was published where whoever can change the ledger cannot change it. The whole ledger is verified as well.
Relies on
    `hash_chain`: the hash of a line covers all lines before it. Ed25519 (RFC 8032), from the package cryptography.
Proof
    The head has the hash of the line at its position. If the verified ledger has that hash there, its lines up to there
    are those that the hash covers. If it has fewer lines, it lacks what the head saw. The signature is of one text that
    has every field but itself and the public key in it.
Rounding
    None.
Source
    Haber and Stornetta, How to Time-Stamp a Digital Document (1991); Crosby and Wallach, Efficient data structures for
    tamper-evident logging (2009).
Mutant
    any-head-continues: the hash at the position is not compared; killed by test_another_ledger_is_found.
    signature-of-nothing: the signed text lacks the hash; killed by test_a_changed_head_is_refused.
"""

from __future__ import annotations

import binascii
import json
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.exact.given_values import path_of
from discreet.ledger.hash_chain import DAMAGED, Head
from discreet.ledger.stored_lines import Database, now

_SIGNED = ("ledger", "position", "chain", "charges", "time")


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedHead:
    """Where the chain of a ledger ended at one moment, and who says so."""

    ledger: str
    """The hash of its first line, by which one ledger is told from another."""
    position: int
    """How many lines came before the last one."""
    chain: str
    """The hash of the last line, and so of all."""
    charges: int
    time: str
    """UTC, ISO 8601."""
    public_key: str = ""
    """The Ed25519 key that it is signed by, in hexadecimal digits; empty where it is not signed."""
    signature: str = ""

    def to_json(self) -> str:
        """One line that `from_json` reads."""
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def from_json(cls, text: str) -> PublishedHead:
        """What `to_json` wrote.

        >>> one = PublishedHead(ledger="ab", position=1, chain="cd", charges=1, time="2030-01-01T00:00:00.000+00:00")
        >>> PublishedHead.from_json(one.to_json()) == one
        True
        """
        cure = "give what `discreet ledger head` printed."
        try:
            found = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            found = None
        kinds = {field.name: int if field.type == "int" else str for field in fields(cls)}
        if not isinstance(found, dict) or set(found) != set(kinds):
            raise InvalidParameter(expected("the head of a ledger", "head", "another text", cure))
        for name, kind in kinds.items():
            if type(found[name]) is not kind:
                raise InvalidParameter(expected("the head of a ledger", name, type(found[name]).__name__, cure))
        return cls(**found)

    def signed(self, key_file: str | os.PathLike[str]) -> PublishedHead:
        """This head, signed by the private key in a file."""
        key = _private(key_file)
        return replace(
            self, public_key=key.public_key().public_bytes_raw().hex(), signature=key.sign(self._text()).hex()
        )

    def check_signature(self, public_key: str | None = None) -> None:
        """Refuses a head that is not signed, by this key if one is given, or was changed since."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if public_key is not None and public_key.strip().lower() != self.public_key:
            cure = "ask the curator which key signs the heads of this ledger."
            raise LedgerError(expected("a head signed by this key", "public_key", self.public_key or "none", cure))
        try:
            key = Ed25519PublicKey.from_public_bytes(binascii.unhexlify(self.public_key))
            key.verify(binascii.unhexlify(self.signature), self._text())
        except (InvalidSignature, ValueError) as error:
            cure = "take the head from where it was published; this one was changed, or never signed."
            raise LedgerError(expected("a signature that fits", "signature", self.signature or "none", cure)) from error

    def check_continues(self, database: Database, head: Head) -> None:
        """Refuses a verified ledger that lacks a line which this head has seen, or has another."""
        first = _chain_at(database, 0)
        if first != self.ledger:
            cure = (
                "give the head of this ledger; or it is another ledger, under the name of the one that was published."
            )
            raise LedgerError(expected("the ledger of this head", "ledger", "another one", cure))
        if head.position < self.position:
            found = f"{head.position + 1} of {self.position + 1}"
            raise LedgerError(expected("all lines that were published", "lines", found, DAMAGED))
        if _chain_at(database, self.position) != self.chain:
            raise LedgerError(expected("the lines that were published", "line", self.position, DAMAGED))

    def _text(self) -> bytes:
        facts: dict[str, Any] = {name: getattr(self, name) for name in _SIGNED}
        return b"discreet ledger head 1\n" + json.dumps(facts, sort_keys=True).encode()


def published(database: Database, head: Head) -> PublishedHead:
    """The head of a ledger, as it stands."""
    return PublishedHead(
        ledger=_chain_at(database, 0), position=head.position, chain=head.chain, charges=head.number, time=now()
    )


def make_key(path: str | os.PathLike[str]) -> str:
    """Writes a new private key into a file that only its owner can read, where nothing is; returns the public key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        with os.fdopen(os.open(path_of("key", path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(text)
    except OSError as error:
        cure = "give a path where nothing is, in a folder that can be written; a key is never replaced."
        raise LedgerError(expected("a path where nothing is", "key", os.fspath(path), cure)) from error
    return key.public_key().public_bytes_raw().hex()


def _private(path: str | os.PathLike[str]) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    name, cure = os.fspath(path), "make one: discreet ledger key curator.key."
    try:
        if os.name == "posix" and Path(path).stat().st_mode & 0o077:
            mode = f"{Path(path).stat().st_mode & 0o777:o}"
            raise LedgerError(expected("a key that only its owner can read", name, mode, f"chmod 600 {name}"))
        key = load_pem_private_key(Path(path).read_bytes(), password=None)
    except (OSError, TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise LedgerError(expected("the file of a private key", "key", name, cure)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise LedgerError(expected("an Ed25519 key", "key", name, cure))
    return key


def _chain_at(database: Database, position: int) -> str:
    [chain] = database.execute("SELECT chain FROM line WHERE position = ?", (position,)).fetchone() or [""]
    return str(chain)
