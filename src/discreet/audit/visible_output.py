"""Everything visible of a run apart from its mechanisms' outputs: result, text, logs, warnings, files, errors."""

from __future__ import annotations

import hashlib
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.audit.code_locations import NOWHERE, Place, at, raised_at, user_place
from discreet.audit.fingerprints import fingerprint, plain, shortened
from discreet.audit.recording import Diverged
from discreet.errors import SourceWarning

RESULT = "the result"
ERROR = "the error"


@dataclass
class VisibleOutput:
    """The visible output of a run: for each surface its pieces, in order, each with the line that made it."""

    pieces: dict[str, list[tuple[str, Place]]] = field(default_factory=dict)
    diverged: Diverged | None = None

    def add(self, surface: str, text: str, place: Place = NOWHERE) -> None:
        """Adds a piece."""
        self.pieces.setdefault(surface, []).append((text, place))

    def different(self, other: VisibleOutput) -> dict[str, tuple[str, str, Place]]:
        """The surfaces that are not the same, each with its first pieces that differ and where one came from."""
        result = {}
        for surface in dict.fromkeys([*self.pieces, *other.pieces]):
            one, two = self.pieces.get(surface, []), other.pieces.get(surface, [])
            if [text for text, _ in one] == [text for text, _ in two]:
                continue
            first = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a[0] != b[0]), None)
            first = min(len(one), len(two)) if first is None else first
            texts = [pieces[first][0] if first < len(pieces) else "nothing" for pieces in (one, two)]
            places = [pieces[first][1] for pieces in (one, two) if first < len(pieces)]
            result[surface] = (texts[0], texts[1], next((place for place in places if place.line), NOWHERE))
        return result


class _Pieces(io.StringIO):
    """A stream that records which line wrote what."""

    def __init__(self, shown: VisibleOutput, surface: str) -> None:
        super().__init__()
        self._shown, self._surface = shown, surface

    def write(self, text: str) -> int:
        """Records one piece of text; line ends belong to the piece before."""
        if text.strip():
            self._shown.add(self._surface, plain(text), user_place())
        return len(text)


class _Logged(logging.Handler):
    def __init__(self, shown: VisibleOutput) -> None:
        super().__init__(logging.DEBUG)
        self._shown = shown

    def emit(self, record: logging.LogRecord) -> None:
        """Adds a record, with the line that logged it."""
        self._shown.add("the log", plain(f"{record.levelname} {record.name}: {record.getMessage()}"), user_place())


@contextmanager
def _logging(shown: VisibleOutput) -> Iterator[None]:
    root, handler = logging.getLogger(), _Logged(shown)
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def watched(run: Callable[[], Any], folder: Path | None) -> VisibleOutput:
    """Runs a pipeline and records its visible output; it may write files into `folder`."""
    shown = VisibleOutput()
    before = files(folder)
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(_Pieces(shown, "printed")))
        stack.enter_context(redirect_stderr(_Pieces(shown, "printed as errors")))
        stack.enter_context(_logging(shown))
        told = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        # Each run has a budget of its own, which from the second run on is not the first one for its tables.
        warnings.filterwarnings("ignore", "Expected one budget for", SourceWarning)
        try:
            shown.add(RESULT, fingerprint(run()))
        except Diverged as divergence:
            shown.diverged = divergence
        except (Exception, SystemExit) as problem:  # noqa: BLE001 (an error is an outcome)
            shown.add(ERROR, shortened(plain(f"{type(problem).__name__}: {problem}")), raised_at(problem))
    for one in told:
        place = at(one.filename, one.lineno)
        shown.add("the warnings", plain(f"{one.category.__name__}: {one.message}"), place)
    for name, content in files(folder).items():
        if before.get(name) != content:
            shown.add(f"the file {name}", content)
    return shown


def files(folder: Path | None) -> dict[str, str]:
    """The files below a folder, with the hashes of what is in them."""
    if folder is None:
        return {}
    found = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {
        str(path.relative_to(folder)): f"{path.stat().st_size} bytes, {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in found
    }


def forget_modules(folder: Path, known: set[str]) -> None:
    """Removes what a script imported from its own folder, so that the next run imports it anew."""
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(folder):
            del sys.modules[name]
