"""Several processes of one service under fire: what was charged and told fits together, whoever was killed when."""

from __future__ import annotations

from pathlib import Path

import pytest

from killable_postgresql import PRESENT, killable_postgresql
from service_cluster import service_cluster, under_fire, verdict

SECONDS = 6.0


@pytest.mark.skipif(not PRESENT, reason="PostgreSQL is not installed")
def test_nothing_is_overspent_lost_or_charged_twice(tmp_path: Path) -> None:
    with killable_postgresql() as server:

        def kill_database() -> None:
            server.kill()
            server.start()

        places = {"ledger": server.url("people"), "state": server.url("state")}
        with service_cluster(tmp_path, processes=2, analysts=12, **places) as cluster:
            clients, killed = under_fire(cluster, SECONDS, every=1.5, kill_database=kill_database)
            cluster.close()
            found = verdict(cluster, clients)
    assert found.faults == ()
    assert killed["server"] >= 1
    assert found.states["ready"] > 0
    assert found.charges >= found.states["ready"]
