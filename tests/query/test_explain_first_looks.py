"""The account of a release with a report, before it is made."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.planning.open_question_plan import plan_open_question
from discreet.planning.unspecified import Unspecified
from discreet.query.explain_first_looks import first_look_facts, looks
from discreet.selection.partition_selection import KeySelection
from discreet.testing import people


def test_reports_have_their_price() -> None:
    asked = people().group_by("plan").agg(v=_.visits.sum(), a=_.age.mean())
    found = plan_open_question(asked._query, Unspecified(report=frozenset({"clipped", "weighted"})), epsilon=1)
    assert [(look["what"], look["epsilon"]) for look in looks(found)] == [
        ("units clipped in visits", Fraction(1, 40)),
        ("units clipped in age", Fraction(1, 40)),
        ("units weighted down", Fraction(1, 20)),
    ]
    assert found.answering.epsilon == Fraction(9, 10)
    assert set(first_look_facts(found)) == {"first looks"}


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
        *("one look, keys=dp.UNKNOWN_BY_COUNT, without the keys of a unit beyond 3", "one row a unit", "max_groups=1"),
        *("fewer columns to group by", "weights={'page'", "twice the epsilon"),
    ]
    many = int(re.findall(r", (\d+) with 3", look["even chance"])[0])
    assert all(int(found) < many for one in told for found in re.findall(r": (\d+) units", one))
    assert look["95 % chance"] == "54 units with one key each, 94 with 3"
    assert KeySelection(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6), max_groups=3).users(0.95) == 94
    assert "fewer  one row a unit" in repr(groups.agg(n=_.count()).explain(epsilon=1, delta=1e-6))
    once = table.per_unit(page=_.page.min()).group_by("page", keys=dp.UNKNOWN).agg(n=_.count())
    assert "would lower it" not in once.explain(epsilon=1, delta=1e-6)["first looks"][0]


def weighed(weight: object, **price: Any) -> Any:
    rows = pa.table({"person": [1], "page": ["/a"], "site": [1], "v": [1.0]})
    table = dp.protect(rows, unit="person", bounds={"v": (0, 9)}, budget=dp.Budget(epsilon=9), name="pages")
    groups = table.group_by("page", "site", keys=dp.UNKNOWN, max_groups=3, max_rows=1)
    weights: dict[str, Any] = {} if weight is None else {"weights": {"page": weight}}
    return groups.agg(n=_.count(), s=_.v.sum()).explain(**price, **weights)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 0.3}], ids=repr)
def test_a_weight_of_the_keys_shows_what_was_said_of_it(price: dict[str, Any]) -> None:
    """The figure that is suggested is that of the question with this weight, and so is the noise."""
    plain = weighed(None, **price, delta=1e-6)
    [look] = plain["first looks"]
    [told] = [one for one in look["would lower it"] if one.startswith("weights=")]
    found = re.fullmatch(r"weights=\{'page': 3\}: (\d+) units with 3 keys each, and ([\d.]+) times the noise", told)
    assert found
    heavy = weighed(3, **price, delta=1e-6)
    [other] = heavy["first looks"]
    assert other["even chance"].endswith(f", {found[1]} with 3")
    assert int(found[1]) < int(look["even chance"].rpartition(", ")[2].split()[0])
    noise = [float(explained["totals"][0]["noise"]) for explained in (plain, heavy)]
    assert noise[1] / noise[0] == pytest.approx(float(found[2]), rel=0.05)
    if "epsilon" in price:
        assert Fraction(other["epsilon"]) == Fraction(3, 4) * Fraction(str(price["epsilon"]))
    assert plain["charge"] == heavy["charge"]


def test_no_weight_is_suggested_that_shows_no_more() -> None:
    """At this price two units are enough for keys; and twice of it is beyond what a selection may cost."""
    [look] = weighed(None, epsilon=2000, delta=1e-6)["first looks"]
    assert not any(one.startswith("weights=") for one in look["would lower it"])


def test_a_weight_of_keys_is_a_number_above_zero() -> None:
    for wrong in (0, -1, "much"):
        with pytest.raises(dp.InvalidParameter, match=r"weights\['page'\]"):
            weighed(wrong, epsilon=1, delta=1e-6)
    rows = pa.table({"person": [1], "page": ["/a"]})
    table = dp.protect(rows, unit="person", keys={"page": ["/a"]}, budget=dp.Budget(epsilon=9), name="listed")
    listed = table.group_by("page").agg(n=_.person.nunique())
    with pytest.raises(dp.InvalidParameter, match="weights of columns of the answer"):
        listed.explain(epsilon=1, weights={"page": 3})
