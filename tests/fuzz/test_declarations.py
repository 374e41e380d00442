"""Declaration files with something wrong: each is a table, or one refusal with its line; no row and no ledger is
touched before all of it is right.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp

GOOD = """\
# Visits to three wards.
[table]
source = "visits.parquet"
unit = "patient"
description = "Visits, 2024"
neighbors = "add-remove"
version = "1"

[table.limits]
max_groups = 2
max_rows = 20

[columns.minutes]
bounds = [0, 240.5]
description = '''length of
a visit'''
[columns]
ward = {keys = ["north", "south"], null = true}
day.bounds = [2024-01-01, 2024-12-31]
[columns.age]
bounds = "auto"

[budget]
epsilon = "1/3"
delta = 1e-6
"""
ROW_VALUE = "73918467"
PIECES = (
    "[", "]", "{", "}", "=", ",", ".", '"', "'", '"""', "\\n", "\\\\", "#", " ", "0", "-1", "1e400", "nan", "inf",
    "true", "?", '"?"', "[table]", "[columns]", "[budget]", "[[columns]]", "[columns.none]", "bounds", "keys", "unit",
    '"auto"', '"row"', "2024-01-01", "10:00:00", "2024-01-01T00:00:00Z", "9" * 40, "\x00", "\u202e", "é", "\ud7ff",
    'type = "int64"', "null = true", "rows = 3", "units = 3", 'neighbors = "replace-one"', "rho = 1", '"a:b"',
    "own_delta = 0", "ledger = 3", 'name = "x"', "*", "../", "http://x/y", "[[", "]]", "[]", "{}", "\r\n", "\t",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"patient": [int(ROW_VALUE)], "minutes": [1.0], "ward": [ROW_VALUE], "age": [3]}
    table = pa.table(rows).append_column("day", pa.array([0], pa.date32()))
    pq.write_table(table, tmp_path / "visits.parquet")
    return tmp_path


def mutated(chance: random.Random) -> str:
    """The good file with one to four changes: a piece in, a stretch out, a stretch copied, lines in another order."""
    text = GOOD
    for _change in range(chance.choice((1, 1, 1, 2, 4))):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((0, 0, 1, 3, 20)))
        match chance.randrange(5):
            case 0:
                text = text[:start] + chance.choice(PIECES) + text[end:]
            case 1:
                text = text[:start] + text[end:]
            case 2:
                text = text[:end] + text[start:end] + text[end:]
            case 3:
                lines = text.split("\n")
                one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
                lines[one], lines[other] = lines[other], lines[one]
                text = "\n".join(lines)
            case _:
                words = re.findall(r'"[^"\n]*"|[\w.-]+', text)
                if words:
                    text = text.replace(chance.choice(words), chance.choice(PIECES), 1)
    return text


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("seed", range(200))
def test_each_file_is_a_table_or_one_refusal(folder: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (files of a test)
    path = folder / "visits.toml"
    lines = set()
    for _file in range(10):
        text = mutated(chance)
        path.write_text(text, encoding="utf-8", newline="")
        try:
            table = dp.open(path)
        except dp.DiscreetError as refusal:
            told = str(refusal)
            assert told.startswith("Expected "), text
            assert "\nHint: " in told, text
            assert ROW_VALUE not in told, text
            found = re.search(r" in .*visits\.toml, line (\d+)\.\n", told) or re.search("characters|brackets", told)
            assert found, f"{told}\n{text}"
            line = int(found[1]) if found.lastindex else 1
            assert 1 <= line <= text.count("\n") + 1, f"{told}\n{text}"
            lines.add(line)
        else:
            assert table.budget.spent.epsilon == 0
        assert {one.name for one in folder.iterdir()} <= {"visits.toml", "visits.parquet", "3"}, text
    assert lines


def test_the_good_file_is_a_table(folder: Path) -> None:
    (folder / "visits.toml").write_text(GOOD)
    table = dp.open(folder / "visits.toml")
    assert table.columns == ("patient", "minutes", "ward", "age", "day")
    assert table.declaration.keys == {"ward": ("north", "south", None)}
