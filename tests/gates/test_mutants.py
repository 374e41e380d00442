"""scripts/mutants.py tells a caught fault from one that survives and from one that never ran."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from compileall import compile_file
from dataclasses import replace
from pathlib import Path

import pytest

import mutants
from mutants import CAUGHT, PAGE, ROOT, ForkServer, Mutant

TEST = "tests/test_double.py::test_double"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package with one function and its test, away from ours."""
    (tmp_path / "src" / "discreet").mkdir(parents=True)
    (tmp_path / "src" / "discreet" / "__init__.py").write_text("")
    (tmp_path / "src" / "discreet" / "double.py").write_text("def double(x):\n    # twice\n    return x * 2\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_double.py").write_text(
        "import pytest\n"
        "from discreet.double import double\n"
        "def test_double(): assert double(3) == 6\n"
        "def test_false(): assert double(3) == 7\n"
        "@pytest.fixture\n"
        "def six(): return double(3) / (double(3) == 6)\n"
        "def test_fixture(six): assert six == 6\n"
        "@pytest.mark.skipif(True, reason='planted')\ndef test_skipped(): pass\n"
    )
    (tmp_path / "tests" / "conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text())
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "depth.py").write_text((Path(__file__).parents[2] / "scripts" / "depth.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = scripts\n")
    return tmp_path


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    made = ForkServer()
    yield made
    made.close()


def planted(find: str, replace: str, test: str = TEST) -> Mutant:
    return Mutant(name="m", file="src/discreet/double.py", find=find, replace=replace, test=test)


def test_what_changed_is_tried_and_a_share_of_the_rest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(project)]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    (project / "src" / "discreet" / "double.py").write_text("def double(x):\n    return 2 * x\n")
    lately = planted("2 * x", "3 * x")
    others = [replace(lately, name=f"m{i}", file="src/discreet/__init__.py", test="tests/x.py") for i in range(300)]
    assert mutants.changed([lately, *others], "HEAD", root=project) == [lately]
    some = mutants.changed([lately, *others], "HEAD", 34, project)
    assert some[0] == lately
    assert 60 < len(some) < 140
    assert mutants.changed([lately, *others], "HEAD", 100, project) == [lately, *others]
    capsys.readouterr()
    assert mutants.changed([lately, *others], "HEAD~10", 34, project) == [lately, *others]
    assert "No revision HEAD~10" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mutant", "verdict"),
    [
        (planted("x * 2", "x * 3"), CAUGHT),
        (planted("x * 2", "x / 0"), CAUGHT),
        (planted("# twice", "# once"), "SURVIVED"),
        (planted("def double", "def triple"), "BROKEN"),
        (planted("def double", "import nothing_like_it\ndef double"), "BROKEN"),
        (planted("x * 2", "x * 3", "tests/test_double.py::test_fixture"), "BROKEN"),
        (planted("x * 2", "x * 2", "tests/test_double.py::test_no_such"), "BROKEN"),
    ],
    ids=["wrong-value", "raises", "survives", "no-import", "no-module", "fixture", "no-test"],
)
def test_verdict(project: Path, fork_server: ForkServer, mutant: Mutant, verdict: str) -> None:
    before = (project / mutant.file).read_text()
    assert mutants.trial(mutant, fork_server, project).verdict.startswith(verdict)
    assert (project / mutant.file).read_text() == before


def test_tests_must_pass_on_the_sound_source(project: Path, fork_server: ForkServer) -> None:
    assert mutants.sound(TEST, fork_server, project) is None
    for unsound in ("test_false", "test_skipped", "test_no_such"):
        assert mutants.sound(f"tests/test_double.py::{unsound}", fork_server, project) is not None


def test_only_the_planted_text_counts(project: Path, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that fails without having read the file tells nothing, nor does one that was given other bytecode."""
    (project / "src" / "discreet" / "unread.py").write_text("x = 1\n")
    test = "tests/test_double.py::test_false"
    unread = Mutant(name="m", file="src/discreet/unread.py", find="1", replace="2", test=test)
    assert mutants.trial(unread, fork_server, project).verdict.startswith("BROKEN: unread")
    monkeypatch.setattr(mutants, "rewritten", old_bytecode)
    assert mutants.trial(planted("x * 2", "x * 3"), fork_server, project).verdict.startswith("BROKEN: unread")


def old_bytecode(path: Path, text: str) -> None:
    """Writes a file as fast as a clock's tick: the bytecode seems to be as new as it is."""
    compile_file(path, quiet=2)
    when = path.stat()
    path.write_text(text)
    os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))


def test_a_process_with_threads_is_not_forked() -> None:
    """In a process of its own: in this one libraries start threads and end them, pyarrow's jemalloc for one."""
    code = """if True:
        import os, threading, fork_server
        os.fork = None
        before = fork_server.threads()
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        print(before, fork_server.threads(), fork_server.served({}))
    """
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", stdout=subprocess.PIPE, text=True, check=True
    )
    assert run.stdout.split() == ["1", "2", "threads"]


@pytest.mark.parametrize("find", ["absent", "x"])
def test_text_must_occur_once(project: Path, find: str) -> None:
    with pytest.raises(ValueError, match="times in src/discreet/double"), planted(find, "y").planted(project):
        pass


def test_an_endless_run_is_ended(project: Path, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "PATIENCE", 3)
    endless = planted("return x * 2", "while True: x")
    assert mutants.trial(endless, fork_server, project).verdict.startswith("ENDLESS")
    monkeypatch.undo()
    assert mutants.trial(planted("x * 2", "x * 3"), fork_server, project).verdict == CAUGHT


def test_names_tell_faults_apart() -> None:
    """Within a file: the same mistake may be made in two."""
    names = [(mutant.file, mutant.name) for mutant in mutants.listed()]
    assert len(names) == len(set(names))


def test_well_known_faults_are_planted_and_names_are_not_used_twice() -> None:
    names = [mutant.name for mutant in mutants.listed()]
    assert len(names) == len(set(names))
    assert {name for planted in mutants.WELL_KNOWN.values() for name in planted} <= set(names)


def test_the_page_lists_all_faults() -> None:
    """`python scripts/mutants.py --page` writes it anew; only the names and places count here."""
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    rows = {line for line in page.split("\n") if line.startswith("| ")}
    listed = {line for line in mutants.matrix(mutants.listed()).split("\n") if line.startswith("| ")}
    assert rows == listed, "renew the page: python scripts/mutants.py --page"
