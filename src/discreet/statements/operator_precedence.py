"""Operator precedence: corrects the parser's table where it is wrong, and refuses what dialects read differently.

Claim
    A tree that passes `check_operators` is the one that its dialect makes of the same text, as far as the operators of
    `expressions.RULES` go.
Requires
    A tree that `parser_of` made of the text in this dialect.
Relies on
    The order in which sqlglot's parser binds: OR, AND, NOT, comparisons, ||, + and -, * and /, powers, signs, casts.
Proof
    From || on that is the order of DuckDB and PostgreSQL, once `%` is placed with `*`, and that of Spark, once || is
    placed with + and -. Comparisons are where they differ: IS binds weaker than = in PostgreSQL and
    DuckDB, and in Spark = is an operand of IS, BETWEEN and LIKE, and all of =, < and > are one level. None of this is
    seen unless a comparison, or NOT, is an operand of another operator than AND, OR and NOT without parentheses, and
    that is refused. All of them agree that comparisons bind tighter than NOT, NOT tighter than AND.
Rounding
    None.
Source
    PostgreSQL's gram.y and Spark's SqlBaseParser.g4; for DuckDB, and the others too, random expressions that the engine
    evaluates: tests/statements/test_operator_precedence.py and tests/engines/conformance/test_sql.py.
Mutant
    remainder-beside-plus: `%` stays where sqlglot 29 has it; killed by test_random_expressions_mean_what_duckdb_means.
    comparisons-of-comparisons: sqlglot's reading of `a = b IS NULL` is kept; killed by
    test_random_expressions_mean_what_duckdb_means.
    pipes-of-spark: || binds weaker than + in Spark, too; killed by test_texts_are_joined_as_the_dialect_does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.statements.bounded_parser import bounded
from discreet.statements.dialects import DIALECTS

if TYPE_CHECKING:
    from discreet.statements.statement_text import Text

COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Is, exp.Between, exp.In, exp.Like, exp.ILike),
)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.Pow, exp.DPipe)
OPERANDS = ("this", "expression", "low", "high")
"""Parts of an operator that only precedence separates; a list after IN has parentheses."""


@cache
def parser_of(name: str) -> type[Any]:
    """The parser of a dialect, with a table of operators that is the dialect's."""
    original: Any = Dialect.get_or_raise(name).parser_class
    terms = {kind: node for kind, node in original.TERM.items() if kind is not TokenType.MOD}
    if DIALECTS[name].pipes_are_terms:
        terms[TokenType.DPIPE] = exp.DPipe

    def sampled(parser: Any, *arguments: Any, **named: Any) -> Any:
        """Reads TABLESAMPLE 10 %, which is not a remainder."""
        parser.FACTOR = original.FACTOR
        try:
            return original._parse_table_sample(parser, *arguments, **named)  # noqa: SLF001 - what is overridden
        finally:
            del parser.FACTOR

    factors = {**original.FACTOR, TokenType.MOD: exp.Mod}
    # Formats are read as they are written: the parser would translate them to its own.
    formatters = {dialect.formatter for dialect in DIALECTS.values()}
    functions = {function: read for function, read in original.FUNCTIONS.items() if function not in formatters}
    own = {"TERM": terms, "FACTOR": factors, "FUNCTIONS": functions, "_parse_table_sample": sampled}
    fixed: Any = type(original)("Parser", (original,), own)
    return bounded(fixed)


def parsed(tokens: tuple[Token, ...], source: str, name: str) -> list[exp.Expression | None]:
    """The trees of all statements in a text; raises ParseError if there is none."""
    parser = parser_of(name)(dialect=Dialect.get_or_raise(name))
    try:
        trees: list[exp.Expression | None] = parser.parse(list(tokens), source)
    except ParseError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        last = tokens[-1]  # the parser's own fault, in a function whose arguments it did not expect
        raise ParseError.new("Unreadable arguments", line=last.line, col=last.col) from None
    return trees


def check_operators(tree: exp.Expression, text: Text) -> None:
    """Refuses a comparison, or NOT, that is an operand of a comparison or of arithmetic without parentheses."""
    for node in tree.walk():
        if not isinstance(node, (*COMPARISONS, *ARITHMETIC)):
            continue
        for part in (node.args.get(name) for name in OPERANDS):
            if isinstance(part, (*COMPARISONS, exp.Not)):
                cure = "dialects differ in which of them comes first; write (a = b) IS NULL, or a < b AND b < c."
                raise text.refusal("parentheses around a comparison inside another", node, cure)
