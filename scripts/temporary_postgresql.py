"""A PostgreSQL server of one's own, for as long as a test or a benchmark needs it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
"""Nothing of it is to outlast the server."""
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


def binaries() -> Path | None:
    """The folder of PostgreSQL's programs, the newest if there are several; None without any."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    for place in PLACES:
        root, _, rest = place[1:].partition("*")
        folders = [path for path in Path("/").glob(f"{root}*{rest}") if (path / "initdb").exists()]
        if folders:
            return max(
                folders, key=lambda path: [int(n) for n in path.parent.name.split("-")[-1].split(".") if n.isdigit()]
            )
    return None


@contextmanager
def temporary_postgresql(settings: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """Starts a server on a socket in a folder of its own; gives what `ibis.postgres.connect` takes, and removes all.

    The server refuses to run as root, so root starts it as the user postgres, whom Debian's package makes.
    """
    programs = binaries()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed")
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgresql-", dir="/tmp"))
    data = folder / "data"
    try:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False, user=user, cwd=folder)  # noqa: S603 (ours)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")

        run("initdb", "-D", str(data), "-U", "discreet", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        stated = {**FAST, "listen_addresses": "", "unix_socket_directories": str(folder), **(settings or {})}
        options = " ".join(f"-c {name}='{value}'" for name, value in stated.items())
        # Its log goes to a file: through a pipe, the server would keep pg_ctl's caller waiting.
        run("pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-w", "-o", options, "start")
        try:
            yield {"host": str(folder), "user": "discreet", "database": "postgres"}
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
