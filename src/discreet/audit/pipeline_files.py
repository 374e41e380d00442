"""Makes pipelines of files: scripts, notebooks and SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.audit.pipelines import Notebook, Script, SqlPipeline
from discreet.curator.protect import protect
from discreet.errors import InvalidParameter, expected
from discreet.ledger.budget import Budget
from discreet.statements.sql_translation import lower

TABLE = "data"
"""What the table is called in a statement."""


def script(path: str | Path, data: str | Path, *, arguments: tuple[str, ...] = (), function: str = "") -> Script:
    r"""A Python script that reads its table from the file `data`, which lies in the script's folder or below.

    Args:
        path: the script. It runs in a copy of its folder, as its main program, as often as there are neighbors.
        data: the file that is given other rows.
        arguments: the words of its command line.
        function: the name of a function of one path, to be called instead of running the script as a program.

    Raises:
        InvalidParameter: one of the two is not there, or the data lie elsewhere.

    >>> import tempfile
    >>> from discreet.audit import replay, script
    >>> kept = tempfile.TemporaryDirectory()
    >>> folder = Path(kept.name)
    >>> _ = (folder / "visits.csv").write_text("person,minutes\n1,20\n2,600\n")
    >>> _ = (folder / "total.py").write_text('''
    ... import pandas as pd
    ... import discreet as dp
    ... print(dp.Laplace(sensitivity=120, epsilon=1).release(float(pd.read_csv("visits.csv")["minutes"].sum())))
    ... ''')
    >>> report = replay(script(folder / "total.py", folder / "visits.csv"), folder / "visits.csv", unit="person")
    >>> report.ok, report.findings[0].kind
    (False, 'sensitivity')
    >>> kept.cleanup()
    """
    return Script(**_beside(Path(path), Path(data)), arguments=tuple(arguments), function=function)


def notebook(path: str | Path, data: str | Path, *, cells: tuple[int, ...] = ()) -> Notebook:
    r"""The code cells of a notebook, or those of these numbers (the first code cell is 1); see `script`.

    >>> import json, tempfile
    >>> from discreet.audit import notebook, replay
    >>> kept = tempfile.TemporaryDirectory()
    >>> folder = Path(kept.name)
    >>> _ = (folder / "visits.csv").write_text("person,minutes\n1,20\n2,600\n")
    >>> code = "import pandas as pd\nprint(len(pd.read_csv('visits.csv')))"
    >>> cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": code}]
    >>> facts = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    >>> _ = (folder / "visits.ipynb").write_text(json.dumps(facts))
    >>> replay(notebook(folder / "visits.ipynb", folder / "visits.csv"), folder / "visits.csv", unit="person").ok
    False
    >>> kept.cleanup()
    """
    return Notebook(**_beside(Path(path), Path(data)), cells=tuple(cells))


def _beside(path: Path, data: Path) -> dict[str, Any]:
    for name, file in (("path", path), ("data", data)):
        if not file.is_file():
            raise InvalidParameter(expected("an existing file", name, str(file), "name the pipeline and its data."))
    if not data.resolve().is_relative_to(path.resolve().parent):
        cure = "copy the data into the folder of the pipeline: it runs in a copy of that folder, on other rows."
        raise InvalidParameter(expected("data beside the pipeline", "data", str(data), cure))
    return {"name": str(path), "path": path.resolve(), "data": data.resolve()}


def statement(
    text: str,
    *,
    epsilon: Any,
    delta: Any = 0,
    keys: Any = None,
    names: tuple[str, ...] = (),
    **stated: Any,
) -> SqlPipeline:
    """An SQL statement about a protected table, which it calls ``data``.

    Args:
        text: one SELECT, as `discreet.sql` takes it.
        epsilon: what its release costs.
        delta: likewise.
        keys: the public keys of its groups; or a function that makes them of the kinds of the groups.
        names: what else the statement may call its table.
        stated: what `discreet.protect` is told of the table: unit, bounds, limits, and as `table_keys` its keys.

    >>> import pyarrow as pa
    >>> from discreet.audit import replay, statement
    >>> table = pa.table({"person": [1, 2, 2], "minutes": [20, 45, 600]})
    >>> total = "SELECT SUM(minutes) AS total FROM data"
    >>> asked = statement(total, epsilon=1, unit="person", bounds={"minutes": (0, 120)}, max_rows=2)
    >>> replay(asked, table, unit="person", epsilon=1).ok
    True
    """
    facts = {"keys" if name == "table_keys" else name: fact for name, fact in stated.items()}

    def ask(table: Any) -> Any:
        protected = protect(table, budget=Budget(epsilon=epsilon, delta=delta), name=TABLE, **facts)
        asked = lower(text, dict.fromkeys((TABLE, *names), protected))
        return asked.question(keys=keys(asked.kinds) if callable(keys) else keys)

    return SqlPipeline(name="a statement", ask=ask, epsilon=epsilon, delta=delta)
