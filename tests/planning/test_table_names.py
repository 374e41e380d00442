"""Tables of a batch in texts: each is told from every other one."""

from __future__ import annotations

import itertools

from discreet.planning.table_names import label


def test_no_two_tables_of_a_cube_have_one_name() -> None:
    """A column that is called as the total is, or has in its name what separates columns."""
    columns = ("all", "a", "b", "a, b", "'a'", "a: n", "b'", "")
    names = [some for number in range(4) for some in itertools.combinations(columns, number)]
    assert len({label(name) for name in names}) == len(names)
    assert label(("plan", "state")) == "plan, state"
    texts = {f"{label(name)}: {column}" for name in names for column in ("n", "n: n", "b: n")}
    assert len(texts) == 3 * len(names)
