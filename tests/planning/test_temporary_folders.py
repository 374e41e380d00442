"""Temporary folders: they go with their process, and what a killed one left goes when the next is made."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from discreet.planning import temporary_folders
from discreet.planning.temporary_folders import NEW, OPEN, Folder, swept

MADE = (
    "import os, time; from discreet.planning.temporary_folders import Folder; f = Folder(); (f.path / 'file').touch()"
)
FORKED = f"{MADE}; pid = os.fork(); pid or (os.closerange(0, 3), time.sleep(60)); print(pid, f.path, flush=True)"
"""A process whose fork is silent, and stays."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def said(script: str) -> list[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_a_folder_goes_with_its_object(place: Path) -> None:
    folder = Folder()
    (folder.path / "file").touch()
    assert [path.name.startswith(OPEN) for path in place.iterdir()] == [True]
    del folder
    gc.collect()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_when_the_next_is_made(place: Path) -> None:
    [left] = said(f"{MADE}; print(f.path, flush=True); os._exit(0)")
    assert Path(left, "file").exists()
    folder = Folder()
    assert list(place.iterdir()) == [folder.path]


def test_folders_in_use_stay(place: Path) -> None:
    """Neither this process sweeps them, nor another one."""
    folder, other = Folder(), Folder()
    swept(place)
    said("from discreet.planning.temporary_folders import Folder; Folder()")
    assert sorted(place.iterdir()) == sorted([folder.path, other.path])


def test_a_fork_keeps_the_folder_of_its_parent(place: Path) -> None:
    pid, left = said(f"{FORKED}; os._exit(0)")
    try:
        swept(place)
        assert Path(left, "file").exists()
    finally:
        os.kill(int(pid), signal.SIGKILL)
    for _ in range(100):
        swept(place)
        if not Path(left).exists():
            break
        time.sleep(0.05)
    assert list(place.iterdir()) == []


def test_links_are_not_followed(place: Path) -> None:
    outside = place / "outside"
    (outside / "kept").mkdir(parents=True)
    (place / f"{OPEN}link").symlink_to(outside)
    (place / f"{OPEN}file").touch()
    before = sorted(place.rglob("*"))
    swept(place)
    assert sorted(place.rglob("*")) == before


def test_what_belongs_to_others_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / f"{OPEN}theirs").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(os, "getuid", lambda: 4711)
        swept(place)
    assert (place / f"{OPEN}theirs").exists()
    swept(place)
    assert not (place / f"{OPEN}theirs").exists()


def test_where_none_can_be_locked_none_is_swept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / f"{OPEN}left").mkdir()
    monkeypatch.setattr(temporary_folders, "_locked", lambda _: None)
    folder = Folder()
    assert folder.path.name.startswith(NEW)
    assert (place / f"{OPEN}left").exists()
    del folder
    gc.collect()
    assert [path.name for path in place.iterdir()] == [f"{OPEN}left"]
