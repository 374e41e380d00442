"""Every study can be loaded by its name."""

from __future__ import annotations

import pytest

from discreet.cli.studies import FIRST, STUDIES, study
from discreet.errors import InvalidParameter


@pytest.mark.parametrize("name", STUDIES)
def test_studies_are_found(name: str) -> None:
    assert callable(study(name).run)
    assert study(name).about


def test_the_first_is_a_study() -> None:
    assert FIRST in STUDIES


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="got STUDY='none'"):
        study("none")
