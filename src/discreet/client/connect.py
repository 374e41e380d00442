"""`dp.connect`: a service elsewhere, whose data sets have the verbs of a protected table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from discreet.client.remote_declaration import DECLARED
from discreet.client.remote_series import SERIES, RemoteSeries
from discreet.client.remote_table import RemoteSource
from discreet.client.service_bodies import listed, mapping
from discreet.client.service_connection import ServiceConnection
from discreet.errors import InvalidParameter, expected, nearest
from discreet.guesses.misfit_calls import worded
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.statements.lowering import sql


@worded("dp.connect('https://example.org', token='...')")
def connect(url: str, *, token: str) -> RemoteService:
    """A service, signed in by a token; nothing is asked of it yet.

    Args:
        url: its address: https, or http on this machine alone.
        token: as its operator issued it.

    Raises:
        InvalidParameter: the address or the token is none, or the token would be sent in the open.

    >>> import discreet as dp
    >>> dp.connect("https://numbers.example", token="a token")
    <service at https://numbers.example>
    """
    return RemoteService(ServiceConnection(url, token), url)


class RemoteService:
    """A service: its data sets by name, and what is left of one's budget."""

    def __init__(self, connection: ServiceConnection, url: str) -> None:
        self._connection = connection
        self._url = url
        self._tables: dict[str, PrivateTable] = {}

    def __repr__(self) -> str:
        return f"<service at {self._url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def datasets(self) -> list[str]:
        """The names of the data sets that one has a role for."""
        return [one["name"] for one in listed("data sets", self._connection.get("/datasets"), name=str)]

    def describe(self, name: str) -> dict[str, Any]:
        """The public declaration of a data set, as its curator stated it: columns, limits, policies, allowance."""
        known = self.datasets()
        if name not in known:
            raise InvalidParameter(expected("a data set of this service", "name", name, nearest(str(name), known)))
        return dict(mapping("the declaration of a data set", self._connection.get(f"/datasets/{name}"), **DECLARED))

    def __getitem__(self, name: str) -> PrivateTable:
        """A data set as a protected table: filter, group_by, agg, explain, release."""
        if name not in self._tables:
            self._tables[name] = PrivateTable.of(RemoteSource(self._connection, self.describe(name)))
        return self._tables[name]

    def budget(self, name: str) -> list[dict[str, Any]]:
        """The allowances that one's releases have to fit into, the outermost first, with what is spent and left."""
        budget: Any = self[name].budget
        found: list[dict[str, Any]] = budget.levels
        return found

    def series(self, name: str) -> Mapping[str, RemoteSeries]:
        """The series that are published of a data set, by name: numbers that go on, for everybody who may see it.

        `.release()` has all numbers so far and `.latest` those of the last step; nothing is charged.
        """
        table = self[name]
        found = listed("series", self._connection.get(f"/datasets/{name}/series"), **SERIES)
        return {one["name"]: RemoteSeries(self._connection, table, one) for one in found}

    @property
    def latest(self) -> dict[str, Any] | None:
        """The release of this connection that ended last: its id, data set and cost, and whether it was charged."""
        return self._connection.latest

    def tables_in(self, text: object) -> dict[str, PrivateTable]:
        """The data sets whose names stand in a text, by name."""
        folded = text.casefold() if isinstance(text, str) else ""
        return {name: self[name] for name in self.datasets() if name.casefold() in folded}

    def sql(
        self,
        text: str,
        /,
        *,
        keys: Mapping[str, Any] | None = None,
        max_groups: int | None = None,
        max_rows: int | None = None,
        dialect: str = "duckdb",
    ) -> Question:
        """The question that a SELECT statement asks of a data set, as of ``dp.sql``."""
        tables = self.tables_in(text)
        return sql(text, keys=keys, max_groups=max_groups, max_rows=max_rows, tables=tables, dialect=dialect)
