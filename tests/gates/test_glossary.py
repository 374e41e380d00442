"""The glossary has every standard name of the field, and each place that it points at exists."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet import theory
from discreet.accounting.event_losses import HasLoss

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
SECTION = GLOSSARY.split("## Every standard name\n")[1].split("\n## ")[0]

STANDARD = """
differential privacy; pure differential privacy; approximate differential privacy; probabilistic differential privacy;
zero-concentrated differential privacy; Rényi differential privacy; Gaussian differential privacy; f-differential
privacy; trade-off function; privacy-loss random variable; privacy profile; hockey-stick divergence; dominating pair;
bounded range; group privacy; local differential privacy; central model; shuffle model; neighboring tables; adjacent
databases; unbounded differential privacy; bounded differential privacy; add-remove; replace-one; privacy unit;
user-level; event-level; contribution bounding; clamping; clipping; global sensitivity; L1, L2; local and smooth
sensitivity; counting query; linear query; histogram query; workload; propose-test-release; sample-and-aggregate;
Laplace mechanism; geometric mechanism; Gaussian mechanism; discrete Gaussian mechanism; staircase mechanism; K-norm
mechanism; exponential mechanism; report noisy max; permute-and-flip; Gumbel noise; top-k; sparse vector technique;
above threshold; partition selection; randomized response; unary encoding; RAPPOR; local hashing; Hadamard response;
matrix mechanism; tree, binary or hierarchical mechanism; continual observation; multiplicative weights; synthetic data;
objective perturbation; DP-SGD; k-means; multinomial sampling; subsampling amplification; floating-point attacks;
sequential (basic) composition; parallel composition; advanced composition; optimal composition; privacy accountant;
moments accountant; privacy filter; privacy odometer; adaptive and concurrent composition; post-processing; privacy
budget; interactive and non-interactive; reconstruction attack; linkage attack; homogeneity attack; background-knowledge
attack; skewness and similarity attacks; composition attack; differencing attack; membership inference; side channels;
privacy audit; k-anonymity; l-diversity; t-closeness; quasi-identifier; utility; mean squared error; sample complexity;
confidence interval; consistency; generalized least squares; lower bound; PINQ; agents; Fundamental Law; disclosure
avoidance; secure noise generation
"""
NAMES = [" ".join(name.split()) for name in STANDARD.split(";")]


def rows(section: str) -> list[tuple[str, str, str]]:
    """What each row says: the names, what they are, and where."""
    cells = (line.strip("|\n ").split(" | ") for line in section.splitlines() if re.match(r"\| (?!name \|)", line))
    return [(one[0], one[1], one[2]) for one in cells]


def faults(section: str) -> Iterator[str]:
    """Rows that point nowhere, or at a public name that there is not."""
    for names, _, place in rows(section):
        if not re.search(r"\]\(|`|not here: ", place):
            yield f"{names} points nowhere"
        for written in re.findall(r"`(dp\.[\w.]+)`", place):
            found: Any = dp
            for part in written.split(".")[1:]:
                found = getattr(found, part, None)
            if found is None:
                yield f"{written} is no public name"


def test_every_place_exists() -> None:
    """Links and their anchors are tested with those of all pages."""
    assert list(faults(SECTION)) == []
    assert len(rows(SECTION)) > 90


@pytest.mark.parametrize("name", NAMES)
def test_every_standard_name_is_there(name: str) -> None:
    assert name.lower() in " | ".join(names for names, _, _ in rows(SECTION)).lower()


def test_every_mechanism_is_pointed_at() -> None:
    public = [f"dp.{name}" for name in dp.__all__] + [f"dp.theory.{name}" for name in theory.__all__]
    mechanisms = {
        name
        for name in public
        if inspect.isclass(thing := eval(name, {"dp": dp})) and issubclass(thing, HasLoss)  # noqa: S307 - our names
    }
    assert len(mechanisms) > 12
    assert {name for name in mechanisms if f"`{name}`" not in SECTION} == set()


def test_what_is_not_here_says_why() -> None:
    missing = [place for _, _, place in rows(SECTION) if place.startswith("not here")]
    assert len(missing) >= 8
    assert all(len(place) > len("not here: ") + 20 for place in missing)


def test_faults_are_seen() -> None:
    planted = "| name | what it is | here |\n| a | b | `dp.NoSuch` |\n| c | d | nowhere |\n| e | f | `dp.Laplace` |\n"
    assert list(faults(planted)) == ["dp.NoSuch is no public name", "c points nowhere"]
