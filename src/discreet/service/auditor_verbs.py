"""What auditors do with the ledger of a data set: its end, which they publish, and its verification.

The end of the chain moves when an answer is stored. So it is read once a minute, whoever asks, and shown until the next
reading: it tells in which minute a look ended, of which there are many, and not when.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.service.curator_verbs import CuratorVerbs
from discreet.service.data_sets import DataSet
from discreet.service.roles import Action, Principal
from discreet.service.service_errors import NO_HEAD, Conflict

logger = logging.getLogger("discreet.service")

MINUTE = 60.0
MOST_SHOWN = 500
"""Refusals at once."""


class Heads:
    """The ends of the ledgers of some data sets, as they were at the beginning of a minute."""

    def __init__(self, datasets: dict[str, DataSet]) -> None:
        self._datasets = datasets
        self._found: dict[str, dict[str, Any]] = {}
        self._minute = -1

    def read(self, now: float) -> None:
        """Reads them where it is another minute than the last time: an earlier one, where the clock was set back."""
        if (minute := int(now // MINUTE)) != self._minute:
            self._minute = minute
            self._found = {name: json.loads(one.budget.head().to_json()) for name, one in self._datasets.items()}

    def of(self, name: str) -> dict[str, Any]:
        """The end of one ledger."""
        return self._found[name]


class AuditorVerbs(CuratorVerbs):
    """The auditor's part of the service, over the curator's."""

    _heads: Heads

    def head(self, principal: Principal, dataset: str) -> dict[str, Any]:
        """Where the chain of a data set's ledger ended when this minute began, ready to be published."""
        self._data_set(principal, Action.AUDIT, dataset)
        return self._heads.of(dataset)

    def verify_ledger(self, principal: Principal, dataset: str, head: str | None = None) -> None:
        """Verifies every line and answer of a data set's ledger, and that it continues a published head, if given.

        The head of this moment is not told here: it moves when an answer is stored, and so tells when a look ended. Nor
        is it told what differs, which says how many lines there are by now.

        Raises:
            Conflict: it does not: the ledger is damaged, or another one than the head is of.
            InvalidParameter: the head is none.
        """
        budget = self._data_set(principal, Action.AUDIT, dataset).budget
        try:
            budget.verify(head=head or None)
        except LedgerError:
            logger.exception("a ledger was not verified")
            raise Conflict(NO_HEAD) from None

    def verify(self, principal: Principal, dataset: str, head: object = None) -> dict[str, Any]:
        """Verifies every line and answer of a data set's ledger, and that it continues a head that was published.

        Raises:
            Conflict: the ledger is damaged, or another one than the head is of.
        """
        if head is not None and not (
            isinstance(head, dict) and all(isinstance(one, str | int) for one in head.values())
        ):
            cure = "send what GET /api/v1/datasets/{name}/ledger/head gave."
            raise InvalidParameter(expected("a published head", "head", type(head).__name__, cure))
        self.verify_ledger(principal, dataset, None if head is None else json.dumps(head))
        return {"verified": True, "continues_head": head is not None}

    def refusals(
        self, principal: Principal, dataset: str, before: int | None = None, most: int = 100
    ) -> tuple[list[dict[str, Any]], int]:
        """Who was refused what of a data set, the latest first, below a number; and how many are not kept any more.

        Each has what was told to whoever was refused, and no more; for auditors and curators.
        """
        self._data_set(principal, Action.REFUSALS, dataset)
        return self._refusals.of(dataset, before, min(max(1, most), MOST_SHOWN))
