"""Tokens: 256 random bits that are shown once, and of which only hashes are kept.

Claim
    Whoever reads the store, or compares times, learns no token; who guesses finds none.
Requires
    The operating system's randomness.
Relies on
    `noise.entropy.random_key`: 256 bits, or an error. SHA-256 is one-way on 256 random bits, so it needs no salt and no
    slow hash: there is no dictionary of them.
Proof
    A token is 32 random bytes in text; the store has its SHA-256. It is found by that hash, whose comparison tells at
    most bits of a hash, which are no help in finding 256 bits; and compared once more in constant time. A token of
    another form is refused before the store is asked, by its form alone.
Rounding
    None.
Source
    RFC 6750 (bearer tokens); OWASP ASVS 4.0, 2.9 and 3.5.
Mutant
    tokens-are-stored: the store has the token itself; killed by test_only_hashes_are_stored.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from discreet.noise.entropy import random_key

PREFIX = "dst_"
"""By which a token is known for one where it should not be, in a log or a repository."""
_FORM = re.compile(r"dst_[A-Za-z0-9_-]{43}")


def new_token() -> str:
    """A new token.

    >>> len(new_token())
    47
    """
    return PREFIX + base64.urlsafe_b64encode(random_key()).decode().rstrip("=")


def is_token(text: object) -> bool:
    """Whether this has the form of a token."""
    return isinstance(text, str) and _FORM.fullmatch(text) is not None


def hash_of(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two hashes are equal, in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


def new_id() -> str:
    """A name that nobody guesses: 128 random bits."""
    return random_key()[:16].hex()
