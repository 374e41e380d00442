"""From totals to what is stored: everything blurred, nothing below the threshold, and an order that tells nothing."""

from __future__ import annotations

from fractions import Fraction

import ibis
import numpy as np
import pyarrow as pa
import pytest

from discreet.logs.item_threshold import ItemThreshold
from discreet.logs.thresholded_log import ThresholdedLog, released_extra, released_people, released_users, shares
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.testing import chi_square_p, splitmix
from discreet.testing.statistics import laplace_survival

PRICE = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**5))
FALSE_ALARM = 1e-9


def log(*, max_items: int = 1, max_count: int = 1, noise: str | None = "laplace") -> ThresholdedLog:
    screen = ItemThreshold.of(
        epsilon=PRICE.epsilon, delta=PRICE.delta, max_items=max_items, max_count=max_count, noise=noise
    )
    return ThresholdedLog(
        what="a log",
        guarantee=PRICE,
        neighbors=Neighbors.ADD_REMOVE,
        unit="who",
        screen=screen,
        expression=ibis.table({"item": "string"}, name="never_read"),
    )


def found(users: list[int], extra: list[int] | None = None) -> pa.Table:
    names = [f"item {i}" for i in range(len(users))]
    return pa.table(
        {
            "item": pa.array(names, pa.string()),
            "users": pa.array(users, pa.int64()),
            "extra": pa.array(extra or [0] * len(users), pa.int64()),
            "first": pa.array(users, pa.int64()),
        }
    )


def test_frequent_items_are_shown_and_rare_ones_hidden() -> None:
    shown = log().add_noise(found([1, 5000, 2, 90]), splitmix(1))
    assert shown["item"].to_pylist() == ["item 1", "item 3"]
    assert released_users(shown, log().screen) == pytest.approx([5000, 90], abs=40)


def test_shown_items_are_sorted_by_what_is_shown() -> None:
    screen = log(noise="gaussian")
    for seed in range(5):
        noisy = released_users(screen.add_noise(found([60] * 50), splitmix(seed)), screen.screen)
        assert list(noisy) == sorted(noisy, reverse=True)
    with_counts = log(max_count=5)
    shown = with_counts.add_noise(found([500, 400], [0, 1600]), splitmix(0))
    assert shown["item"].to_pylist() == ["item 0", "item 1"]
    assert released_extra(shown) == pytest.approx([0, 1600], abs=100)


def test_the_number_of_users_is_blurred() -> None:
    """200 draws: the number of users takes more than 20 values; a miss is less likely than 1e-9."""
    one, chance = log(), splitmix(5)
    drawn = [released_people(one.add_noise(found([1000]), chance), one.screen) for _ in range(200)]
    assert len(set(drawn)) > 20
    assert np.mean(drawn) == pytest.approx(1000, abs=10)


@pytest.mark.parametrize(("shift", "holds"), [(0, True), (1, False)])
def test_users_have_the_law_of_their_noise(shift: int, *, holds: bool) -> None:
    """40,000 draws against the discrete Laplace law, at a false-alarm rate of 1e-9; a shift by one step is caught."""
    sound, words = log(), splitmix(11)
    many = found([1000] * 40_000)
    drawn = sound.add_noise(many, words)["presence"].to_numpy() - 1000 * sound.screen.steps + shift
    assert (chi_square_p(drawn, laplace_survival(float(sound.screen.scale))) > FALSE_ALARM) is holds


@pytest.mark.parametrize("max_count", [1, 3])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_an_empty_log_gives_an_empty_answer(noise: str, max_count: int) -> None:
    sound = log(noise=noise, max_count=max_count)
    shown = sound.add_noise(found([]), splitmix(1))
    assert shown.num_rows == 0
    assert shown.schema.field("item").type == pa.string()
    assert released_people(shown, sound.screen) >= 1


def test_enormous_noise_is_no_error() -> None:
    tiny = Guarantee(epsilon=Fraction(1, 10**30), delta=Fraction(1, 10**5))
    for noise in ("gaussian", "laplace"):
        screen = ItemThreshold.of(epsilon=tiny.epsilon, delta=tiny.delta, max_items=1, noise=noise)
        sound = ThresholdedLog(
            what="x",
            guarantee=tiny,
            neighbors=Neighbors.ADD_REMOVE,
            unit="who",
            screen=screen,
            expression=ibis.table({"item": "string"}, name="never_read"),
        )
        assert sound.add_noise(found([10]), splitmix(2)).num_rows in (0, 1)


def test_the_receipt_says_what_is_promised() -> None:
    facts = log(max_items=3).facts
    assert facts["guarantee"].startswith("(1, 0.00001)-differential privacy for add-remove neighbors")
    assert facts["limits"] == {"max_items": 3, "max_count": 1}


def test_replace_one_is_two_steps() -> None:
    epsilon, delta = shares(PRICE, Neighbors.REPLACE_ONE)
    assert epsilon == Fraction(1, 2)
    assert float(delta) * (1 + np.exp(0.5)) == pytest.approx(1e-5, rel=1e-12)
    assert float(delta) * (1 + np.exp(0.5)) <= 1e-5
