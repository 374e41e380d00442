"""Names that mechanisms, and the package itself, have in other libraries of privacy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.errors import UnknownName
from discreet.guesses.near_names import each, line_for

DRAWN = "write .release(42): the value with fresh noise."
ASKED = "protect a table first: dp.protect(data, unit=..., budget=dp.Budget(epsilon=1)), and ask it: "
COUNTED = "a budget keeps the account: dp.Budget(epsilon=1); losses of mechanisms add up, (3 * m.loss).epsilon(1e-6)."
READ = "give the path to dp.protect('visits.csv', schema={'person': 'int64'}, unit=..., budget=...)."
SESSION = "write people = dp.protect(data, unit='person', budget=dp.Budget(epsilon=1)), and ask people."


MECHANISM: Mapping[str, str] = {
    **dict(each(DRAWN, "randomise randomize invoke apply sample draw noise noisy add run call perturb privatize")),
    **dict(each("write .scale.", "b sigma std stddev noise_scale lambda_")),
    **dict(each("write .error(confidence=0.95).", "quantile accuracy interval confidence_interval bias bound95 tail")),
    **dict(each("write .loss.delta(epsilon=1).", "delta profile privacy_profile")),
    **dict(each("write .loss.rho.", "rho zcdp")),
    **dict(each("write .loss.epsilon(delta=1e-6).", "eps get_epsilon privacy_spent")),
    "map": "write .loss, from which .epsilon(delta=...), .delta(epsilon=...) and .rho follow.",
    "compose": "losses add up: (3 * m.loss + other.loss).epsilon(delta=1e-6).",
    "pdf": "dp.Laplace(...).loss.plot() draws its law; .error(confidence=0.95) is a quantile.",
}

PACKAGE: Mapping[str, str] = {
    **{
        name: f"{ASKED}people.agg(m=_.age.{name}()).release(epsilon=0.1)."
        for name in ("mean", "sum", "std", "var", "median", "min", "max")
    },
    **dict(each(f"{ASKED}people.count().release(epsilon=0.1).", "count noisy_count count_query size len")),
    **dict(each(f"{ASKED}people.histogram('age', bins=10).release(epsilon=0.1).", "histogram hist histogram2d")),
    **dict(each(f"{ASKED}people.agg(q=_.age.quantile(0.9)).release(epsilon=0.1).", "quantile percentile quantiles")),
    **dict(
        each(f"{ASKED}people.group_by('plan').agg(n=_.count()).release(epsilon=0.1).", "group_by groupby agg query")
    ),
    **dict(
        each(COUNTED, "accountant budgetaccountant compose composition odometer filter rdpaccountant pldaccountant")
    ),
    **dict(each(COUNTED, "ledger epsilon delta privacybudget privacyfilter naivebudgetaccountant epsilonbudget")),
    **dict(
        each(READ, "read_csv read_parquet readcsv from_csv from_pandas from_dataframe load frompandas dataframe read")
    ),
    **dict(each(SESSION, "session privatereader privacyengine context querybuilder dataset private table people")),
    "laplacemechanism": "write dp.Laplace(sensitivity=1, epsilon=0.1).",
    "laplacenoise": "write dp.Laplace(sensitivity=1, epsilon=0.1).",
    "makelaplace": "write dp.Laplace(sensitivity=1, epsilon=0.1).",
    "laplacetruncated": "write dp.Laplace(sensitivity=1, epsilon=0.1); answers have .rounded(nonnegative=True).",
    "geometric": "write dp.Laplace(sensitivity=1, epsilon=0.1): its noise on integers is the two-sided geometric.",
    "geometricmechanism": "write dp.Laplace(sensitivity=1, epsilon=0.1): its noise on integers is the geometric.",
    "gaussianmechanism": "write dp.Gaussian(sensitivity=1, epsilon=0.1, delta=1e-6).",
    "makegaussian": "write dp.Gaussian(sensitivity=1, epsilon=0.1, delta=1e-6).",
    "gaussiananalytic": "write dp.Gaussian(sensitivity=1, epsilon=0.1, delta=1e-6), which is calibrated exactly.",
    "exponentialmechanism": "write dp.Exponential(sensitivity=1, epsilon=0.1).",
    "reportnoisymax": "write dp.NoisyMax(sensitivity=1, epsilon=0.1).",
    "sparsevectortechnique": "write dp.SparseVector(sensitivity=1, epsilon=0.1, threshold=100, count=3).",
    "abovethreshold": "write dp.SparseVector(sensitivity=1, epsilon=0.1, threshold=100, count=1).",
    "binarymechanism": "write dp.RandomizedResponse(epsilon=1, categories=2).",
    "topk": "write people.top('plan', k=5, epsilon=0.1).",
    "seed": "noise has no seed; discreet.testing has scripted noise for tests, which is not private.",
    "set_seed": "noise has no seed; discreet.testing has scripted noise for tests, which is not private.",
    "testing": "import it: import discreet.testing.",
    "noise": "mechanisms add it: dp.Laplace(sensitivity=1, epsilon=0.1).release(42).",
    "version": "write dp.__version__.",
    "linearregression": "write people.regress('visits', ['age', 'income']).release(epsilon=1).",
    "release": f"{ASKED}people.count().release(epsilon=0.1).",
    "sensitivity": "dp.check_sensitivity looks for tables that break a claimed one; .explain shows a question's.",
    "unbounded": "write dp.protect(..., neighbors='add-remove').",
    "bounded": "write dp.protect(..., neighbors='replace-one', units=n).",
}


def unknown_name(name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that the package does not have; a plain one for those that Python and others probe for.

    >>> print(unknown_name("LaplaceMechanism", ["Laplace"]))
    Expected a name that discreet has, got dp.LaplaceMechanism.
    Hint: write dp.Laplace(sensitivity=1, epsilon=0.1).
    """
    if name.startswith("_"):
        return AttributeError(f"module 'discreet' has no attribute {name!r}")
    return UnknownName(f"Expected a name that discreet has, got dp.{name}.\nHint: {line_for(name, known, PACKAGE)}")
