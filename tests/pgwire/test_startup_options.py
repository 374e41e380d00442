"""What a client states when it connects."""

from __future__ import annotations

import pytest

from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.startup_options import first_settings


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"user": "ann", "database": "people"}, {}),
        (
            {"options": "-c discreet.epsilon=0.1 --discreet.intervals=on"},
            {"discreet.epsilon": "0.1", "discreet.intervals": "on"},
        ),
        ({"options": "-cdiscreet.within=n=25,\\ v=1"}, {"discreet.within": "n=25, v=1"}),
        ({"application_name": "x", "_pq_.y": "z"}, {"application_name": "x"}),
        ({"client_encoding": "LATIN1", "TimeZone": "Asia/Tokyo"}, {"timezone": "UTC"}),
        ({"options": "-c discreet.rho=1 -c discreet.epsilon=0.1"}, {"discreet.epsilon": "0.1"}),
        ({"discreet.scans": "declared"}, {"discreet.scans": "declared"}),
    ],
)
def test_settings(params: dict[str, str], found: dict[str, str]) -> None:
    assert first_settings(params, "ann") == found


@pytest.mark.parametrize("options", ["-x", "-c", "-c nothing", "-c discreet.epsilon=much", "--discreet.nothing=1"])
def test_refusals(options: str) -> None:
    with pytest.raises(Refused):
        first_settings({"options": options}, "ann")
