"""What everybody with a role for a data set may see of its series; nobody opens or asks for one here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from discreet.errors import InvalidParameter, InvalidQuery
from discreet.service.auditor_verbs import AuditorVerbs
from discreet.service.roles import Action, Principal
from discreet.service.series_desk import SeriesDesk, SeriesPage, ServedSeries
from discreet.service.service_errors import NOT_PUBLISHED, OTHER_SERIES, Conflict, Late, forbidden

Found = TypeVar("Found")


class SeriesVerbs(AuditorVerbs):
    """The published series of the service, over the auditor's verbs."""

    _series: SeriesDesk

    def series(self, principal: Principal, dataset: str) -> list[dict[str, Any]]:
        """The series of a data set: terms, price, errors, how many steps are published, and when more may be."""
        self._data_set(principal, Action.SERIES, dataset)
        is_curator = principal.may(Action.ADMIT, dataset)
        return [one.line(is_curator=is_curator) for one in self._series.served[dataset].values()]

    def has_series(self, dataset: str) -> bool:
        """Whether a data set has any, which is no secret of those who may see it."""
        return bool(self._series.served.get(dataset))

    def series_numbers(
        self, principal: Principal, dataset: str, series: str, *, after: int = 0, most: int = 4096
    ) -> SeriesPage:
        """The numbers of the steps behind `after`, so many steps at most.

        Raises:
            Late: nothing is published yet.
            Conflict: the data set or the series was declared anew since it was opened.
        """
        return self._shown(self._served(principal, dataset, series).page, after, most)

    def stored_series(
        self, principal: Principal, dataset: str, series: str, *, after: int = 0, most: int = 4096
    ) -> dict[str, Any]:
        """The same as it is stored, with the opening beside the first steps: enough to make the numbers again."""
        return self._shown(self._served(principal, dataset, series).excerpt, after, most)

    def _served(self, principal: Principal, dataset: str, series: str) -> ServedSeries:
        self._data_set(principal, Action.SERIES, dataset)
        found = self._series.served[dataset].get(series)
        if found is None:
            raise forbidden()
        return found

    @staticmethod
    def _shown(read: Callable[[int, int], Found | None], after: int, most: int) -> Found:
        try:
            found = read(after, most)
        except (InvalidParameter, InvalidQuery):
            raise Conflict(OTHER_SERIES) from None
        if found is None:
            raise Late(NOT_PUBLISHED)
        return found
