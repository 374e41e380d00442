"""What `make docs` tells Griffe: examples in docstrings are blocks of code, and private parameters are not shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe  # type: ignore[import-not-found] # it is in .venv-docs

sys.path.insert(0, str(Path(__file__).parent))

from site_pages import fenced


class PublicFace(griffe.Extension):  # type: ignore[misc] # as the import
    """Shows what users see: examples as code, and classes without what only the library passes to them."""

    def on_object(self, *, obj: Any, **named: Any) -> None:
        """Called by Griffe for each object that it has read."""
        del named
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: Any, **named: Any) -> None:
        """Called by Griffe when all of the package has been read."""
        del named
        griffe.DataclassesExtension().on_package(pkg=pkg)  # It gives dataclasses their __init__, and would come later.
        waiting = [pkg]
        while waiting:
            one = waiting.pop()
            members = [member for member in one.members.values() if not member.is_alias]
            waiting += [member for member in members if member.is_module or member.is_class]
            made = one.members.get("__init__")
            if one.is_class and made is not None and not made.is_alias:
                shown = [part for part in made.parameters if not part.name.startswith("_")]
                made.parameters = griffe.Parameters(*shown)
