"""Figures as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter, expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 150


def save(figure: Figure, path: object) -> None:
    """Writes a figure, in the format that the name ends with; refuses what is no place for one."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidParameter(expected("a path for a picture", "path", path, 'write path="errors.png".'))
    place = Path(path)
    kinds = figure.canvas.get_supported_filetypes()
    if place.suffix[1:].lower() not in kinds:
        cure = f"end it with one of {', '.join('.' + kind for kind in sorted(kinds))}."
        raise InvalidParameter(expected("the name of a picture", "path", str(path), cure))
    try:
        figure.savefig(place, dpi=DOTS)
    except (OSError, ValueError) as problem:  # ValueError where no name has such characters
        cure = "choose a folder that exists and may be written to."
        raise InvalidParameter(expected("a place that can be written", "path", str(path), cure)) from problem
