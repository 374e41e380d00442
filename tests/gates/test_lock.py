"""requirements.lock satisfies pyproject.toml, pins everything by hash, and names no place to fetch from."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
ENGINES = (ROOT / "requirements-engines.lock").read_text(encoding="utf-8")
SERVE = (ROOT / "requirements-serve.lock").read_text(encoding="utf-8")
SITE = (ROOT / "requirements-docs.lock").read_text(encoding="utf-8")
TOOLS = {name: (ROOT / f"requirements-{name}.lock").read_text(encoding="utf-8") for name in ("dbt", "superset")}
"""Each of an environment of its own."""
ALL = (LOCK, ENGINES, SERVE, SITE, *TOOLS.values())
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

LINE = re.compile(r"(?P<requirement>[a-z0-9-]+==\S+( ; .+?)?)((?: --hash=sha256:[0-9a-f]{64})+)")


def lines(text: str) -> list[str]:
    """The file without comments, continued lines joined."""
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [" ".join(line.split()) for line in kept.replace("\\\n", " ").splitlines() if line.strip()]


def pinned(text: str) -> dict[NormalizedName, list[str]]:
    """The versions of each package; some have one for each release of Python."""
    versions = defaultdict(list)
    for line in lines(text):
        name, version = line.split()[0].split("==")
        versions[canonicalize_name(name)].append(version)
    return versions


def wanted(project: dict[str, Any]) -> list[Requirement]:
    """What the project and its development groups ask for, but for those that have environments of their own."""
    apart = {"far-ends", "docs", *TOOLS}
    groups = {name: group for name, group in project["dependency-groups"].items() if name not in apart}
    listed = [entry for group in groups.values() for entry in group if isinstance(entry, str)]
    return [Requirement(entry) for entry in [*project["project"]["dependencies"], *listed]]


def test_each_line_is_a_version_and_its_hashes() -> None:
    assert [
        line
        for text in (LOCK, ENGINES, SERVE, SITE, *TOOLS.values())
        for line in lines(text)
        if not LINE.fullmatch(line)
    ] == []


@pytest.mark.parametrize("requirement", wanted(PROJECT), ids=str)
def test_lock_satisfies_the_project(requirement: Requirement) -> None:
    versions = pinned(LOCK)[canonicalize_name(requirement.name)]
    assert versions
    assert all(requirement.specifier.contains(version, prereleases=True) for version in versions)


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_are_locked(tool: str) -> None:
    for requirement in map(Requirement, PROJECT["dependency-groups"][tool]):
        versions = pinned(TOOLS[tool])[canonicalize_name(requirement.name)]
        assert versions
        assert all(requirement.specifier.contains(version) for version in versions)


@pytest.mark.parametrize("requirement", PROJECT["dependency-groups"]["far-ends"])
def test_far_ends_are_locked(requirement: str) -> None:
    wanted = Requirement(requirement)
    versions = pinned(SERVE)[canonicalize_name(wanted.name)]
    assert versions
    assert all(wanted.specifier.contains(version, prereleases=True) for version in versions)


@pytest.mark.parametrize("requirement", PROJECT["dependency-groups"]["docs"])
def test_what_builds_the_site_is_locked(requirement: str) -> None:
    wanted = Requirement(requirement)
    versions = pinned(SITE)[canonicalize_name(wanted.name)]
    assert versions
    assert all(wanted.specifier.contains(version) for version in versions)


def test_optional_parts_are_tested_too() -> None:
    """An extra that the lock leaves out would be code that no test runs."""
    extras = [
        Requirement(entry).name for entries in PROJECT["project"]["optional-dependencies"].values() for entry in entries
    ]
    assert set(map(canonicalize_name, extras)) <= set(pinned(LOCK))


def test_what_builds_the_project_is_locked() -> None:
    names = {canonicalize_name(Requirement(entry).name) for entry in PROJECT["build-system"]["requires"]}
    assert names <= set(pinned(LOCK))


@pytest.mark.parametrize("trace", ["://", "/tmp", "/home", "/root", "--index", "--find-links", " @ "])  # noqa: S108 - searched for
def test_no_host_and_no_path(trace: str) -> None:
    assert all(trace not in text for text in ALL)


def test_locks_agree() -> None:
    """The engines, the service and the site are tried beside the very versions that everything else is tried with."""
    base, engines = pinned(LOCK), pinned(ENGINES)
    for other in (engines, pinned(SERVE), pinned(SITE)):
        assert {name for name in base.keys() & other.keys() if base[name] != other[name]} == set()
    assert {"psycopg", "pyspark"} <= engines.keys()


def test_faults_are_seen() -> None:
    assert not LINE.fullmatch("numpy==2.0")
    assert not LINE.fullmatch("numpy>=2.0 --hash=sha256:" + "0" * 64)
    assert lines("a==1 \\\n    --hash=x\n    # via b\nc==2") == ["a==1 --hash=x", "c==2"]
