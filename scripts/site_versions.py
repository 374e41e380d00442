"""Lists the versions of the site that stand beside each other: python scripts/site_versions.py [FOLDER].

Prints the version of this checkout. With a folder, such as build/site, it also writes versions.js there, which fills
the selector in the header of every page and can be read without a server, and an index.html that leads to this version.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def current() -> str:
    """The version that pyproject.toml states."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return version


def built(folder: Path) -> list[str]:
    """The versions in a folder, the latest first."""
    return sorted((path.parent.name for path in folder.glob("*/index.html")), key=_order, reverse=True)


def _order(version: str) -> list[tuple[bool, int, str]]:
    """By numbers, and what is not one before them: 0.10.0rc1 comes before 0.10.0."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in version.split(".")]


def write(folder: Path, version: str) -> None:
    """Writes the list of versions, and the page that leads to one of them."""
    (folder / "versions.js").write_text(f"window.discreetVersions = {json.dumps(built(folder))};\n", encoding="utf-8")
    page = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>discreet</title>\n'
        f'<meta http-equiv="refresh" content="0; url={version}/index.html">\n'
        f'<a href="{version}/index.html">discreet {version}</a>\n</html>\n'
    )
    (folder / "index.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    print(current())
    for name in sys.argv[1:]:
        write(Path(name), current())
