"""The documents by topic: in an installed package beside the bundled table, in a checkout where they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from discreet.errors import InvalidParameter, expected
from discreet.guesses.near_names import line_for

COMMENT = re.compile(
    r"(?P<fence>^ *(?P<marks>```+)[^\n]*\n.*?^ *(?P=marks)`*$)|^<!--.*?-->\n?", re.MULTILINE | re.DOTALL
)
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
ALL = "discreet docs lists all topics."


def topics() -> dict[str, Path]:
    """The topics, such as "sql" and "theory/local", and where the page of each is."""
    folder = _folder()
    names = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.md")}
    return {name.removesuffix("/README"): path for name, path in sorted(names.items())}


def page(topic: str) -> str:
    """The text of a page, as readers see it: what only its tests need is left out.

    Raises:
        InvalidParameter: there is no such topic, or there are several.
    """
    return without_comments(found(topic, topics()).read_text(encoding="utf-8"))


def without_comments(text: str) -> str:
    """Markdown without its comments; those that are shown, in a fence, stay."""
    return COMMENT.sub(lambda comment: comment["fence"] or "", text)


def title(path: Path) -> str:
    """The first heading of a page."""
    heading = TITLE.search(path.read_text(encoding="utf-8"))
    return heading[1].replace("`", "") if heading else path.stem


def found(topic: str, known: Mapping[str, Path]) -> Path:
    """The page of a topic, which may also be written as a path, "docs/sql.md", or by its last part alone, "local"."""
    asked = topic.strip().removeprefix("docs/").removesuffix(".md").removesuffix("/README").lower()
    lower = {name.lower(): name for name in known}
    if asked in lower:
        return known[lower[asked]]
    ends = [name for name in lower.values() if name.rpartition("/")[2].lower() == asked]
    if len(ends) == 1:
        return known[ends[0]]
    if ends:
        raise InvalidParameter(expected("one topic", "topic", topic, f"write {' or '.join(ends)}."))
    last = {name.rpartition("/")[2].lower(): name for name in known}
    near = line_for(asked.rpartition("/")[2], last, {})
    guess = re.search(r"'([\w-]+)'", near) if near.startswith("did you mean") else None
    cure = f"did you mean {last[guess[1]]}? {ALL}" if guess and guess[1] in last else ALL
    raise InvalidParameter(expected("a topic of the documents", "topic", topic, cure))


def _folder() -> Path:
    """Where the documents are: shipped with the package, or in the checkout that it is run from."""
    shipped = Path(str(files("discreet.data"))) / "docs"
    return shipped if shipped.is_dir() else Path(__file__).parents[3] / "docs"
