"""Which functions of a session stand in for Spark's own, on paper; see `conformance/test_spark_session.py`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from discreet.engines.replaced_spark_functions import replaced, replaced_function_refusal


class Entries:
    """A map or a set of Scala's, as far as it is asked."""

    def __init__(self, held: list[Any]) -> None:
        self.held = held

    def toSet(self) -> Entries:  # noqa: N802 (Scala's name)
        """Itself."""
        return self

    toSeq = toSet  # noqa: N815 (as above)

    def diff(self, other: Entries) -> Entries:
        """Those that the other one does not have."""
        return Entries([one for one in self.held if one not in other.held])

    def size(self) -> int:
        """How many there are."""
        return len(self.held)

    def apply(self, i: int) -> Any:
        """One of them."""
        return SimpleNamespace(_1=lambda: SimpleNamespace(funcName=lambda: self.held[i][0]))


def session(own: list[Any], found: list[Any]) -> Any:
    """One with these functions, of which Spark has its own."""

    def registry(entries: list[Any]) -> Any:
        return SimpleNamespace(functionBuilders=lambda: Entries(entries))

    analysis = SimpleNamespace(
        FunctionRegistry=SimpleNamespace(builtin=lambda: registry(own)),
        TableFunctionRegistry=SimpleNamespace(builtin=lambda: registry([])),
    )
    state = SimpleNamespace(functionRegistry=lambda: registry(found), tableFunctionRegistry=lambda: registry([]))
    java = SimpleNamespace(
        org=SimpleNamespace(
            apache=SimpleNamespace(
                spark=SimpleNamespace(sql=SimpleNamespace(catalyst=SimpleNamespace(analysis=analysis)))
            )
        )
    )
    return SimpleNamespace(_jvm=java, _jsparkSession=SimpleNamespace(sessionState=lambda: state))


OWN = [("least", 1), ("greatest", 2), ("sum", 3)]


def test_a_function_in_place_of_sparks_own_is_named() -> None:
    changed = session(OWN, [("least", 4), *OWN[1:], ("mine", 5)])
    assert replaced(changed) == "least"
    assert replaced_function_refusal(changed).startswith(
        "Expected Spark's own functions under their names, got replaced='least'.\nHint:"
    )


def test_functions_of_other_names_are_let_be() -> None:
    assert replaced_function_refusal(session(OWN, [*OWN, ("mine", 5)])) == ""


def test_no_more_than_some_are_named() -> None:
    assert replaced(session([(name, 1) for name in "abcde"], [])) == "a, b, c"
