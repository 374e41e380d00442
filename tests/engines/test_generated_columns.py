"""No two columns of a plan have one name, whatever they hold."""

from __future__ import annotations

from discreet.engines.generated_columns import Columns


def test_no_name_means_two_things() -> None:
    names = [
        name
        for i in (0, 1, 10, 11)
        for made in vars(Columns(i)).values()
        for name in ([made] if isinstance(made, str) else map(made, (0, 1, 10)))
    ]
    assert len(set(names)) == len(names) == 4 * (8 + 3 * 10)
