"""What centers of a protected table would cost, step by step, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.clustering.synopsis import FOR_SIZE
from discreet.clustering.table_points import TablePoints
from discreet.planning.plan import Plan
from discreet.privacy.definitions import Guarantee
from discreet.query.explain import promise
from discreet.query.explain_application import application_account
from discreet.query.explanation import Accuracy, ErrorOf, Explanation
from discreet.query.question import Question

MOST_QUESTIONS = 20
"""Of the best algorithm, whatever it finds: four before its rounds, and two in each of at most eight."""
SIZES = "cluster_size"
KNOWN = "of sizes, and of their noise alone; how far centers are off depends on the rows, and is not known beforehand"
UNKNOWN = Accuracy(0.0, ErrorOf.ROWS)


def looks(algorithm: str, rounds: int) -> int:
    """How often the rows are looked at, at most: two questions a round, and those before the first.

    >>> looks("lloyd", 5), looks("best", 5)
    (10, 20)
    """
    return 2 * rounds if algorithm == "lloyd" else MOST_QUESTIONS


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterStep:
    """A question that is asked of the rows, one or more times."""

    name: str
    times: int
    share: Fraction
    """Of the charge, for each time."""
    question: Question
    weights: Mapping[str, float]


def steps_of(points: TablePoints, centers: Any, algorithm: str, rounds: int) -> list[ClusterStep]:
    """The questions that are known beforehand: all of Lloyd's algorithm, and the first of the best one."""
    count = points.examples(centers)[-1]
    if algorithm != "lloyd":
        first = ClusterStep(
            name="number of rows", times=1, share=FOR_SIZE, question=points.examples(centers)[0], weights={}
        )
        return [] if points.size is not None else [first]
    question, weights = points.summed(centers)
    each = Fraction(1, 2 * rounds)
    return [
        ClusterStep(name="sizes", times=rounds, share=each, question=count, weights={}),
        ClusterStep(name="sums", times=rounds, share=each, question=question, weights=weights),
    ]


def clusters_account(
    example: Plan, steps: Sequence[ClusterStep], *, charge: Guarantee, confidence: float, told: Mapping[str, Any]
) -> Explanation:
    """The account of centers before they are paid for.

    Args:
        example: a priced question about the same rows: it says who is protected.
        steps: what is known of how the charge is spent.
        charge: what all steps cost together.
        confidence: of the error of sizes.
        told: ``columns``, ``n_clusters``, ``algorithm`` and ``rounds``.
    """
    algorithm, rounds = told["algorithm"], told["rounds"]
    totals, size = [], UNKNOWN
    for step in steps:
        found = step.question.explain(
            epsilon=charge.epsilon * step.share, weights=dict(step.weights) or None, confidence=confidence
        )
        if step.name == "sizes":
            size = found.accuracy["n"]
        share = step.share * step.times
        times = f", {step.times} times" if step.times > 1 else ""
        said = f"{step.name}{times}"
        totals += [{**one, "statistic": said, "share": one["share"] * share} for one in found.facts["totals"]]
    left = 1 - sum((step.share * step.times for step in steps), start=Fraction(0))
    if left:
        totals.append(_rest(charge.epsilon * left, left))
    others = [f"lloyd, {rounds} rounds"] if algorithm != "lloyd" else ["best"]
    said = f"lloyd, {rounds} rounds" if algorithm == "lloyd" else "best: what suits the number of rows that it finds"
    account = application_account(
        {**promise(replace(example, charge=charge)), "groups": f"{told['n_clusters']} clusters"},
        law={"mechanism": said, "sensitivity": "of each total in its line", "intervals": KNOWN},
        columns=[
            *(
                {"name": name, "statistic": "center", "plus_minus": UNKNOWN, "share": Fraction(1)}
                for name in told["columns"]
            ),
            {"name": SIZES, "statistic": "rows", "plus_minus": size, "share": Fraction(1)},
        ],
        totals=totals,
        confidence=confidence,
        others=[{"mechanism": other, "charge": charge, "plus_minus": {SIZES: UNKNOWN}} for other in others],
    )
    return Explanation({**account.facts, "rounding": "less than the noise"})


def _rest(epsilon: Fraction, share: Fraction) -> dict[str, Any]:
    """What is asked after the number of rows is known, which decides what that is."""
    return {
        "statistic": f"at most {MOST_QUESTIONS - 1} more questions, by the number of rows",
        "of": "rows",
        "where": None,
        "range": None,
        "mechanism": "discrete Laplace",
        "sensitivity": "of each",
        "moves": "of each",
        "in": "question",
        "noise": "of each",
        "epsilon": epsilon,
        "share": share,
        "rounding": "less than the noise",
    }
