"""The examples of examples/audit, and pipelines in files: scripts, notebooks, SQL."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import discreet as dp
from discreet.audit import Report, notebook, replay, script, statement

EXAMPLES = Path(__file__).parents[2] / "examples" / "audit"
DATA = EXAMPLES / "visits.csv"


SHOWN = 'print("Average:", average("visits.csv"), "minutes")'
KEYS = 'wards = sorted(visits["ward"].unique())'


def audited(path: Path, data: Path = DATA) -> Report:
    return replay(script(path, data), data, unit="patient", epsilon=1)


@pytest.mark.parametrize(
    ("name", "kind", "line", "seen"),
    [
        ("forgotten_clip", "claim", 'noisy_total = visits["minutes"].sum() + rng.laplace(scale=LONGEST / EPSILON)', ""),
        (
            "keys_from_data",
            "control flow",
            'wards = sorted(visits["ward"].unique())',
            "noisy = MECHANISM.release(counts)",
        ),
        ("private_n", "surface", "mean = total / max(patients, 1)", SHOWN),
    ],
)
def test_the_bugs_of_the_examples_are_found(name: str, kind: str, line: str, seen: str) -> None:
    before = {path: path.read_bytes() for path in EXAMPLES.iterdir() if path.is_file()}
    report = audited(EXAMPLES / f"{name}.py")
    [found] = [one for one in report.findings if one.is_violation]
    assert (found.kind, found.place.text, found.seen.text) == (kind, line, seen)
    assert not seen or f"It shows in line {found.seen.line}: " in found.message
    assert str(found).startswith(str(EXAMPLES / f"{name}.py:{found.place.line}"))
    assert {path: path.read_bytes() for path in EXAMPLES.iterdir() if path.is_file()} == before


@pytest.mark.long
def test_the_correct_example_passes() -> None:
    report = audited(EXAMPLES / "correct.py")
    assert report.findings == ()
    assert report.tried["calls of chance compared"] == 2


def test_noise_by_hand_is_priced_where_nothing_was_claimed() -> None:
    report = replay(script(EXAMPLES / "forgotten_clip.py", DATA), DATA, unit="patient")
    assert report.ok
    [price] = [one for one in report.findings if one.kind == "claim"]
    assert "costs epsilon=5000" in price.message
    assert "no epsilon was claimed" in price.message
    assert "read the notes" in str(report)


HELPER = """import discreet as dp

def names_of(visits):
    found = sorted(visits["ward"].unique())
    return found

def noisy(counts):
    return dp.Laplace(sensitivity=1, epsilon=1).release(counts)
"""
SCRIPT = """import pandas as pd
from helper import names_of, noisy

visits = pd.read_csv("visits.csv").dropna().drop_duplicates("patient")
wards = {wards}
print(noisy([int((visits["ward"] == ward).sum()) for ward in wards]))
"""


def test_a_module_beside_the_script_has_its_own_lines(tmp_path: Path) -> None:
    """Though each run imports another copy of it."""
    shutil.copy(DATA, tmp_path)
    (tmp_path / "helper.py").write_text(HELPER)
    path = tmp_path / "job.py"
    path.write_text(SCRIPT.format(wards=["north", "south", "west"]))
    assert audited(path, tmp_path / "visits.csv").ok
    path.write_text(SCRIPT.format(wards="names_of(visits)"))
    [found] = [one for one in audited(path, tmp_path / "visits.csv").findings if one.is_violation]
    assert (found.kind, found.place.file, found.place.line) == ("control flow", str(tmp_path / "helper.py"), 4)
    assert (found.seen.file, found.seen.line) == (str(tmp_path / "helper.py"), 8)


CELLS = [
    "%matplotlib inline\nimport pandas as pd\nimport discreet as dp",
    "visits = pd.read_csv('visits.csv').dropna().drop_duplicates('patient')",
    "len(visits)",
    "dp.Laplace(sensitivity=1, epsilon=1).release(len(visits))",
]


def made_notebook(folder: Path, sources: list[str]) -> Path:
    shutil.copy(DATA, folder)
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources]
    path = folder / "analysis.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["# Visits"]}, *cells]}))
    return path


def test_a_notebook_shows_what_its_cells_show(tmp_path: Path) -> None:
    path = made_notebook(tmp_path, CELLS)
    made = notebook(path, tmp_path / "visits.csv")
    [found] = replay(made, tmp_path / "visits.csv", unit="patient", epsilon=1).findings
    assert found.kind == "surface"
    sound = notebook(path, tmp_path / "visits.csv", cells=(1, 2, 4))
    assert replay(sound, tmp_path / "visits.csv", unit="patient", epsilon=1).ok


def test_a_fault_in_a_cell_is_at_its_line(tmp_path: Path) -> None:
    cells = [*CELLS[:2], "x = 1\ndp.Laplace(sensitivity=0.5, epsilon=1).release(len(visits))"]
    made = notebook(made_notebook(tmp_path, cells), tmp_path / "visits.csv")
    [found] = [one for one in replay(made, tmp_path / "visits.csv", unit="patient").findings if one.is_violation]
    assert (found.kind, found.place.file.endswith("analysis.ipynb[cell 3]"), found.place.line) == (
        "sensitivity",
        True,
        2,
    )
    assert "release(len(visits))" in found.place.text


@pytest.mark.long
def test_statements_pass_with_all_that_they_show() -> None:
    made = statement(
        "SELECT ward, AVG(minutes) AS m, COUNT(*) AS n FROM data WHERE minutes > 0 GROUP BY ward",
        epsilon=1,
        unit="patient",
        bounds={"minutes": (0, 60)},
        keys={"ward": ["north", "west"]},
        max_groups=2,
        max_rows=2,
    )
    report = replay(made, DATA, unit="patient", epsilon=1)
    assert report.findings == ()
    assert report.rows[0]["moved at most"] > 0


def test_modules_and_arguments_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    shutil.copy(DATA, tmp_path / "sub" / "rows.csv")
    (tmp_path / "reading.py").write_text("import pandas as pd\ndef read(path): return pd.read_csv(path)\n")
    (tmp_path / "job.py").write_text(
        "import sys\nfrom reading import read\nimport discreet as dp\n"
        "rows = read(sys.argv[1]).dropna().drop_duplicates('patient')\n"
        "open('out.txt', 'w').write(str(dp.Laplace(sensitivity=1, epsilon=1).release(len(rows))))\n"
        "sys.exit(0)\n"
    )
    made = script(tmp_path / "job.py", tmp_path / "sub" / "rows.csv", arguments=(str(tmp_path / "sub" / "rows.csv"),))
    with pytest.raises(dp.InvalidParameter, match="SystemExit"):
        replay(made, tmp_path / "sub" / "rows.csv", unit="patient")
    (tmp_path / "job.py").write_text((tmp_path / "job.py").read_text().replace("sys.exit(0)", ""))
    report = replay(made, tmp_path / "sub" / "rows.csv", unit="patient", epsilon=1)
    assert report.ok
    assert "the file out.txt" in report.tried["surfaces compared"]
    assert not (tmp_path / "out.txt").exists()
    assert "reading" not in sys.modules


def test_a_function_of_a_script(tmp_path: Path) -> None:
    shutil.copy(DATA, tmp_path)
    shutil.copy(EXAMPLES / "private_n.py", tmp_path)
    made = script(tmp_path / "private_n.py", tmp_path / "visits.csv", function="average")
    [found] = replay(made, tmp_path / "visits.csv", unit="patient").findings
    assert found.place.text == "mean = total / max(patients, 1)"


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(dp.InvalidParameter, match="existing file"):
        script(EXAMPLES / "none.py", DATA)
    shutil.copy(DATA, tmp_path)
    with pytest.raises(dp.InvalidParameter, match="beside the pipeline"):
        script(EXAMPLES / "correct.py", tmp_path / "visits.csv")
    with pytest.raises(dp.InvalidParameter, match="file with a table"):
        replay(lambda rows: rows, tmp_path / "visits.xml", unit=dp.ROW)
