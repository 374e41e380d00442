"""The average time of a visit: a noisy total, clipped as it must be, over the number of patients. It has a bug."""

import pandas as pd

import discreet as dp

LONGEST = 120  # minutes


def average(path: str) -> float:
    """The average over patients of one visit each."""
    visits = pd.read_csv(path).dropna().drop_duplicates("patient")
    clipped = visits["minutes"].astype(float).clip(0, LONGEST)
    total = dp.Laplace(sensitivity=LONGEST, epsilon=1).release(float(clipped.sum()))
    patients = len(visits)
    mean = total / max(patients, 1)
    return round(mean, 1)


if __name__ == "__main__":
    print("Average:", average("visits.csv"), "minutes")
