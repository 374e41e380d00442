"""The pictures of the page on the lecture notes are those that their script draws."""

from __future__ import annotations

import re

import pytest

import notes_pictures


def texts(svg: bytes) -> list[str]:
    """What can be read in a picture, and how many shapes it has; places differ with the version of matplotlib."""
    written = re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())
    return [*written, f"{svg.count(b'<path'):,} paths"]


@pytest.mark.parametrize("name", sorted(notes_pictures.PICTURES))
def test_pictures_are_those_of_the_script(name: str) -> None:
    kept = (notes_pictures.FOLDER / name).read_bytes()
    assert texts(kept) == texts(notes_pictures.drawn(name))


def test_another_histogram_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = (notes_pictures.FOLDER / "hiv-histograms.svg").read_bytes()
    monkeypatch.setattr(notes_pictures, "perturbed", lambda: [5, 5])
    assert texts(kept) != texts(notes_pictures.drawn("hiv-histograms.svg"))


def test_the_second_histogram_has_noise() -> None:
    assert notes_pictures.perturbed() != list(notes_pictures.ORIGINAL)
