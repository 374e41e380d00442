"""The command as a whole: names, codes, speed, and silence about what is private."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import Result

from discreet.cli.application import COMMANDS

Run = Callable[..., Result]


def test_help_names_every_command(run: Run) -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in COMMANDS)
    assert run().exit_code == 2
    for name in COMMANDS:
        assert "Exit codes: 0" in run(name, "--help").stdout or name == "ledger"
    for name in ("create", "show"):
        assert "Exit codes: 0" in run("ledger", name, "--help").stdout


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"discreet {version('discreet')}\n"


def test_unknown_commands_are_refused(run: Run) -> None:
    assert run("quary").exit_code == 2


def test_the_entry_point_is_quick_where_no_table_is_read() -> None:
    program = "import sys; from discreet.cli import ledger_command, main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"ibis", "duckdb", "pyarrow", "matplotlib", "numpy", "rich"} & set(done.stdout.split()) == set()


@pytest.mark.long
def test_the_installed_command_runs(file: Path) -> None:
    command = Path(sys.executable).with_name("discreet")
    asked = [str(command), "query", str(file), "SELECT COUNT(*) FROM data", "--each-row"]
    done = subprocess.run(
        [*asked, "--epsilon", "1", "--format", "csv"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith('"count","count_low","count_high"\n')
    assert done.stderr.startswith("Not accounted:")
    refused = subprocess.run([*asked, "--epsilon", "x"], capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


def test_an_interruption_says_what_stays(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.engines.duckdb.DuckDB.totals", interrupt)
    done = ask()
    assert done.exit_code == 130
    assert "What was charged stays charged" in done.stderr


@pytest.mark.parametrize("module", ["discreet.cli.application", "typer", "discreet.errors"])
def test_an_interruption_while_it_starts_has_no_traceback(module: str) -> None:
    """Whatever is being loaded by then."""
    program = f"""if True:
        import sys
        class Interrupted:
            def find_spec(self, name, *_):
                if name == {module!r}:
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupted())
        from discreet.cli import main
        main()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted. Nothing was charged.\n")


def test_an_interruption_while_it_ends_has_no_traceback() -> None:
    """Somebody who is impatient interrupts twice."""
    program = """if True:
        import atexit, os, signal, sys
        atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
        sys.argv[1:] = ["--version"]
        from discreet.cli import main
        main()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout == f"discreet {version('discreet')}\n"
