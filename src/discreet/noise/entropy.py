"""Random words from the operating system: the only source of randomness.

Claim
    ``fresh_words()(n)`` returns n words of 64 bits. All words ever returned, by all streams of all threads and all
    processes, are independent and uniform, up to the distance of AES-256 from a random permutation and of
    `os.urandom` from chance.
Requires
    A machine whose memory is not copied while it runs: two resumptions of one snapshot of a virtual machine may draw
    the same words, until each draws its next key. One stream per release keeps that window to one release.
Relies on
    ``os.urandom(32)``: 256 uniform bits, or an error. OpenSSL's AES-256-CTR through `cryptography`, whose
    ``update_into`` writes as many bytes as it reads. `os.register_at_fork`, and process numbers that a fork changes.
Proof
    A key serves one counter that starts at 0 and only moves on, by one lock-holder at a time; so no block is
    encrypted twice under a key. Nothing can set a key or a counter: they come from the system and are no argument.
    Nothing can copy them: copying and pickling are refused, and a forked child, which inherits both, meets an owner
    that is not itself and draws a new key before it returns a word. The owner is the process number and the number of
    forks above it, so a grandchild that is given its grandparent's number is told apart. Under one key the encrypted
    counters are distinct blocks; 2**29 of them differ from uniform by at most 2**58 / 2**129, after which the key is
    replaced.
Rounding
    None.
Source
    NIST SP 800-38A, 6.5: counter mode. Bellare, Desai, Jokipii, Rogaway, A Concrete Security Treatment of Symmetric
    Encryption (FOCS 1997): its distance from chance.
Mutant
    child-keeps-the-key: a forked child goes on with its parent's words; killed by test_a_child_draws_its_own_words.
    short-key: a short answer of the system is padded with zeros; killed by test_a_short_answer_is_refused.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.process_identity import this_process

RandomWords = Callable[[int], NDArray[np.uint64]]
"""A source of chance: ``words(n)`` returns n independent uniform 64-bit words, shape (n,)."""

KEY_BYTES = 32
BLOCK_BYTES = 1 << 16
"""Words are made in blocks of this size, which stay in the cache nearest to the core."""

KEY_LIFETIME_BYTES = 1 << 33
"""After so many bytes a key is replaced: far below the end of the counter, and see the proof."""

SPARE_BYTES = 15
"""Some versions of `cryptography` ask for one cipher block more than they write, less one byte."""

_ZEROS = bytes(BLOCK_BYTES)


def random_key() -> bytes:
    """A key from the operating system, whole or not at all.

    Raises:
        DiscreetError: the operating system gave none, or not all of it.

    >>> len(random_key())
    32
    """
    cure = "the operating system's random source is broken: repair it (see getrandom(2)); nothing was released."
    try:
        key = os.urandom(KEY_BYTES)
    except (OSError, NotImplementedError) as failure:
        got = type(failure).__name__
        raise DiscreetError(expected(f"{KEY_BYTES} random bytes", "os.urandom", got, cure)) from failure
    if len(key) != KEY_BYTES or not any(key):
        raise DiscreetError(expected(f"{KEY_BYTES} random bytes", "len(os.urandom)", len(key), cure))
    return key


class _Keystream:
    """One owner's place in the keystream."""

    __slots__ = ("_encryptor", "_left", "lock", "owner")

    def __init__(self) -> None:
        self.owner = this_process()  # before the key: a fork in between then makes the key a foreign one
        self.lock = threading.RLock()  # a signal handler may release too, in the thread that holds the lock
        self._rekey()

    def _rekey(self) -> None:
        # The counter may start at a constant because no key is used for a second stretch.
        self._encryptor = Cipher(algorithms.AES(random_key()), modes.CTR(bytes(16))).encryptor()
        self._left = KEY_LIFETIME_BYTES

    def draw(self, n: int) -> NDArray[np.uint64]:
        """The next n words."""
        size = 8 * n
        raw = np.empty(size + SPARE_BYTES, dtype=np.uint8)
        target = raw.data
        with self.lock:
            for start in range(0, size, BLOCK_BYTES):
                length = min(BLOCK_BYTES, size - start)
                if self._left < length:
                    self._rekey()
                self._left -= length
                zeros = _ZEROS if length == BLOCK_BYTES else _ZEROS[:length]
                self._encryptor.update_into(zeros, target[start : start + length + SPARE_BYTES])
        return raw[:size].view(np.uint64)


_ACCESS = set[object]()
"""The functions whose words come from the operating system."""

WordsOf = TypeVar("WordsOf", bound=Callable[..., NDArray[np.uint64]])


def entropy_access(words: WordsOf) -> WordsOf:
    """Marks the method of a `EntropySource` that returns words made under a key of the operating system, and no other.

    >>> entropy_access(Stream.words) is Stream.words
    True
    """
    _ACCESS.add(words)
    return words


class EntropySource:
    """What draws its words under a key: of the operating system, unless `supplied` says that a caller gave it."""

    __slots__ = ()

    supplied: bool = False

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuses `copy`, `deepcopy` and `pickle`, which all come through here."""
        cure = "a copy would draw the same noise again; make a new Stream() where you need one."
        raise InvalidParameter(expected("a stream that stays where it is", "copy of", "Stream", cure))


class Stream(EntropySource):
    """A stream of random words under a key of its own, drawn from the operating system.

    It takes no seed, and no word comes out of it twice: not in another thread, not in a forked child (which gets a key
    of its own), and not from a copy, because `copy`, `deepcopy` and `pickle` are refused.

    Raises:
        DiscreetError: the operating system gave no key, or not all of it.

    >>> Stream().words(3).shape
    (3,)
    """

    __slots__ = ("_keystream",)

    def __init__(self) -> None:
        self._keystream = _Keystream()

    @entropy_access
    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n independent uniform 64-bit words.

        Returns:
            Shape (n,), dtype uint64, in memory of its own.

        Raises:
            InvalidParameter: n is not a count.
            DiscreetError: a new key was due and the operating system gave none.
        """
        n = count("n", n)
        while True:
            keystream = self._keystream
            if keystream.owner != this_process():
                # Two threads may both get here. Each then draws under its own key, and one key is forgotten.
                keystream = self._keystream = _Keystream()
            drawn = keystream.draw(n)
            if keystream.owner == this_process():  # a signal handler may have forked between these lines
                return drawn


def fresh_words() -> RandomWords:
    """A source of random words under a key that nothing else uses: take one per release.

    Raises:
        DiscreetError: the operating system gave no key, or not all of it.

    >>> words = fresh_words()
    >>> words(2).dtype
    dtype('uint64')
    """
    return Stream().words


def is_private(words: RandomWords) -> bool:
    """Whether `words` draws from the operating system, so that noise made of it may be called private.

    Of a key that a caller supplied nobody can say where it comes from, so its words are not called private.

    >>> is_private(fresh_words()), is_private(lambda n: np.zeros(n, dtype=np.uint64))
    (True, False)
    """
    source = getattr(words, "__self__", None)
    return isinstance(source, EntropySource) and not source.supplied and getattr(words, "__func__", None) in _ACCESS


def draw(words: RandomWords, n: int) -> NDArray[np.uint64]:
    """`words(n)`, with the part of its promise checked that can be: n words of 64 bits.

    NumPy would stretch a single word over a whole vector; a source that falls short must not end like that.

    Raises:
        DiscreetError: the source returned something else.
    """
    drawn = words(n)
    if not isinstance(drawn, np.ndarray) or drawn.shape != (n,) or drawn.dtype != np.uint64:
        cure = "a source of words returns numpy.uint64 arrays of shape (n,)."
        raise DiscreetError(expected(f"{n} words of 64 bits", "shape", np.shape(drawn), cure))
    return drawn
