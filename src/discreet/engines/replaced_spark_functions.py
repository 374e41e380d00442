"""Spark's functions: those that Spark comes with have to be what its names stand for in a session.

Claim
    Where `replaced` names nothing, each name of a function that Spark comes with stands for Spark's own in the session.
Requires
    That nobody registers a function while a statement is being read.
Relies on
    Spark's order of look-up: its registry of a session, then the functions of a catalog.
Proof
    A session's registry begins as a copy of Spark's own, of the same entries: name, description and maker. A function
    of the session, or of an extension, takes the place of an entry by another one. Descriptions are the same only if
    they are one object, so what is left of Spark's own without those of the session has been replaced or taken away.
Rounding
    None.
Source
    SimpleFunctionRegistry of Spark 4.0.
Mutant
    functions-of-the-session-stand: none is looked for; killed by test_a_function_in_place_of_sparks_own_is_named.
"""

from __future__ import annotations

from typing import Any

from discreet.errors import expected

MOST = 3
"""So many names are said."""


def replaced_function_refusal(session: Any) -> str:
    """The refusal of a session in which a function of Spark's is replaced; empty if none is."""
    names = replaced(session)
    cure = "use spark.newSession(), which has tables but no temporary views, and give your function a name of its own."
    return names and expected("Spark's own functions under their names", "replaced", names, cure)


def replaced(session: Any) -> str:
    """The names of Spark's functions that stand for others in a session, as words for a message; empty if none does."""
    state, analysis = session._jsparkSession.sessionState(), session._jvm.org.apache.spark.sql.catalyst.analysis  # noqa: SLF001 (Java)
    names: list[str] = []
    for own, found in (
        (analysis.FunctionRegistry.builtin(), state.functionRegistry()),
        (analysis.TableFunctionRegistry.builtin(), state.tableFunctionRegistry()),
    ):
        left = own.functionBuilders().toSet().diff(found.functionBuilders().toSet())
        entries = left.toSeq() if left.size() else left
        names += [str(entries.apply(i)._1().funcName()) for i in range(min(left.size(), MOST))]  # noqa: SLF001 (Scala's pair)
    return ", ".join(sorted(names)[:MOST])
