"""Each known pitfall of such services, and each fault that an attack found, has a test, which exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"\| `([a-z_/]+\.py)::(test_\w+)` \|$", re.MULTILINE)
SECTIONS = {"Known pitfalls": 27, "Found by attacks, and closed": 20}
"""So many of each."""


@pytest.mark.parametrize("section", SECTIONS)
def test_every_one_names_a_test_that_exists(section: str) -> None:
    page = (ROOT / "docs/service/threat-model.md").read_text(encoding="utf-8")
    found = LINE.findall(page.partition(f"## {section}\n")[2].partition("\n## ")[0])
    assert len(found) == SECTIONS[section]
    for file, name in found:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), name
