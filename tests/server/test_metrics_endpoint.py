"""`/metrics`: in the text of Prometheus, for operators alone."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from asgi_client import AsgiClient, client_of
from discreet.server.http_application import application
from discreet.server.metrics_endpoint import in_text
from discreet.service.operator_metrics import Metric
from discreet.service.service import Service


def test_an_operator_reads_what_prometheus_reads(service: Service) -> None:
    response = client_of(service, "olga").get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(response.text)}
    assert {"discreet_jobs_late", "discreet_jobs_accepted", "discreet_budget_remaining"} <= set(families)
    (epsilon,) = (one for one in families["discreet_budget_spent"].samples if one.labels["kind"] == "epsilon")
    assert (epsilon.labels["dataset"], epsilon.value) == ("people", 0.0)


def test_nobody_else_does(service: Service) -> None:
    assert AsgiClient(application(service)).get("/metrics").status_code == 401
    absent = client_of(service, "ada").get("/api/v1/datasets/absent")
    for name in ("ada", "cleo", "dora"):
        response = client_of(service, name).get("/metrics")
        assert (response.status_code, response.content) == (404, absent.content)


def test_labels_are_quoted() -> None:
    text = in_text([Metric(name="m", about="a", value=1, labels={"dataset": 'a"b\n'})]).decode()
    (family,) = text_string_to_metric_families(text)
    assert family.samples[0].labels == {"dataset": 'a"b\n'}
