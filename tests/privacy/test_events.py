from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import LedgerError
from discreet.privacy import events

amounts = st.fractions(Fraction(1, 10**9), 10**9)
single = st.one_of(
    st.builds(events.LaplaceEvent, ratio=amounts),
    st.builds(events.DiscreteLaplaceEvent, sensitivity=amounts, scale=amounts),
    st.builds(events.GaussianEvent, mu2=amounts),
    st.builds(events.DiscreteGaussianEvent, sensitivity=amounts, sigma2=amounts),
    st.builds(events.StaircaseEvent, epsilon=amounts, gamma=st.fractions(0, 1)),
    st.builds(events.RandomizedResponseEvent, epsilon=amounts, categories=amounts),
    st.builds(events.PureEvent, epsilon=amounts),
    st.builds(events.ApproximateEvent, epsilon=amounts, delta=st.fractions(0, 1)),
    st.builds(events.BoundedRangeEvent, epsilon=amounts),
    st.builds(events.ConcentratedEvent, rho=amounts),
)
anything = st.recursive(
    single,
    lambda inner: st.builds(
        lambda some, times: events.composed(*some, times=times),
        st.lists(inner, min_size=1, max_size=3),
        st.integers(1, 9),
    ),
    max_leaves=5,
)

WRITTEN = {
    '{"event":"laplace","ratio":"1/10","version":1}': events.LaplaceEvent(ratio=Fraction(1, 10)),
    '{"event":"discrete-laplace","scale":"10","sensitivity":"1","version":1}': events.DiscreteLaplaceEvent(
        sensitivity=Fraction(1), scale=Fraction(10)
    ),
    '{"event":"gaussian","mu2":"4/9","version":1}': events.GaussianEvent(mu2=Fraction(4, 9)),
    '{"event":"discrete-gaussian","sensitivity":"2","sigma2":"5","version":1}': events.DiscreteGaussianEvent(
        sensitivity=Fraction(2), sigma2=Fraction(5)
    ),
    '{"epsilon":"1","event":"staircase","gamma":"0","version":1}': events.StaircaseEvent(
        epsilon=Fraction(1), gamma=Fraction(0)
    ),
    '{"categories":"3","epsilon":"1","event":"randomized-response","version":1}': events.RandomizedResponseEvent(
        epsilon=Fraction(1), categories=Fraction(3)
    ),
    '{"epsilon":"1/2","event":"pure","version":1}': events.PureEvent(epsilon=Fraction(1, 2)),
    '{"delta":"1/1000","epsilon":"1","event":"approximate","version":1}': events.ApproximateEvent(
        epsilon=Fraction(1), delta=Fraction(1, 1000)
    ),
    '{"epsilon":"1/2","event":"bounded-range","version":1}': events.BoundedRangeEvent(epsilon=Fraction(1, 2)),
    '{"event":"concentrated","rho":"1/2","version":1}': events.ConcentratedEvent(rho=Fraction(1, 2)),
    '{"counts":[3],"event":"composed","events":[{"event":"concentrated","rho":"1/2"}],"version":1}': events.composed(
        events.ConcentratedEvent(rho=Fraction(1, 2)), times=3
    ),
}


@given(anything)
def test_round_trip(event: events.Event) -> None:
    text = events.to_json(event)
    assert events.from_json(text) == event
    assert events.to_json(events.from_json(text)) == text


@pytest.mark.parametrize("text", WRITTEN)
def test_what_was_written_stays_readable(text: str) -> None:
    """The promise: these texts never change, and never change their meaning."""
    assert events.from_json(text) == WRITTEN[text]
    assert events.to_json(WRITTEN[text]) == text


def test_every_kind_has_its_text() -> None:
    assert {json.loads(text)["event"] for text in WRITTEN} == set(events.KINDS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "nonsense",
        '{"event":"pure","epsilon":"1"}',
        '{"event":"pure","epsilon":"1","version":2}',
        '{"event":"unheard-of","epsilon":"1","version":1}',
        '{"event":"pure","version":1}',
        '{"event":"pure","epsilon":"1","delta":"0","version":1}',
        '{"event":"pure","epsilon":1,"version":1}',
        '{"event":"pure","epsilon":"0","version":1}',
        '{"event":"pure","epsilon":"-1","version":1}',
        '{"event":"pure","epsilon":"1/0","version":1}',
        '{"event":"pure","epsilon":"much","version":1}',
        '{"event":"composed","events":[],"counts":[],"version":1}',
        '{"event":"composed","events":[{"event":"pure","epsilon":"1"}],"counts":[0],"version":1}',
        '{"event":"composed","events":[{"event":"pure","epsilon":"1"}],"counts":[1,1],"version":1}',
        '{"event":"composed","events":["pure"],"counts":[1],"version":1}',
        '{"event":["pure"],"epsilon":"1","version":1}',
        '{"event":"pure","epsilon":"1","version":%s}' % ("1" * 5000),
        "[" * 100_000,
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(LedgerError, match="Hint: "):
        events.from_json(text)
