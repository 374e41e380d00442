"""A retried task repeats its noise; different cells and different releases share none of it."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError, InvalidParameter
from discreet.noise import keyed_streams
from discreet.noise.entropy import is_private
from discreet.noise.gaussian import RoundedNormal
from discreet.noise.keyed_streams import ReleaseKey
from discreet.noise.laplace import DiscreteLaplace


@pytest.mark.parametrize("name", ["north", "", 7, 2**70])
def test_a_retried_task_repeats_its_noise(name: str | int) -> None:
    """Byte for byte, in another process too, where only the secret is known; in parts as in one."""
    key = ReleaseKey.fresh()
    again = ReleaseKey(pickle.loads(pickle.dumps(key.secret)))  # noqa: S301 - our own bytes
    for law in (DiscreteLaplace.of_scale(Fraction(1000)), RoundedNormal.of_variance(Fraction(10**12))):
        assert law.sample(5000, key.cell(name)).tobytes() == law.sample(5000, again.cell(name)).tobytes()
    words = key.cell(name)
    np.testing.assert_array_equal(np.concatenate([words(3), words(0), words(997)]), key.cell(name)(1000))


def test_cells_have_words_of_their_own() -> None:
    """Names, numbers and releases: no two of 4 x 1,000 words agree."""
    key = ReleaseKey.fresh()
    drawn = [key.cell("1"), key.cell(1), key.cell("2"), ReleaseKey.fresh().cell("1")]
    assert np.unique(np.concatenate([words(1000) for words in drawn])).size == 4000


def test_words_are_private_and_their_own() -> None:
    words = ReleaseKey.fresh().cell("a")
    assert is_private(words)
    one = words(4)
    one[:] = 0
    assert words(4).all()


def test_words_of_a_supplied_secret_are_not_called_private() -> None:
    """Not even of one that came from the system: a caller's word is no proof. A key assigned later is none either."""
    key = ReleaseKey.fresh()
    assert not is_private(ReleaseKey(key.secret).cell("a"))
    assert not is_private(ReleaseKey(bytes(32)).cell("a"))
    with pytest.raises(AttributeError):
        key.secret = bytes(32)  # type: ignore[misc]  # what is tried


def test_the_secret_is_not_shown() -> None:
    key = ReleaseKey.fresh()
    assert repr(key) == "ReleaseKey(...)"


def test_a_cell_ends_where_its_key_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_streams, "KEY_LIFETIME_BYTES", 80)
    words = ReleaseKey.fresh().cell("a")
    words(9)
    with pytest.raises(DiscreetError, match="at most 8 bytes more"):
        words(2)


@pytest.mark.parametrize("secret", [b"", bytes(31), "x" * 32, None], ids=repr)
def test_secrets_that_are_none_are_refused(secret: bytes) -> None:
    with pytest.raises(InvalidParameter, match="a secret of 32 bytes"):
        ReleaseKey(secret)


@pytest.mark.parametrize("name", [None, 1.0, True, b"a"], ids=repr)
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(InvalidParameter, match="the name of a cell"):
        ReleaseKey.fresh().cell(name)
