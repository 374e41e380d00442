"""scripts/set_up.sh refuses what cannot work, with its cure, before it touches .venv."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("cat", "cksum", "dirname", "rm", "sh")

REAL = f'exec "{sys.executable}" "$@"'
OLD = 'case "$*" in *"3, 11"*) exit 1 ;; --version) echo Python 3.9.18 ;; esac'
SHIM = "echo 'command not found' >&2; exit 127"
WITHOUT_ENSUREPIP = f'case "$*" in *ensurepip*) exit 1 ;; esac\n{REAL}'
WITHOUT_NETWORK = f"""
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python; exit ;;
  *"pip install"*) echo "no route to host" >&2; exit 1 ;;
  *_base_executable*) echo "$0"; exit ;;
esac
{REAL}"""
WORKING = f"""
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python; exit ;;
  *"pip install"*) echo "$*" >>installed; touch .venv/bin/discreet .venv/bin/pytest; chmod +x .venv/bin/*; exit ;;
  *_base_executable*) echo "$0"; exit ;;
esac
{REAL}"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A clone and a PATH with nothing on it but what the script itself calls."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    for name in ("pyproject.toml", "requirements.lock", "scripts/set_up.sh"):
        shutil.copy(ROOT / name, tmp_path / name)
    for tool in (*TOOLS, "cp", "mkdir", "touch", "chmod"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def provide(machine: Path, **programs: str) -> None:
    """Puts shell programs on the machine's PATH."""
    for name, body in programs.items():
        path = machine / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)


def set_up(machine: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(machine / "bin" / "sh"), "scripts/set_up.sh"],
        cwd=machine,
        env={"PATH": str(machine / "bin"), **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("programs", "environment", "said"),
    [
        ({}, {}, ["got none", "Hint: apt install python3"]),
        ({"python3": OLD}, {}, ["Expected Python 3.11 or later, got Python 3.9.18", "Hint: "]),
        ({"python3": SHIM}, {}, ["got none"]),
        ({"python3": REAL, "old": OLD}, {"PYTHON": "old"}, ["got PYTHON=old", "Hint: name one that runs"]),
        ({"python3": REAL}, {"PYTHON": "nowhere"}, ["got PYTHON=nowhere"]),
        (
            {"python3": WITHOUT_ENSUREPIP},
            {},
            ["got python3 without ensurepip", f"apt install python3.{sys.version_info.minor}-venv"],
        ),
    ],
    ids=["nothing", "old", "shim", "chosen-old", "chosen-missing", "no-ensurepip"],
)
def test_refusals(machine: Path, programs: dict[str, str], environment: dict[str, str], said: list[str]) -> None:
    provide(machine, **programs)
    (machine / ".venv").mkdir()
    done = set_up(machine, **environment)
    assert done.returncode == 1
    assert all(part in done.stderr for part in said), done.stderr
    assert (machine / ".venv").exists()


def test_first_fitting_python_is_taken(machine: Path) -> None:
    """A shim without a Python, an old one and one without ensurepip are passed over."""
    provide(machine, **{"python3.13": SHIM, "python3.12": OLD, "python3.11": WITHOUT_ENSUREPIP, "python3": WORKING})
    done = set_up(machine)
    assert done.returncode == 0, done.stderr
    assert "with pip and " in done.stderr
    installed = (machine / "installed").read_text()
    assert "--require-hashes --no-deps --requirement requirements.lock" in installed
    assert "--no-deps --no-build-isolation --editable ." in installed


def test_interruption_heals(machine: Path) -> None:
    provide(machine, python3=WITHOUT_NETWORK)
    failed = set_up(machine)
    assert failed.returncode == 1
    assert "no route to host" in failed.stderr
    assert "run the same command again" in failed.stderr
    (machine / ".venv" / "left-over").touch()
    provide(machine, python3=WORKING)
    assert set_up(machine).returncode == 0
    assert not (machine / ".venv" / "left-over").exists()


@pytest.mark.parametrize("what", ["lock", "interpreter", "program"])
def test_remade_only_when_needed(machine: Path, what: str) -> None:
    provide(machine, python3=WORKING)
    assert set_up(machine).stderr.startswith("Making .venv")
    assert set_up(machine).stderr == ""
    match what:
        case "lock":
            with (machine / "requirements.lock").open("a") as lock:
                lock.write("# changed\n")
        case "interpreter":
            provide(machine / ".venv", python=SHIM)
        case "program":
            (machine / ".venv" / "bin" / "discreet").unlink()
    assert set_up(machine).stderr.startswith("Making .venv")
    assert set_up(machine).stderr == ""


def test_uv_is_preferred(machine: Path) -> None:
    """With uv there need not even be a Python."""
    provide(machine, uv='echo "$*" >>asked\ncase "$1" in venv) mkdir -p .venv ;; esac')
    done = set_up(machine)
    assert done.returncode == 0, done.stderr
    asked = (machine / "asked").read_text()
    assert "venv --quiet --python >=3.11 .venv" in asked
    assert "--require-hashes --no-deps --requirement requirements.lock" in asked
