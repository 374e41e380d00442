"""The queue of jobs takes turns between principals."""

from __future__ import annotations

from typing import Any

from discreet.service.fair_queue import FairQueue
from discreet.service.job_records import JobRecord


def test_the_next_job_is_of_a_principal_whose_jobs_are_not_being_run() -> None:
    def job(principal: str, name: str) -> JobRecord:
        texts: dict[str, Any] = dict.fromkeys(("dataset", "digest", "ask", "what", "cost", "release"), "")
        return JobRecord(id=name, principal=principal, idempotency=None, accepted=0, first=1, **texts)

    queue = FairQueue()
    for principal, name in (("ada", "1"), ("ada", "2"), ("bob", "3"), ("ada", "4")):
        queue.put(job(principal, name))
    first, second = queue.take(), queue.take()
    assert first is not None
    assert second is not None
    assert (first.id, second.id) == ("1", "3")
    queue.release(first)
    third = queue.take()
    assert third is not None
    assert third.id == "2"
    queue.close()
    assert queue.take() is None
