"""The account of a release with a report, before it is made."""

from __future__ import annotations

from fractions import Fraction

from ibis import _

from discreet.planning.two_stage import plan_two_stages
from discreet.planning.unspecified import Unspecified
from discreet.query.explain_preliminary import looks, told
from discreet.testing import people


def test_reports_have_their_price() -> None:
    asked = people().group_by("plan").agg(v=_.visits.sum(), a=_.age.mean())
    found = plan_two_stages(asked._query, Unspecified(report=frozenset({"clipped", "weighted"})), epsilon=1)
    assert [(look["what"], look["epsilon"]) for look in looks(found)] == [
        ("units clipped in visits", Fraction(1, 40)),
        ("units clipped in age", Fraction(1, 40)),
        ("units weighted down", Fraction(1, 20)),
    ]
    assert found.answering.epsilon == Fraction(9, 10)
    assert set(told(found)) == {"first looks"}


def test_explain_tells_of_reports() -> None:
    asked = people().group_by("plan").agg(v=_.visits.sum())
    assert "units weighted down" in repr(asked.explain(epsilon=1, report="weighted"))
    assert "first looks" not in asked.explain(epsilon=1)
