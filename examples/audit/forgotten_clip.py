"""How long do visits take? The total time of all patients, with noise. It has a bug that is easily overlooked."""

import numpy as np
import pandas as pd

LONGEST = 120  # minutes; longer visits count as this
EPSILON = 1.0

rng = np.random.default_rng()


def one_visit_each(visits: pd.DataFrame) -> pd.DataFrame:
    """One visit of each patient, so that nobody counts twice."""
    return visits.dropna().drop_duplicates("patient")


visits = one_visit_each(pd.read_csv("visits.csv"))
visits["clipped"] = visits["minutes"].clip(0, LONGEST)

noisy_total = visits["minutes"].sum() + rng.laplace(scale=LONGEST / EPSILON)

print(f"Total: {noisy_total:.0f} minutes")
