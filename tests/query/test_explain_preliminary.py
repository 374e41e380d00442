"""The account of a release with a report, before it is made."""

from __future__ import annotations

import re
from fractions import Fraction

import pyarrow as pa
from ibis import _

import discreet as dp
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


def test_it_says_what_would_show_keys_that_fewer_units_have() -> None:
    rows = pa.table({"person": [i // 3 for i in range(90)], "page": ["/a"] * 90, "site": [1] * 90})
    table = dp.protect(rows, unit="person", budget=dp.Budget(epsilon=9, delta=1e-5), name="pages")
    groups = table.group_by("page", "site", keys=dp.UNKNOWN, max_groups=3, max_rows=1)
    [look] = groups.agg(n=_.count()).explain(epsilon=1, delta=1e-6)["first looks"]
    told = look["would lower it"]
    assert [one.partition(":")[0].partition(" by ")[0] for one in told] == [
        *("one row a unit", "max_groups=1", "fewer columns to group by", "twice the epsilon"),
    ]
    many = int(re.findall(r", (\d+) with 3", look["even chance"])[0])
    assert all(int(found) < many for one in told for found in re.findall(r": (\d+) units", one))
    assert "fewer  one row a unit" in repr(groups.agg(n=_.count()).explain(epsilon=1, delta=1e-6))
    once = table.per_unit(page=_.page.min()).group_by("page", keys=dp.UNKNOWN).agg(n=_.count())
    assert "would lower it" not in once.explain(epsilon=1, delta=1e-6)["first looks"][0]
