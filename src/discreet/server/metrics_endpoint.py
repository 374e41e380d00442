"""Metrics in the text format of Prometheus, for operators."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from discreet.server.signed_in_requests import Served, SignedIn
from discreet.service.operator_metrics import Metric

PLAIN = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter(tags=["auditors and operators"])


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def metrics(service: Served, principal: SignedIn) -> Response:
    """Budgets of data sets, jobs that were accepted, and those that were late; the operator's."""
    return Response(in_text(service.metrics(principal)), media_type=PLAIN)


def in_text(metrics: Iterable[Metric]) -> bytes:
    r"""Measures as Prometheus reads them.

    >>> print(in_text([Metric(name="discreet_jobs_late", about="Late jobs", value=2.0)]).decode().split("\n")[2])
    discreet_jobs_late 2.0
    """
    registry = CollectorRegistry()
    gauges: dict[str, Gauge] = {}
    for one in metrics:
        if one.name not in gauges:
            gauges[one.name] = Gauge(one.name, one.about, list(one.labels), registry=registry)
        gauge = gauges[one.name].labels(**one.labels) if one.labels else gauges[one.name]
        gauge.set(one.value)
    return generate_latest(registry)
