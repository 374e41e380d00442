"""The five tasks in diffprivlib, as far as it goes: it has no groups, no persons and no unknown keys."""

from __future__ import annotations

from typing import Any

import diffprivlib
import numpy as np
import pandas as pd
from diffprivlib import tools

VERSION = diffprivlib.__version__
PLANS = ["free", "25%", "50%", "95%", "deductible"]


def rows(path: str) -> dict[Any, float]:
    codes = pd.Categorical(pd.read_parquet(path, columns=["plan"])["plan"], categories=PLANS).codes
    counts, _ = tools.histogram(codes, epsilon=1, bins=5, range=(-0.5, 4.5))
    return dict(zip(PLANS, counts, strict=True))


def visits(path: str) -> dict[Any, float]:
    table = pd.read_parquet(path, columns=["plan", "visits"])
    values = {plan: table["visits"][table["plan"] == plan].to_numpy(float) for plan in PLANS}
    return {plan: tools.mean(of, epsilon=1, bounds=(0, 50)) for plan, of in values.items()}


def median(path: str) -> dict[Any, float]:
    values = pd.read_parquet(path, columns=["spending"])["spending"].to_numpy(np.float64)
    return {"all": tools.median(values, epsilon=1, bounds=(0, 5_000))}
