from __future__ import annotations

import numpy as np
import pytest

from discreet.accounting import study_design
from discreet.errors import InvalidParameter

# Standard deviations for k counts at a total of (1, 1e-6), computed by other programs; the optimum comes from
# the binomial sum.
TABLE = {
    1: (1.41, 7.7, 1.41, 1.41, 5.35, 4.53, 4.22),
    10: (14.1, 24.4, 14.1, 14.1, 16.9, 14.3, 13.4),
    100: (141.4, 77, 58.9, 58.7, 53.5, 45.3, 42.2),
    1000: (1414, 243, 188.7, 189, 169, 143, 134),
}


@pytest.mark.long
@pytest.mark.parametrize("k", TABLE)
def test_table_is_the_reference(k: int) -> None:
    (row,) = study_design.composition_table((k,), epsilon=1, delta=1e-6)
    assert row.k == k
    assert list(row[1:]) == pytest.approx(list(TABLE[k]), rel=6e-3)


def test_the_figure_shows_the_table() -> None:
    row = study_design.CompositionRow(10, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    (axis,) = study_design.composition_figure([row, row._replace(k=20)], caption="noise").axes
    assert [float(np.asarray(line.get_ydata())[0]) for line in axis.lines] == list(row[1:])


def test_plain_words() -> None:
    assert "about you" in study_design.in_plain_words(1)
    assert "2.71829" in study_design.in_plain_words(1)
    assert "e^4000, which is no promise" in study_design.in_plain_words(1000, household=4)


def test_improper_plans_are_refused() -> None:
    for call in (
        lambda: study_design.composition_table(epsilon=1, delta=0),
        lambda: study_design.in_plain_words(-1),
        lambda: study_design.in_plain_words(1, household=0),
        lambda: study_design.in_plain_words(1, household=-1),
        lambda: study_design.composition_table((0,), epsilon=1, delta=1e-6),
        lambda: study_design.composition_table((-1,), epsilon=1, delta=1e-6),
        lambda: study_design.composition_table(10, epsilon=1, delta=1e-6),  # type: ignore[arg-type]  # the refusal
        lambda: study_design.composition_table((1,), epsilon=1, delta=1),
    ):
        with pytest.raises(InvalidParameter, match="Hint: "):
            call()


@pytest.mark.cases
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 1e-6), (1e-6, 0.5), (1e3, 1e-300), (1e3, 0.5), (1, 1e-300)])
def test_the_table_has_every_total(epsilon: float, delta: float) -> None:
    """One answer and ten: no theorem needs more than the sum does, but for those that are no better."""
    for row in study_design.composition_table((1, 10), epsilon=epsilon, delta=delta):
        assert row.laplace_numerical <= row.laplace_optimal * (1 + 1e-4) <= row.laplace_basic * (1 + 2e-4)
        assert row.gaussian_exact <= row.gaussian_zcdp <= row.gaussian_textbook * (1 + 1e-4)
        assert row.laplace_optimal <= row.laplace_advanced * (1 + 1e-4)
