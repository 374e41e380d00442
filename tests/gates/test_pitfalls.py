"""Each known pitfall of such services has a test, which exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"\| `([a-z_/]+\.py)::(test_\w+)` \|$", re.MULTILINE)
PITFALLS = 14


def test_every_pitfall_names_a_test_that_exists() -> None:
    page = (ROOT / "docs/service/threat-model.md").read_text(encoding="utf-8")
    found = LINE.findall(page.partition("## Known pitfalls\n")[2].partition("\n## ")[0])
    assert len(found) == PITFALLS
    for file, name in found:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), name
