"""A search over parameters: which epsilon, which limits, which sizes and types make a promise come closest to breaking.

Not left to Hypothesis' `target`, which climbs but covers nothing, and is not among the dependencies.

Claim
    `covering` meets every two values of two parameters in one of its points. So `search`, given the tries, meets any
    fault that takes two parameters, or one, to be seen; faults that take more are looked for near what is worst.
Requires
    Attacks whose reports say how much of what is allowed was used (`Report.strain`).
Relies on
    `splitmix`: the same tries every time.
Proof
    Each new point of a covering is completed from a pair that no point has met yet, so their number falls until there
    are none. Of attacks by sampling, only those that are made once more after the search count as findings: of a true
    claim each is broken with a probability of one in a million, whatever the search did.
Rounding
    None.
Source
    Cohen, Dalal, Fredman, Patton, The AETG system: an approach to testing based on combinatorial design (1997).
Mutant
    worst-is-forgotten: what was worst is not gone on from; killed by test_three_parameters_are_climbed_to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.report import Report
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import count
from discreet.noise.entropy import RandomWords
from discreet.testing.scripted_words import splitmix

CANDIDATES = 40
"""Of so many completions of a point, the one that meets the most new pairs is taken."""
ELITE = 4
"""How many of the worst points are gone on from."""
CONFIRMED = 3
"""How many of the worst are attacked once more, for what is found to count."""
REFUSALS = 4
SHOWN = 10
PATIENCE = 200

Attack = Callable[..., Report | None]
Code = tuple[int, ...]
"""A point: the place of each parameter's value in its list."""


def search(attack: Attack, space: Mapping[str, Sequence[Any]], *, tries: int = 200) -> Report:
    """Makes an attack with many parameters, the same each time, and reports what it found with the worst of them.

    Args:
        attack: a function of the parameters by name that returns the report of `sampled`, `drawn`, `exact` or `replay`;
            or None where these parameters do not go together. A refusal counts as None.
        space: the values to try, by parameter. Half of them are the first of their list: put first what is likely to
            be worst.
        tries: how many points, without those refused. Every two values of two parameters come together first, as far
            as this reaches; then the worst points are changed in one or two parameters.

    Raises:
        InvalidParameter: there is no parameter, one without values, or no try.

    >>> import discreet as dp
    >>> from discreet.audit import exact
    >>> def choice(epsilon, monotonic):
    ...     rule = dp.Exponential(sensitivity=1, epsilon=epsilon, monotonic=monotonic)
    ...     return exact(rule.probabilities([0, 0, 1]), rule.probabilities([1, 1, 0]), epsilon=epsilon)
    >>> report = search(choice, {"epsilon": [0.5, 1], "monotonic": [False, True]}, tries=4)
    >>> report.ok, report.findings[0].neighbor
    (False, 'with epsilon=1, monotonic=True')
    """
    if not space or not all(len(values) for values in space.values()):
        raise InvalidParameter(expected("values for each parameter", "space", dict(space), 'as {"epsilon": [0.1, 1]}.'))
    if count("tries", tries) < 1:
        raise InvalidParameter(expected("one try or more", "tries", tries, "one point for each: tries=200."))
    made = _Search(attack, space)
    words = splitmix(0)
    points = covering([len(values) for values in space.values()], words)
    code = next(points, None)
    while code is not None and made.made < tries:
        taken = made.meet(code)
        try:
            code = points.send(taken)
        except StopIteration:
            break
    made.climb(tries, words)
    return made.report()


class _Search:
    """The points met so far, and what each came to."""

    def __init__(self, attack: Attack, space: Mapping[str, Sequence[Any]]) -> None:
        self._attack, self._space = attack, space
        self.strains: dict[Code, float | None] = {}
        """By point; None where it was refused."""

    def point(self, code: Code) -> dict[str, Any]:
        """The parameters of a point."""
        return {name: values[i] for (name, values), i in zip(self._space.items(), code, strict=True)}

    def _attacked(self, code: Code) -> Report | None:
        try:
            return self._attack(**self.point(code))
        except (InvalidParameter, InvalidQuery):
            return None

    @property
    def made(self) -> int:
        """How many attacks were not refused."""
        return sum(strain is not None for strain in self.strains.values())

    def meet(self, code: Code) -> bool:
        """Attacks with the parameters of a point; False where they were refused."""
        if code not in self.strains:
            report = self._attacked(code)
            self.strains[code] = None if report is None else report.strain
        return self.strains[code] is not None

    def worst(self, most: int) -> list[Code]:
        """The points that used most of what is allowed; of two alike, the one met first."""
        met = [(strain, code) for code, strain in self.strains.items() if strain is not None]
        return [code for _, code in sorted(met, key=lambda pair: -pair[0])[:most]]

    def climb(self, tries: int, words: RandomWords) -> None:
        """Changes one or two parameters of one of the worst points, again and again."""
        sizes = [len(values) for values in self._space.values()]
        idle = 0
        while self.made < tries and idle < PATIENCE:
            elite = self.worst(ELITE)
            if not elite:
                return
            draw = [int(word) for word in words(5)]
            code = list(elite[draw[0] % len(elite)])
            for place, value in ((draw[1], draw[2]), (draw[3], draw[4]))[: 1 + draw[0] // ELITE % 2]:
                code[place % len(sizes)] = value % sizes[place % len(sizes)]
            idle += 1
            if tuple(code) not in self.strains and self.meet(tuple(code)):
                idle = 0

    def report(self) -> Report:
        """What the worst points come to when they are attacked once more."""
        worst = self.worst(SHOWN)
        again = [(code, report) for code in worst[:CONFIRMED] if (report := self._attacked(code)) is not None]
        findings = [
            type(one)(kind=one.kind, message=one.message, place=one.place, size=one.size, neighbor=self._words(code))
            for code, report in again
            for one in report.findings
            if one.is_violation
        ]
        taken = [code for code, strain in self.strains.items() if strain is not None]
        met, every = pairs_met(taken, [len(values) for values in self._space.values()])
        rows = tuple(self._named(code) | {"part of what is allowed": self.strains[code]} for code in worst)
        tried = {
            "points": self.made, "refused": len(self.strains) - self.made,
            "pairs of values met": f"{met} of {every}",
        }  # fmt: skip
        blind = ("values that are not listed, and faults that take three parameters, except near what was worst",)
        more = again[0][1].blind if again else ()
        name = getattr(self._attack, "__name__", type(self._attack).__name__)
        return Report(
            title=f"Search over parameters of {name}", findings=tuple(findings), tried=tried, blind=(*blind, *more),
            rows=rows, strain=max((report.strain for _, report in again), default=0.0),
        )  # fmt: skip

    def _named(self, code: Code) -> dict[str, Any]:
        return {name: str(value) for name, value in self.point(code).items()}

    def _words(self, code: Code) -> str:
        return "with " + ", ".join(f"{name}={value}" for name, value in self._named(code).items())


def covering(sizes: Sequence[int], words: RandomWords) -> Generator[Code, bool | None, None]:
    """Points that meet every two values of two parameters together, and few more than that takes.

    Who sends False after a point says that it was refused, and meets its pairs elsewhere, if there is an elsewhere.

    >>> points = list(covering([2, 3, 4], splitmix(0)))
    >>> len(points) < 24, pairs_met(points, [2, 3, 4])
    (True, (26, 26))
    """
    if len(sizes) == 1:
        yield from ((value,) for value in range(sizes[0]))
        return
    left = _Left(sizes)
    while left.total:
        drawn = (words(CANDIDATES * len(sizes)) >> np.uint64(1)).astype(np.int64).reshape(CANDIDATES, -1)
        points = np.where(drawn >> 40 & 1, drawn % np.array(sizes), 0)
        i, j, a, b = left.first()
        points[:, i], points[:, j] = a, b
        best = points[int(np.argmax(left.new(points)))]
        taken = yield tuple(int(value) for value in best)
        if taken is False:
            left.refused(i, j, a, b)
        else:
            left.meet(best)


class _Left:
    """Which pairs of values have not met yet."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._open = {
            (i, j): np.ones((sizes[i], sizes[j]), dtype=bool) for j in range(len(sizes)) for i in range(j)
        }  # fmt: skip
        self.total = sum(table.size for table in self._open.values())
        self._refusals: Counter[tuple[int, int, int, int]] = Counter()

    def first(self) -> tuple[int, int, int, int]:
        """Two parameters with the most open pairs, and values of theirs that have not met."""
        (i, j), table = max(self._open.items(), key=lambda item: int(item[1].sum()))
        a, b = np.argwhere(table)[0]
        return i, j, int(a), int(b)

    def new(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many open pairs each point would meet."""
        result: NDArray[np.int64] = np.sum(
            [table[points[:, i], points[:, j]] for (i, j), table in self._open.items()], axis=0, dtype=np.int64
        )
        return result

    def meet(self, point: NDArray[np.int64]) -> None:
        """Closes the pairs of a point."""
        for (i, j), table in self._open.items():
            self.total -= int(table[point[i], point[j]])
            table[point[i], point[j]] = False

    def refused(self, i: int, j: int, a: int, b: int) -> None:
        """Gives a pair up that was refused with whatever it was completed."""
        self._refusals[i, j, a, b] += 1
        if self._refusals[i, j, a, b] == REFUSALS:
            self._open[i, j][a, b] = False
            self.total -= 1


def pairs_met(points: Sequence[Code], sizes: Sequence[int]) -> tuple[int, int]:
    """How many pairs of values of two parameters came together in some point, and how many there are."""
    met = {(i, j, code[i], code[j]) for code in points for j in range(len(sizes)) for i in range(j)}
    every = sum(sizes[i] * sizes[j] for j in range(len(sizes)) for i in range(j))
    return len(met), every
