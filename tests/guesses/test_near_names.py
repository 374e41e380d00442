"""Names that are not there are answered, and nothing that probes for names is misled: copies, pickles, notebooks."""

from __future__ import annotations

import copy
import pickle

import pytest

import discreet as dp
from discreet.errors import UnknownName
from discreet.guesses.near_names import line_for
from discreet.testing import people


def test_a_name_in_any_spelling_finds_its_line() -> None:
    for name in ("groupBy", "group_By", "GROUPBY"):
        assert line_for(name, ["agg"], {"groupby": "write .group_by(...)."}) == "write .group_by(...)."
    assert line_for("relase", ["release", "_hidden"], {}) == "did you mean 'release'?"
    assert line_for("zzz", ["b", "a", "_hidden"], {}) == "there are a, b."


@pytest.mark.parametrize("name", ["_repr_mimebundle_", "_ipython_canary_method_should_not_exist_", "__array__", "_x"])
def test_probing_for_private_names_finds_nothing(name: str) -> None:
    table = people()
    question = table.group_by("plan").agg(n=lambda t: t.count())
    for thing in (table, question, question.release(epsilon=1), table.budget, dp.Laplace(sensitivity=1, epsilon=1)):
        assert not hasattr(thing, name)
        with pytest.raises(AttributeError) as refused:
            getattr(thing, name)
        assert not isinstance(refused.value, UnknownName)


def test_hasattr_finds_no_name_that_is_only_answered() -> None:
    answer = people().count().release(epsilon=1)
    assert not hasattr(answer, "iloc")
    assert getattr(answer, "iloc", None) is None
    assert hasattr(answer, "to_pandas")


def test_copies_and_pickles_are_what_they_were() -> None:
    answer = people().count().release(epsilon=1)
    assert copy.copy(answer)["count"].tolist() == answer["count"].tolist()
    assert copy.deepcopy(answer.receipt) == pickle.loads(pickle.dumps(answer.receipt)) == answer.receipt  # noqa: S301 (our own)
    mechanism = dp.Laplace(sensitivity=1, epsilon=1)
    assert copy.deepcopy(mechanism) == pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301 (our own)


def test_an_answer_that_is_not_whole_yet_names_nothing() -> None:
    empty = dp.Release.__new__(dp.Release)
    with pytest.raises(AttributeError, match=r"got \.n\."):
        _ = empty.n  # type: ignore[attr-defined]  # the name to miss


def test_columns_of_an_answer_are_shown_in_brackets() -> None:
    answer = people().group_by("plan").agg(n=lambda t: t.count()).release(epsilon=1)
    for name, line in (("n", r"answer\['n'\]"), ("n_low", r"to_pandas\(\)\['n_low'\]"), ("plan", r"to_pandas")):
        with pytest.raises(UnknownName, match=line):
            getattr(answer, name)
