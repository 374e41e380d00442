"""Mechanisms, and the package itself, by the names of other libraries."""

from __future__ import annotations

from wrong_calls import misjudged

CALLS = {
    "dp.Laplace(1, 1)": "write dp.Laplace(sensitivity=1, epsilon=1).",
    "dp.Laplace(1)": "write dp.Laplace(sensitivity=1, epsilon=1).",
    "dp.Laplace()": "write dp.Laplace(sensitivity=1, epsilon=1).",
    "dp.Laplace(epsilon=1)": "write dp.Laplace(sensitivity=1, epsilon=1).",
    "dp.Laplace(sensitivity=1)": "say what a release may cost, epsilon=0.1, or h",
    "dp.Laplace(sensitivity=1, eps=1)": "here it is called 'epsilon'.",
    "dp.Laplace(sensitivity=1, epsilon=1, delta=0)": "the known names are 'sensitivity', 'epsilon',",
    "dp.Laplace(sensitivity=0, epsilon=1)": "write sensitivity as a positive number.",
    "dp.Laplace(sensitivity=1, epsilon=-1)": "write epsilon as a positive number.",
    "dp.Laplace(sensitivity=1, epsilon=1).release()": "write .release(42).",
    'dp.Laplace(sensitivity=1, epsilon=1).release("a")': "give integers or floats, none of them missing,",
    "dp.Laplace(sensitivity=1, epsilon=1).release(None)": "give integers or floats, none of them missing,",
    'dp.Laplace(sensitivity=1, epsilon=1).release(float("nan"))': "give integers or floats, none of them missing,",
    "dp.Laplace(sensitivity=1, epsilon=1).randomise(3)": "write .release(42): the value with fresh noise",
    "dp.Laplace(sensitivity=1, epsilon=1).randomize(3)": "write .release(42): the value with fresh noise",
    "dp.Laplace(sensitivity=1, epsilon=1).sample(3)": "write .release(42): the value with fresh noise",
    "dp.Laplace(sensitivity=1, epsilon=1).noise(3)": "write .release(42): the value with fresh noise",
    "dp.Laplace(sensitivity=1, epsilon=1).error(0.95)": "write .error(confidence=0.95).",
    "dp.Laplace(sensitivity=1, epsilon=1).error(confidence=95)": "write the confidence as a fraction of one, as",
    "dp.Gaussian(1, 1, 1e-6)": "write dp.Gaussian(sensitivity=1, epsilon=1, de",
    "dp.Gaussian(sensitivity=1, epsilon=1)": "state epsilon and delta, or rho, or scale.",
    "dp.Gaussian(sensitivity=1, epsilon=1, delta=0)": "write a delta far below one over the number of",
    "dp.Gaussian(sigma=1)": "here it is called 'scale'.",
    "dp.DiscreteGaussian(1, 1)": "write dp.DiscreteGaussian(sensitivity=1, epsil",
    "dp.Staircase(1, 1)": "write dp.Staircase(sensitivity=1, epsilon=1).",
    "dp.KNorm(1)": "write dp.KNorm(vertices=[[1, 0], [0, 1]], epsi",
    "dp.Exponential(1, 1)": "write dp.Exponential(sensitivity=1, epsilon=1)",
    "dp.Exponential(sensitivity=1, epsilon=1, utility=max)": "the known names are 'sensitivity', 'epsilon',",
    "dp.NoisyMax(1, 1)": "write dp.NoisyMax(sensitivity=1, epsilon=1).",
    "dp.PermuteAndFlip(1, 1)": "write dp.Exponential(sensitivity=1, epsilon=1)",
    "dp.RandomizedResponse(1)": "write dp.RandomizedResponse(epsilon=1, categor",
    "dp.RandomizedResponse(epsilon=1, p=0.75)": "the known names are 'epsilon', 'categories', '",
    "dp.SparseVector(1, 1, 100)": "write dp.SparseVector(sensitivity=1, epsilon=1",
    "dp.SparseVector(epsilon=1, threshold=3)": "write dp.SparseVector(sensitivity=1, epsilon=1",
    "dp.Threshold(1, 1e-6)": "write dp.Threshold(epsilon=1, delta=1e-06).",
    "dp.KeySelection(1, 1e-6)": "write dp.KeySelection(epsilon=1, delta=1e-06,",
    "dp.KeySelection(epsilon=1)": "write dp.KeySelection(epsilon=1, delta=1, max_",
    "dp.LaplaceMechanism(1)": "write dp.Laplace(sensitivity=1, epsilon=0.1).",
    "dp.GaussianMechanism(1)": "write dp.Gaussian(sensitivity=1, epsilon=0.1,",
    "dp.laplace": "did you mean 'Laplace'?",
    "dp.mean(frame)": "protect a table first: dp.protect(data, unit=.",
    "dp.count(frame)": "protect a table first: dp.protect(data, unit=.",
    "dp.histogram(frame)": "protect a table first: dp.protect(data, unit=.",
    "dp.quantile(frame)": "protect a table first: dp.protect(data, unit=.",
    "dp.Session": "write people = dp.protect(data, unit='person',",
    "dp.Accountant": "a budget keeps the account: dp.Budget(epsilon=",
    "dp.BudgetAccountant": "a budget keeps the account: dp.Budget(epsilon=",
    'dp.read_csv("x.csv")': "give the path to dp.protect('visits.csv', sche",
    "dp.protet(frame)": "did you mean 'protect'?",
    "dp.KMean()": "did you mean 'kmeans'?",
    "dp.compose": "a budget keeps the account: dp.Budget(epsilon=",
    "dp.epsilon": "a budget keeps the account: dp.Budget(epsilon=",
    "dp.check(3)": "list the probabilities of outputs, as [[0.75,",
    "dp.release_log(frame)": "write dp.release_log(log, user='who', item='pa",
    'dp.release_log(frame, "person", "plan")': "write dp.release_log(log, user='who', item='pa",
    "dp.KMeans(n_clusters=3).fit(np.zeros((3, 2)))": "say what the centers may cost, epsilon=1.",
    'dp.kmeans(frame, ["age"], n_clusters=2, epsilon=1)': "make one with dp.protect(...); for an array th",
}
"""The line that each is answered with, or the beginning of it."""


def test_mechanisms_and_the_package_say_what_to_write() -> None:
    assert len(CALLS) >= 45
    assert misjudged(CALLS) == {}
