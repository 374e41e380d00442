"""Randomized response: each person tells the truth, or not, by a coin that only they see.

Claim
    ``RandomizedResponse(epsilon=e, categories=k).release(values)`` reports each person's value with probability
    e^e/(e^e+k-1) and each other category with probability 1/(e^e+k-1), independently, exactly; so each report is
    e-differentially private for its sender, whoever sees it. With `questions` = m answers of each person, each is
    reported at e/m, and all together are e-differentially private.
Requires
    ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `Bernoulli.certified` and `below`: exact laws. `Channel` for the estimate.
Proof
    The truth coin has the probability of `kept` exactly; otherwise one of the k-1 others is drawn uniformly, by
    skipping the true one: probability (k-1)/(e^e+k-1) times 1/(k-1). For two values of one person the probabilities of
    a report differ by at most the ratio e^e. m reports of one person are independent, so their ratios multiply. A
    given other category is supported with probability 1/(e^e+k-1), the q of the `Channel`. *Bound.* `report_tails`
    has the chance that an estimate misses; it is never asked for more than Hoeffding's 2 exp(-2 n t^2 (p-q)^2), the
    estimate being a mean of n independent numbers that lie 1/(p-q) apart, with the union over all estimates.
Rounding
    Reports: none. Figures: floating point.
Source
    Warner, Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias (1965); Kairouz, Bonawitz,
    Ramage, Discrete Distribution Estimation under Local Privacy (ICML 2016): k categories.
Mutant
    apart-by-difference: p - q is taken of two floats, which may be the same; killed by test_functions_at_the_ends.
    last-in-the-clear: the last person's value is reported as it is; killed by test_every_person_is_protected.
    epsilon-for-each: each of several questions gets the whole epsilon; killed by test_questions_share_epsilon.
    own-value-not-skipped: a lie may be the truth; killed by test_reports_follow_the_law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, one_stated, positive
from discreet.exact.bisection import least, least_whole
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.mechanisms.frequencies import (
    Categories,
    Channel,
    Reals,
    certain_float,
    honest_report_probability,
    to_simplex,
    warn_if_useless,
)
from discreet.mechanisms.report_tails import DIGITS, ReportLaw, any_of
from discreet.noise.bernoulli import Bernoulli
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.uniform import below
from discreet.privacy.events import Event, RandomizedResponseEvent, composed


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(HasLoss):
    """Reports each person's category truthfully with probability e^epsilon / (e^epsilon + k - 1), and otherwise one of
    the others; so the array may be collected by anyone.

    Args:
        epsilon: what one person's report, or all reports of one person, may cost.
        categories: the possible values, listed in public; or their number k, for values 0..k-1.
        questions: how many such values each person answers, at epsilon / questions each.

    >>> poll = RandomizedResponse(epsilon=1, categories=["no", "yes"])
    >>> reports = poll.release(["yes"] * 6000 + ["no"] * 4000)
    >>> shares = poll.estimate(reports)  # without bias
    >>> bool(abs(shares[1] - 0.6) < 0.1)
    True
    >>> float(poll.variance(0.6, people=10_000).round(8))
    9.207e-05
    """

    epsilon: Fraction
    categories: Categories
    questions: int = 1
    channel: Channel = field(init=False, repr=False)

    @with_usage_hint("dp.RandomizedResponse(epsilon={}, categories=2)")
    def __init__(self, *, epsilon: object, categories: object = 2, questions: int = 1) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        listed = categories if isinstance(categories, Categories) else Categories.of(categories)
        object.__setattr__(self, "categories", listed)
        object.__setattr__(self, "questions", at_least_one("questions", questions))
        p, others = certain_float(self.each, listed.size - 1), listed.size - 1
        object.__setattr__(self, "channel", Channel(p, (1 - p) / others))

    @property
    def each(self) -> Fraction:
        """The epsilon of one report."""
        return self.epsilon / self.questions

    @property
    def truth(self) -> float:
        """The probability of a truthful report, as a float."""
        return self.channel.p

    @property
    def event(self) -> Event:
        """What a ledger records of all reports of one person."""
        one = RandomizedResponseEvent(epsilon=self.each, categories=Fraction(self.categories.size))
        return one if self.questions == 1 else composed(one, times=self.questions)

    @with_usage_hint(".release([0, 1, 1])")
    def release(self, values: ArrayLike, *, words: RandomWords | None = None) -> NDArray[Any]:
        """One report for each person: the shape of `values`, which is (people,), or (people, questions).

        Args:
            values: each person's category.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: the shape is another, or a value is not among the categories.
        """
        codes = self.categories.codes(values)
        if codes.shape[1:] != (() if self.questions == 1 else (self.questions,)):
            cure = "give one row for each person, and one column for each question."
            raise InvalidParameter(expected(f"{self.questions} values a person", "shape", codes.shape, cure))
        source, others = words or fresh_words(), self.categories.size - 1
        honest = (
            Bernoulli.certified(lambda: honest_report_probability(self.each, others))
            .sample(codes.size, source)
            .reshape(codes.shape)
        )
        lies = below(others, codes.size, source).reshape(codes.shape)
        lies += lies >= codes
        return self.categories.named(np.where(honest, codes, lies))

    report = release

    def tally(self, reports: ArrayLike) -> NDArray[np.int64]:
        """How many reports name each category: shape (categories,), or (questions, categories). Tallies add up."""
        codes = self.categories.codes(reports)
        if self.questions == 1:
            return np.bincount(codes.ravel(), minlength=self.categories.size)
        return np.stack([np.bincount(column, minlength=self.categories.size) for column in codes.T])

    def estimate(self, reports: ArrayLike, *, simplex: bool = False) -> Reals:
        """The share of the people in each category: shape (categories,), or (questions, categories).

        Args:
            reports: what `release` returned, from everybody.
            simplex: whether to move the shares to the nearest that are 0 or more and add up to 1.

        Raises:
            InvalidParameter: there are no reports.
        """
        tally = self.tally(reports)
        if not np.ndim(reports):
            cure = "give what .release returned, a report for each person."
            raise InvalidParameter(expected("an array of reports", "reports", "one", cure))
        return self.estimate_tally(tally, people=np.shape(reports)[0], simplex=simplex)

    def estimate_tally(self, tally: ArrayLike, *, people: int, simplex: bool = False) -> Reals:
        """As `estimate`, from a tally of the reports of so many people.

        Warns where epsilon is below 1/people: then not even one count of all the people would say anything.
        """
        shares = self.channel.estimate(tally, people=people)
        warn_if_useless(self.each, people, float(np.sqrt(self.variance(people=people))))
        return to_simplex(shares) if simplex else shares

    def variance(self, share: ArrayLike = 0.0, *, people: int) -> Reals:
        """The exact variance of the estimated share of a category that this share of the people have."""
        return self.channel.variance(share, people=people)

    def bound(self, *, people: int, confidence: object = 0.95) -> float:
        """What all estimates together stay within, with at least this confidence, by the law of the reports.

        >>> round(RandomizedResponse(epsilon=1).bound(people=10_000), 4)
        0.0189
        """
        miss, n = 1 - confidence_level(confidence), at_least_one("people", people)
        surely = math.sqrt(self._hoeffding(miss) / 2 / n) / self._apart
        return least(lambda t: t >= surely or self._chance_to_miss(n, t) <= miss, 0.0, surely, relative=1e-9)

    @classmethod
    def sample_size(
        cls,
        *,
        within: object = None,
        rms: object = None,
        epsilon: object,
        categories: object = 2,
        questions: int = 1,
        confidence: object = 0.95,
    ) -> int:
        """A number of people from which on all estimated shares are within `within` of the truth, with this confidence.

        Args:
            within: the largest error of each share of these people: whatever the share is, by the law of the reports.
            rms: in its place, the root-mean-square error that none of the shares may exceed.
            epsilon: what all reports of one person may cost.
            categories: the possible values, or their number.
            questions: how many such values each person answers.
            confidence: with which probability all shares are `within`; of no meaning for `rms`.

        It grows like questions^2 log(questions / miss) / (epsilon within)^2: halve epsilon, and you need four times the
        people. One noisy count over people whom one may count needs twice the people (`Laplace.sample_size`).

        >>> RandomizedResponse.sample_size(within=0.01, epsilon=1)
        35583
        >>> (
        ...     RandomizedResponse.sample_size(within=0.01, epsilon=0.5),
        ...     RandomizedResponse.sample_size(rms=0.01, epsilon=0.5),
        ... )
        (150905, 39177)
        """
        asked = cls(epsilon=epsilon, categories=categories, questions=questions)
        kind, allowed = one_stated("write within=0.01.", within=within, rms=rms)
        apart = allowed * Fraction(asked._apart)
        if kind == "rms":
            p, q = asked.channel.p, asked.channel.q
            return max(1, math.ceil(Fraction(max(p * (1 - p), q * (1 - q))) / apart**2))
        miss = 1 - confidence_level(confidence)
        # Of very many people the law is the normal one, whose chance depends on people * within^2 alone.
        if (many := asked._reports(1).many) < DIGITS:
            most = int(many) + 1
            reach = Fraction(asked.bound(people=most, confidence=confidence))
            if (size := math.ceil(most * (reach / allowed) ** 2)) > most:
                return size
        surely = math.ceil(Fraction(asked._hoeffding(miss)) / 2 / apart**2)
        return least_whole(lambda n: n >= surely or asked._chance_to_miss(n, float(allowed)) <= miss, 0, 1)

    @classmethod
    def epsilon_for(
        cls, *, within: object, people: int, categories: object = 2, questions: int = 1, confidence: object = 0.95
    ) -> Fraction:
        """The smallest epsilon, to four digits, at which all shares estimated from so many people are within `within`.

        >>> float(RandomizedResponse.epsilon_for(within=0.01, people=35_583))
        1.0
        """
        allowed, n, miss = positive("within", within), at_least_one("people", people), 1 - confidence_level(confidence)

        def meets(epsilon: Fraction) -> bool:
            tried = cls(epsilon=epsilon, categories=categories, questions=questions)
            return tried._chance_to_miss(n, float(allowed)) <= miss

        return smallest_epsilon(meets, within)

    @property
    def _apart(self) -> float:
        """By how much a category is named more often by those who have it; p - q loses the digits of a small one."""
        small = math.exp(-float(self.each))
        return -math.expm1(-float(self.each)) / (1.0 + (self.categories.size - 1) * small)

    def _chance_to_miss(self, people: int, within: float) -> float:
        """A bound on the probability that one of the estimates is off by more, which two categories attain."""
        chance = self._reports(people).chance_that_one_misses(within, self.categories.size)
        return any_of(chance, self.questions)

    def _reports(self, people: int) -> ReportLaw:
        return ReportLaw(self.channel.p, self.channel.q, self._apart, people)

    def _hoeffding(self, miss: Fraction) -> float:
        """The logarithm of twice the number of estimates over the chance to miss: two shares that mirror each other
        are one.
        """
        estimates = self.questions * (self.categories.size if self.categories.size > 2 else 1)
        return math.log(2 * estimates / float(miss))
