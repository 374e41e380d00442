"""Every cure that the code knows is given to somebody, and every function that it names exists."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

import discreet as dp
from discreet.statements.aggregate_functions import AGGREGATES
from discreet.statements.dialects import DUCKDB
from discreet.statements.expressions import RULES
from discreet.statements.refusals import CLAUSES, FUNCTIONS, NODES, PARTS

NODE_EXAMPLES: dict[type[exp.Expression], str] = {
    exp.Window: "SELECT SUM(age) OVER () FROM people",
    exp.Any: "SELECT COUNT(*) FROM people WHERE age > ANY (SELECT 1)",
    exp.All: "SELECT COUNT(*) FROM people WHERE age > ALL (SELECT 1)",
    exp.Subquery: "SELECT COUNT(*) FROM people WHERE age = (SELECT 1)",
    exp.Table: "SELECT COUNT(*) FROM (people)",
    exp.Exists: "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1)",
    exp.Star: "SELECT * FROM people",
    exp.Distinct: "SELECT AVG(DISTINCT age) FROM people",
    exp.Order: "SELECT AVG(age ORDER BY age) FROM people",
    exp.Rand: "SELECT COUNT(*) FROM people WHERE RANDOM() > 0.5",
    exp.TryCast: "SELECT COUNT(TRY_CAST(plan AS INT)) FROM people",
    exp.IsNan: "SELECT COUNT(*) FROM people WHERE ISNAN(spending)",
    exp.IsInf: "SELECT COUNT(*) FROM people WHERE ISINF(spending)",
    exp.CurrentDate: "SELECT COUNT(*) FROM people WHERE joined < CURRENT_DATE",
    exp.CurrentTimestamp: "SELECT COUNT(*) FROM people WHERE seen < CURRENT_TIMESTAMP",
    exp.Escape: "SELECT COUNT(*) FROM people WHERE plan LIKE 'a' ESCAPE 'b'",
    exp.Parameter: "SELECT COUNT(*) FROM people WHERE age = $1",
    exp.Placeholder: "SELECT COUNT(*) FROM people WHERE age = ?",
    exp.Interval: "SELECT COUNT(*) FROM people WHERE joined < INTERVAL 1 DAY",
}
PART_EXAMPLES: dict[tuple[type[exp.Expression], str], str] = {
    (exp.In, "query"): "SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)",
    (exp.Trim, "expression"): "SELECT COUNT(TRIM(plan, 'x')) FROM people",
}
CLAUSE_EXAMPLES = {
    "with_": "WITH a AS (SELECT 1) SELECT COUNT(*) FROM people",
    "distinct": "SELECT DISTINCT COUNT(*) FROM people",
    "having": "SELECT COUNT(*) FROM (SELECT age FROM people HAVING age > 3)",
    "order": "SELECT COUNT(*) FROM (SELECT age FROM people ORDER BY age)",
    "limit": "SELECT COUNT(*) FROM (SELECT age FROM people LIMIT 3)",
    "offset": "SELECT COUNT(*) FROM (SELECT age FROM people OFFSET 3)",
    "qualify": "SELECT COUNT(*) FROM (SELECT age FROM people QUALIFY TRUE)",
    "windows": "SELECT COUNT(*) FROM (SELECT age FROM people WINDOW w AS (ORDER BY age))",
    "sample": "SELECT COUNT(*) FROM people USING SAMPLE 3",
    "into": "SELECT COUNT(*) INTO a FROM people",
}


def refusal(statement: str, people: dp.PrivateTable) -> str:
    with pytest.raises(dp.InvalidQuery) as refused:
        dp.sql(statement, people=people)
    return str(refused.value)


@pytest.mark.long
@pytest.mark.parametrize("kind", NODES)
def test_nodes(kind: type[exp.Expression], people: dp.PrivateTable) -> None:
    what, cure = NODES[kind]
    text = refusal(NODE_EXAMPLES[kind], people)
    assert text.startswith(f"Expected {what}, got ")
    assert text.endswith(f"\nHint: {cure}")


@pytest.mark.parametrize("part", PARTS)
def test_parts(part: tuple[type[exp.Expression], str], people: dp.PrivateTable) -> None:
    what, cure = PARTS[part]
    text = refusal(PART_EXAMPLES[part], people)
    assert text.startswith(f"Expected {what}, got ")
    assert text.endswith(f"\nHint: {cure}")


@pytest.mark.parametrize("clause", CLAUSES)
def test_clauses(clause: str, people: dp.PrivateTable) -> None:
    _, what, cure = CLAUSES[clause]
    text = refusal(CLAUSE_EXAMPLES[clause], people)
    assert text.startswith(f"Expected {what}, got ")
    assert text.endswith(f"\nHint: {cure}")


def test_functions_that_are_named_as_cures_exist() -> None:
    made = {"EXTRACT": "EXTRACT(YEAR FROM a)", "CAST": "CAST(a AS INT)", "DATE_TRUNC": "DATE_TRUNC('year', a)"}
    for name in FUNCTIONS:
        for arguments in ("a", "a, 1", "a, 1, 1"):
            try:
                tree = sqlglot.parse_one(f"SELECT {made.get(name, f'{name}({arguments})')}", dialect="duckdb")
            except sqlglot.ParseError:
                continue
            if type(tree.expressions[0]) in {*RULES, *AGGREGATES} or name == DUCKDB.formatter:
                break
        else:
            pytest.fail(f"{name} is no function")
