"""The pages of one answer: the wait until its public moment, the answer, its files and its receipt."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response

from discreet.errors import DiscreetError
from discreet.server.answer_formats import WRITERS, AnswerFormat
from discreet.server.pages.answer_view import CONFIDENCES, FORMATS, AnswerView
from discreet.server.pages.dataset_tabs import base_of
from discreet.server.pages.page_site import PageSite, Problem, Visit
from discreet.service.answer_timing import State
from discreet.service.asked_tables import as_one
from discreet.service.service_errors import Forbidden, NotSignedIn, forbidden

ENDED = (State.READY, State.FAILED)


def answer_page(site: PageSite, visit: Visit) -> Response:
    """The answer; before its public moment, the wait; of a failed one, that it failed."""
    job = site.service.job(visit.who, visit.name("job"))
    sql = _statement(site, visit, job)
    place = f"{base_of(job.dataset)}/ask"
    again = f"{place}?{urlencode({'sql': sql})}" if sql else place
    if job.state not in ENDED:
        at = datetime.fromtimestamp(job.ready_at, UTC)
        shown = {
            "id": job.id,
            "late": job.state is State.LATE,
            "ready_at_iso": at.isoformat(timespec="seconds"),
            "ready_at_shown": f"{at:%H:%M:%S} UTC",
        }
        return site.show(visit, "answer_wait.html", job=shown, seconds=max(0.0, job.ready_at - time.time()))
    try:
        release = site.service.answer(visit.who, job.id)
    except (Forbidden, NotSignedIn):
        raise
    except DiscreetError as error:
        return site.show(visit, "answer_failed.html", problem=Problem.of(error), ask_again=again)
    view = AnswerView.read(as_one(release), _confidence(visit.query("confidence")))
    return site.show(
        visit, "answer.html", answer=view, job=job, sql=sql, ask_again=again, formats=FORMATS, confidences=CONFIDENCES
    )


def _confidence(given: str) -> float:
    """One of those that are offered; 95 % where another is given."""
    return next((one for one in CONFIDENCES if f"{one}" == given), 0.95)


def _statement(site: PageSite, visit: Visit, job: Any) -> str:
    """The statement that was asked; nothing where it was a document."""
    listed = site.service.questions(visit.who, job.dataset)
    return sql_of(next((one["ask"] for one in listed if one["job"].id == job.id), "{}"))


def sql_of(ask: str) -> str:
    """The statement of a stored ask; nothing where it was a document."""
    question = json.loads(ask).get("question", {})
    return str(question.get("sql") or "") if isinstance(question, Mapping) else ""


def answer_state(site: PageSite, visit: Visit) -> Response:
    """Whether the answer has come, for the script that waits."""
    job = site.service.job(visit.who, visit.name("job"))
    return JSONResponse({"finished": job.state in ENDED, "seconds": max(0.0, job.ready_at - time.time())})


def receipt_page(site: PageSite, visit: Visit) -> Response:
    """The whole receipt, as JSON."""
    release = site.service.answer(visit.who, visit.name("job"))
    return file_response(json.dumps(dict(release.receipt), indent=2).encode(), "application/json", "receipt.json")


def download(site: PageSite, visit: Visit) -> Response:
    """The answer as a file of one of the formats."""
    kind = visit.name("format")
    if kind not in dict(FORMATS):
        raise forbidden()
    media_type, write = WRITERS[AnswerFormat(kind)]
    release = site.service.answer(visit.who, visit.name("job"))
    return file_response(write(release), media_type, f"answer-{visit.name('job')[:8]}.{kind}")


def file_response(content: bytes, media_type: str, name: str) -> Response:
    """A download under a name."""
    return Response(content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})
