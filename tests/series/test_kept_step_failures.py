"""What is left of a release of kept steps that fails: nothing of the totals that were read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import EngineError, InvalidParameter
from discreet.series.kept_step_files import StepFiles, StepRecord
from discreet.series.kept_step_totals import KeptSteps
from reachable_objects import reachable
from series_fixtures import asked, protected


@pytest.mark.parametrize("what", ["a look that fails", "a file that was cut"])
def test_no_kept_total_is_in_reach_of_a_failure(
    what: str, tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Error hooks print the locals of frames, and those that read what is kept hold exact totals."""
    table = protected(keep_steps=tmp_path)
    asked(table).release(through="2026-01-03", rho=1)
    [path] = tmp_path.rglob("*.steps")
    if what == "a file that was cut":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        monkeypatch.setattr("discreet.series.publish_steps.measured", lambda *_: 1 / 0)
    with pytest.raises((EngineError, InvalidParameter)) as failure:
        asked(table).release(through="2026-01-04")
    found = list(reachable(failure.value))
    assert len(found) > 100
    assert not any(isinstance(one, KeptSteps | StepFiles | StepRecord) for one in found)
    assert path.read_bytes() not in [one for one in found if isinstance(one, bytes)]
    assert not {id(one) for one in found} & {id(block) for blocks in seen for block in blocks}
