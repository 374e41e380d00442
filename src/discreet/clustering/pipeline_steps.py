"""Steps before a private estimator in a pipeline of scikit-learn: most are fitted to the rows, and are not private."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator

from discreet.errors import LeakWarning

PUBLIC = ("FunctionTransformer", "passthrough", "Normalizer", "Binarizer", "PolynomialFeatures", "ColumnTransformer")
"""Steps that learn nothing from rows; of the last, its parts are for the caller to know."""


def steps_before() -> Iterator[str]:
    """The names of the kinds of steps that the pipeline has which is being fitted, up to its last: none outside of one.

    What is read is the pipeline, which was written down, and no row.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "sklearn.pipeline" and frame.f_code.co_name.startswith("fit"):
            steps = getattr(frame.f_locals.get("self"), "steps", [])
            yield from (step if isinstance(step, str) else type(step).__name__ for _, step in steps[:-1])
            return
        frame = frame.f_back


def warn_of_scalers() -> None:
    """Warns of steps before this one that are fitted to the rows without noise: what they learned is not private."""
    fitted = [name for name in steps_before() if name not in PUBLIC]
    if fitted:
        warnings.warn(
            f"Expected rows as they are, got steps before KMeans that learn from them: {', '.join(fitted)}.\n"
            "Hint: what a scaler learns, such as a mean, is exact and not private, and so is what is computed with it. "
            "Scale by public bounds instead: FunctionTransformer(lambda X: (X - low) / (high - low)).",
            LeakWarning,
            stacklevel=3,
        )
