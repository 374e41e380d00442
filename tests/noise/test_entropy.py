"""RandomWords come from the operating system alone, are uniform, and never come twice."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InvalidParameter
from discreet.noise import entropy
from discreet.noise.entropy import Stream, draw, fresh_words, is_private
from discreet.noise.process_identity import this_process
from discreet.testing.statistics import binomial_p, chi_square_p

FALSE_ALARM = 1e-9
FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def keystream(key: bytes, n: int) -> NDArray[np.uint64]:
    """The first n words under a key, from the cipher itself."""
    cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * n)), dtype=np.uint64)


def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The keys drawn from the operating system from now on."""
    drawn, ask = list[bytes](), os.urandom

    def recorded(n: int) -> bytes:
        drawn.append(ask(n))
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", recorded)
    return drawn


def in_child(action: Callable[[], bytes]) -> bytes:
    """What `action` returns in a forked child, which gets ten seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        threading.Timer(10, os._exit, (1,)).start()
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(action())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


@pytest.mark.parametrize("n", [0, 1, 8191, 8192, 8193, 20_001])
def test_words_have_the_shape_asked_for(n: int) -> None:
    words = fresh_words()(n)
    assert words.shape == (n,)
    assert words.dtype == np.uint64
    assert words.flags.writeable


def test_words_are_the_keystream_without_gap_or_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    used = keys(monkeypatch)
    words = Stream().words
    pieces = [words(n) for n in (1, 0, 5, 8192, 3, 20_000, 1)]
    np.testing.assert_array_equal(np.concatenate(pieces), keystream(used[0], 28_202))
    assert len(used) == 1


def test_no_word_comes_twice() -> None:
    """A million words of four streams are distinct; by chance two agree with probability 3e-8."""
    drawn = [words(62_500) for words in [fresh_words() for _ in range(4)] for _ in range(4)]
    assert np.unique(np.concatenate(drawn)).size == 1_000_000


def test_words_are_uniform() -> None:
    """A quarter of a million words: bytes fill 256 cells alike, each bit is fair; the same words halved are caught."""
    words = fresh_words()(250_000)
    assert chi_square_p(words.view(np.uint8), lambda k: np.clip(1 - k / 256, 0, 1), cells=256) > FALSE_ALARM
    ones = [int(np.sum((words >> np.uint64(bit)) & np.uint64(1))) for bit in range(64)]
    assert min(binomial_p(k, words.size, 0.5) for k in ones) * 64 > FALSE_ALARM
    half = (words >> np.uint64(1)).view(np.uint8)
    assert chi_square_p(half, lambda k: np.clip(1 - k / 256, 0, 1), cells=256) < FALSE_ALARM


def test_a_key_is_replaced_at_the_end_of_its_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "KEY_LIFETIME_BYTES", 2 * entropy.BLOCK_BYTES)
    used = keys(monkeypatch)
    words = Stream().words(5 * 8192)
    assert len(used) == len(set(used)) == 3
    expected = np.concatenate([keystream(used[0], 16384), keystream(used[1], 16384), keystream(used[2], 8192)])
    np.testing.assert_array_equal(words, expected)


@FORKS
def test_a_child_draws_its_own_words() -> None:
    """The parent, three children and a grandchild go on from one stream with different words."""
    stream = Stream()
    stream.words(1)

    def of_this_process() -> bytes:
        return stream.words(4).tobytes()

    def of_a_grandchild() -> bytes:
        return in_child(of_this_process)

    drawn = [in_child(of_this_process) for _ in range(3)] + [in_child(of_a_grandchild), of_this_process()]
    assert [len(words) for words in drawn] == [32] * 5
    assert len(set(drawn)) == 5


@FORKS
def test_a_child_is_not_stopped_by_a_lock_it_inherited() -> None:
    stream = Stream()
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with stream._keystream.lock:
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        assert len(in_child(lambda: stream.words(1).tobytes())) == 8
    finally:
        release.set()
        holder.join()


@pytest.mark.parametrize("later", [(2, 0), (1, 1)], ids=["other number", "same number, one fork further"])
def test_another_process_is_known_by_its_number_or_its_forks(
    monkeypatch: pytest.MonkeyPatch, later: tuple[int, int]
) -> None:
    """Covers forks that Python is not told of, and a process number that was given out again."""
    used = keys(monkeypatch)
    monkeypatch.setattr(entropy, "this_process", lambda: (1, 0))
    stream = Stream()
    stream.words(1)
    monkeypatch.setattr(entropy, "this_process", lambda: later)
    np.testing.assert_array_equal(stream.words(2), keystream(used[1], 2))
    np.testing.assert_array_equal(stream.words(1), keystream(used[1], 3)[2:])


@FORKS
def test_forks_are_counted() -> None:
    assert in_child(lambda: str(this_process()[1]).encode()) == str(this_process()[1] + 1).encode()


def test_a_fork_in_the_middle_of_a_draw_starts_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    used = keys(monkeypatch)
    seen: Iterator[tuple[int, int]] = iter([(1, 0), (1, 0), (2, 1), (2, 1), (2, 1), (2, 1)])
    monkeypatch.setattr(entropy, "this_process", lambda: next(seen))
    np.testing.assert_array_equal(Stream().words(2), keystream(used[1], 2))


def test_threads_draw_different_words() -> None:
    stream, drawn = Stream(), list[NDArray[np.uint64]]()

    def work() -> None:
        drawn.extend([stream.words(1000) for _ in range(20)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.unique(np.concatenate(drawn)).size == 160_000


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError()], ids=repr)
def test_a_failing_system_is_an_error(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    def fail(_: int) -> bytes:
        raise failure

    stream = Stream()
    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(DiscreetError, match="Expected 32 random bytes"):
        fresh_words()
    monkeypatch.setattr(entropy, "this_process", lambda: (0, 0))
    with pytest.raises(DiscreetError, match="Hint"):
        stream.words(1)


@pytest.mark.parametrize("answer", [b"", b"\x07" * 31, b"\x07" * 33, bytes(32)], ids=len)
def test_a_short_answer_is_refused(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    monkeypatch.setattr(os, "urandom", lambda _: answer)
    with pytest.raises(DiscreetError, match="Expected 32 random bytes"):
        fresh_words()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_a_stream_is_not_copied(duplicate: Callable[[object], object]) -> None:
    with pytest.raises(InvalidParameter, match="draw the same noise again"):
        duplicate(Stream())
    if duplicate is not copy.copy:  # a second name for the same method draws from the same stream: no harm
        with pytest.raises(InvalidParameter, match="draw the same noise again"):
            duplicate(fresh_words())


def test_there_is_no_seed() -> None:
    assert not inspect.signature(Stream).parameters
    assert not inspect.signature(fresh_words).parameters
    with pytest.raises(TypeError):
        Stream(bytes(32))  # type: ignore[call-arg]  # the refusal is what is tested


def test_numpys_seed_changes_nothing() -> None:
    drawn = list[NDArray[np.uint64]]()
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002 - the global generator is what must not matter
        drawn.append(fresh_words()(4))
    assert not np.array_equal(drawn[0], drawn[1])


def test_only_streams_are_private() -> None:
    class Lookalike(Stream):
        def words(self, n: int) -> NDArray[np.uint64]:
            return np.zeros(n, dtype=np.uint64)

    assert is_private(fresh_words())
    assert not is_private(Lookalike().words)
    assert not is_private(lambda n: np.zeros(n, dtype=np.uint64))


@pytest.mark.parametrize(
    "answer",
    [np.zeros(1, dtype=np.uint64), np.zeros(4, dtype=np.int64), np.zeros((4, 1), dtype=np.uint64), [1, 2, 3, 4]],
    ids=["short", "signed", "column", "list"],
)
def test_a_source_that_falls_short_is_refused(answer: NDArray[np.uint64]) -> None:
    with pytest.raises(DiscreetError, match="Expected 4 words of 64 bits"):
        draw(lambda _: answer, 4)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="0 or more, got n=-1"):
        Stream().words(-1)
