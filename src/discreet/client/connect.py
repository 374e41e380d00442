"""`dp.connect`: a service elsewhere, whose data sets have the verbs of a protected table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import quote

from discreet.client.remote_declaration import DECLARED, fetched_tuples
from discreet.client.remote_series import SERIES, RemoteSeries
from discreet.client.remote_table import RemoteSource
from discreet.client.service_bodies import list_of_objects, mapping, reading
from discreet.client.service_connection import ServiceConnection
from discreet.curator.public_data import public_keys
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.planning.group_keys import MOST_KEYS
from discreet.query.public_keys import PublicKeys
from discreet.query.question import Question
from discreet.query.shared_table import protected_table
from discreet.query.table import PrivateTable
from discreet.statements.sql_translation import sql

KEYS_OF = "the public keys of a data set"


@with_usage_hint("dp.connect('https://example.org', token='...')")
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
        return [one["name"] for one in list_of_objects("data sets", self._connection.get("/datasets"), name=str)]

    def describe(self, name: str) -> dict[str, Any]:
        """The public declaration of a data set, as its curator stated it: columns, limits, policies, allowance."""
        known = self.datasets()
        if name not in known:
            raise InvalidParameter(expected("a data set of this service", "name", name, nearest_name(str(name), known)))
        return dict(mapping("the declaration of a data set", self._connection.get(f"/datasets/{name}"), **DECLARED))

    def __getitem__(self, name: str) -> PrivateTable:
        """A data set as a protected table: filter, group_by, agg, explain, release.

        Where rows belong to two people each it is a `SharedTable`, which refuses the verbs that it has not.
        """
        if name not in self._tables:
            self._tables[name] = protected_table(RemoteSource(self._connection, self.describe(name)))
        return self._tables[name]

    def public_keys(self, name: str, keys: str) -> PublicKeys:
        """The public tuples that the curator of a data set gave this name, as ``group_by`` and ``hierarchy`` take them.

        ``describe(name)["public_keys"]`` lists the names; nothing is charged.

        Raises:
            InvalidParameter: there are none of this name, or more than fit in memory.
            ServiceRefused: the policy of the data set does not show them.
        """
        stated = self.describe(name).get("public_keys", {})
        with reading(KEYS_OF):
            known = {called: mapping(KEYS_OF, one, columns=list, tuples=int) for called, one in stated.items()}
        if keys not in known:
            raise InvalidParameter(
                expected("public keys of this data set", "keys", keys, nearest_name(str(keys), known))
            )
        size = known[keys]["tuples"]
        if size > MOST_KEYS:
            cure = "fetch them as Parquet, page by page, and mark the file: dp.public_keys(path, name=...)."
            raise InvalidParameter(expected(f"at most {MOST_KEYS:,} tuples", keys, f"{size:,}", cure))
        place = f"/datasets/{quote(name, safe='')}/public_keys/{quote(keys, safe='')}"
        table = fetched_tuples(self._connection, place, known[keys]["columns"], size)
        with reading(KEYS_OF):
            return public_keys(table, name=keys)

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
        found = list_of_objects("series", self._connection.get(f"/datasets/{name}/series"), **SERIES)
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
