"""Half a bell curve is exact: its table, its rejection, its ties, at every width."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from discreet.errors import InvalidParameter
from discreet.noise.certified_comparison import floors, real
from discreet.noise.entropy import fresh_words
from discreet.noise.half_gaussian import Strips, bell_sums
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import chi_square_p

SAMPLES = 400_000
FALSE_ALARM = 1e-9
WIDE = [Fraction(4097), Fraction(10**12), Fraction(2**101, 3), Fraction(10**60)]


def half_normal(k: np.ndarray, sigma: float) -> np.ndarray:
    return np.array([math.erfc(max(0.0, float(x)) / sigma / math.sqrt(2)) for x in k])


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(9), *WIDE], ids=str)
def test_strips_have_the_density(variance: Fraction) -> None:
    """Magnitudes in 4,096ths of sigma follow the half-normal law, and not one 2 % wider."""
    source = Strips.of(variance, whole=False)
    n = SAMPLES if variance > 4096 else SAMPLES // 20  # outside of its range it leaves much to Arb
    strip, place = source.sample(n, splitmix(1))
    unit = 2.0**source.bits / math.sqrt(variance) * 4096
    x = np.floor((strip + place[0] * 2.0**-64) * unit).astype(np.int64)
    assert chi_square_p(x, lambda k: half_normal(k, 4096.0)) > FALSE_ALARM
    if n == SAMPLES:
        assert chi_square_p(x, lambda k: half_normal(k, 4096.0 * 1.02)) < FALSE_ALARM


def test_the_law_within_a_strip() -> None:
    """In strips 24 to 63, where the curve is steep, the lower half of a strip is the heavier one."""
    strip, place = Strips.of(Fraction(64**2), whole=False).sample(3 * SAMPLES, splitmix(2))
    steep = (strip >= 24) & (strip < 64)
    lower = int(np.count_nonzero(place[0][steep] < 2**63))
    total = int(steep.sum())
    mass = np.array([[math.erf((j + h) / 32 / math.sqrt(2)) for h in (0, 0.5, 1)] for j in range(24, 64)])
    share = float((mass[:, 1] - mass[:, 0]).sum() / (mass[:, 2] - mass[:, 0]).sum())
    assert abs(lower / total - share) < 5 * math.sqrt(0.25 / total)
    assert abs(lower / total - 0.5) > 5 * math.sqrt(0.25 / total)


@pytest.mark.parametrize("variance", WIDE, ids=str)
def test_whole_places_end_after_k_bits(variance: Fraction) -> None:
    source = Strips.of(variance, whole=True)
    _, place = source.sample(100, splitmix(3))
    for i in range(100):
        bits = 0
        for word in place[:, i].tolist():
            bits = (bits << 64) | word
        assert bits % (1 << (64 * source.places - source.bits)) == 0
    assert np.unique(place[0]).size > 50 or source.bits < 8


@pytest.mark.parametrize("whole", [False, True])
def test_undecided_draws_are_decided_by_more_bits(*, whole: bool) -> None:
    """V with the first 64 bits of exp(-t): the following bits decide, both ways."""
    source = Strips.of(Fraction(10**6), whole=whole)
    strip, place = 40, 3 << 61
    with ctx.workprec(400):
        u = arb(place) * arb(2) ** -64
        bits = floors((-real(source.curvature) * u * (strip + u / 2)).exp() * arb(2) ** 192)[0]
    first, rest = bits >> 128, bits & (2**128 - 1)
    extra = [0] if not whole else []  # a real number's own bits are read on, too
    assert not source._decided(strip, [place], first + 1, scripted())
    assert source._decided(strip, [place], first - 2, scripted())
    up, down = (rest >> 64) + 2**60, (rest >> 64) - 2**60
    assert not source._decided(strip, [place], first, scripted(up, *extra))
    assert source._decided(strip, [place], first, scripted(down, *extra))


def test_floats_and_arb_decide_alike() -> None:
    source = Strips.of(Fraction(10**8), whole=False)
    strip, place = source._proposed(3000, splitmix(5))
    words = splitmix(6)(3000)
    pieces = [words[:750], words]
    kept = source._kept(strip, place, lambda n: pieces.pop(0)[:n])
    first = words[:750].view(np.uint16)
    for i in range(3000):
        low = int(first[i]) << 48
        if source._decided(int(strip[i]), [int(place[0, i])], low + 2**48, scripted()):
            assert kept[i]
        if not source._decided(int(strip[i]), [int(place[0, i])], max(0, low - 1), splitmix(7)):
            assert not kept[i]


def test_bell_sums_enclose() -> None:
    """Against the sums of 3,000 bits, at several widths."""
    for c in (Fraction(10), Fraction(1), Fraction(1, 1000)):
        sums = bell_sums(c, 100)
        with ctx.workprec(3000):
            direct = [(-real(c) * j * j / 2).exp() for j in range(len(sums) + 2000)]
            for j in (0, 1, len(sums) // 2, len(sums) - 1):
                assert sums[j].contains(sum(direct[j:], arb(0)).mid()) or j == len(sums) - 1
                assert sums[j].upper() >= sum(direct[j:], arb(0)).lower()


def test_a_tail_beyond_all_words() -> None:
    """At a tiny variance all thresholds are below 2**-64; the word 0 reads on and finds the first."""
    source = Strips.of(Fraction(1, 100), whole=True)
    assert source.table.sample(1, scripted(0, 0, 2**63)).tolist() == [0]
    assert source.table.sample(1, scripted(0, 0, 0, 0, 2**63)).tolist()[0] >= 1


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), 1, 1.0, None, float("nan")], ids=repr)
def test_variances_that_are_not_exact_are_refused(variance: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="variance"):
        Strips.of(variance, whole=False)


def test_tables_are_kept() -> None:
    assert Strips.of(Fraction(50), whole=True) is Strips.of(Fraction(100, 2), whole=True)
    assert Strips.of(Fraction(50), whole=True).sample(0, fresh_words())[0].size == 0
