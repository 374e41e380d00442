"""Streams of random words by a key: a retried task draws the same words again.

Claim
    ``ReleaseKey.fresh().cell(name)`` is a source of words of 64 bits. All words of all cells of all release keys are
    independent and uniform, up to the distance of HMAC-SHA-256 from a random function, of AES-256 from a random
    permutation and of `os.urandom` from chance. The same key and cell give the same words again, from the first.
Requires
    One key serves one release: every use of a cell's words adds them to the same exact total. Whoever knows the key
    knows the noise, so it is stored and sent as the totals are.
Relies on
    `entropy.random_key`: 256 uniform bits of the system. HMAC-SHA-256 of Python's `hmac`; OpenSSL's AES-256-CTR
    through `cryptography`.
Proof
    The cells' keys are HMACs of their names, which differ: values of a random function at different places, so
    independent and uniform. Each key encrypts counters from 0, no more than 2**29 blocks of them, whose distance from
    uniform words is at most 2**58 / 2**129; beyond, the source refuses. A source starts at the cell's first word and
    only moves on, so a task that is run again from the start meets the same words in the same order, provided that it
    asks for as many words in each call: a call's words do not depend on how earlier calls were split.
Rounding
    None.
Source
    Bellare, Canetti, Krawczyk, Keying hash functions for message authentication (CRYPTO 1996). NIST SP 800-38A, 6.5.
Mutant
    cells-share-a-stream: the cell's name does not enter its key; killed by test_cells_have_words_of_their_own.
    stream-goes-on: a second source of a cell continues where the first ended; killed by
    test_a_retried_task_repeats_its_noise.
"""

from __future__ import annotations

import hmac

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.entropy import KEY_BYTES, KEY_LIFETIME_BYTES, EntropySource, RandomWords, entropy_access, random_key


class ReleaseKey:
    """The secret of one release, from which each of its cells has a stream of its own.

    Make one with `ReleaseKey.fresh()`, send its `secret` to where the noise is added, and forget it with the release.
    `is_private` holds for words of a fresh key only: a secret that is handed in might be known to anybody.

    >>> key = ReleaseKey.fresh()
    >>> bool((key.cell("2024-01")(3) == ReleaseKey(key.secret).cell("2024-01")(3)).all())
    True
    """

    __slots__ = ("_secret", "_supplied")

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != KEY_BYTES:
            cure = "take ReleaseKey.fresh(), or the secret of one."
            raise InvalidParameter(expected(f"a secret of {KEY_BYTES} bytes", "type", type(secret).__name__, cure))
        self._secret = secret
        self._supplied = True

    @property
    def secret(self) -> bytes:
        """What repeats the noise: to be kept as the totals are."""
        return self._secret

    @classmethod
    def fresh(cls) -> ReleaseKey:
        """A key that nothing else uses, from the operating system.

        Raises:
            DiscreetError: the system gave none.
        """
        key = cls(random_key())
        key._supplied = False
        return key

    def __repr__(self) -> str:
        return "ReleaseKey(...)"

    def cell(self, name: str | int) -> RandomWords:
        """The words of one cell, from the first.

        Args:
            name: text, or a whole number; 1 and "1" are different cells.

        Raises:
            InvalidParameter: the name is neither.
        """
        if isinstance(name, bool) or not isinstance(name, str | int):
            cure = "name a cell by its key as text, or by its number."
            raise InvalidParameter(expected("the name of a cell", "name", name, cure))
        key = hmac.digest(self._secret, f"{type(name).__name__}:{name}".encode(), "sha256")
        return CellStream(key, supplied=self._supplied).words


class CellStream(EntropySource):
    """The words of one cell; `ReleaseKey.cell` makes them."""

    __slots__ = ("_encryptor", "_left", "supplied")

    def __init__(self, key: bytes, *, supplied: bool) -> None:
        self.supplied = supplied
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._left = KEY_LIFETIME_BYTES

    @entropy_access
    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words of this cell.

        Raises:
            InvalidParameter: n is not a count.
            DiscreetError: the cell has used up what one key may encrypt (8 GB).
        """
        size = 8 * count("n", n)
        if size > self._left:
            cure = "split the cell's values over several cells."
            raise DiscreetError(expected(f"at most {self._left} bytes more from this cell", "bytes", size, cure))
        self._left -= size
        return np.frombuffer(self._encryptor.update(bytes(size)), dtype=np.uint64).copy()
