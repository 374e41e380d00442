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


@pytest.mark.parametrize("place", ["Commands.invoke", "Commands.make_context", "Commands.get_command", "_told"])
def test_an_interruption_says_what_stays(place: str) -> None:
    """Wherever it falls, and also where the key is pressed again while the first one is being handled."""
    program = f"""if True:
        import os, signal, sys
        import discreet.cli as cli
        from discreet.cli import application
        def press():
            os.kill(os.getpid(), signal.SIGINT)
        class End(SystemExit):
            @property
            def code(self):
                press()
                return 130
        def interrupted(*_, **__):
            try:
                press()
            except KeyboardInterrupt:
                raise End from None
        class Slow:
            def write(self, words):
                cli.HASTE = -1
                press()
                return written.write(words)
            def flush(self):
                written.flush()
        written, sys.stderr = sys.stderr, Slow()
        application.{place} = interrupted
        sys.argv[1:] = ["ledger", "show", "--help"]
        cli.main()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    words = "Interrupted. What was charged stays charged: see discreet ledger show.\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", words)


def test_an_interruption_that_is_lost_is_not_the_last() -> None:
    """An exception in a finalizer is only printed: whoever presses the key again later is heard."""
    program = """if True:
        import os, signal, sys
        import discreet.cli as cli
        from discreet.cli import application
        def lost(*_, **__):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                cli.HASTE = 0  # as if it had passed
            os.kill(os.getpid(), signal.SIGINT)
        application.Commands.invoke = lost
        sys.argv[1:] = ["ledger", "show", "spent.db"]
        cli.main()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[:12]) == (130, "Interrupted.")


def test_what_runs_beside_a_shell_stays_deaf_to_interruptions() -> None:
    program = """if True:
        import atexit, os, signal, sys
        atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
        sys.argv[1:] = ["--version"]
        from discreet.cli import main
        main()
    """
    deaf = [
        sys.executable,
        "-c",
        "import os, signal, sys; signal.signal(2, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])",
    ]
    done = subprocess.run([*deaf, sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"discreet {version('discreet')}\n", "")


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
