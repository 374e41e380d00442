"""How many patients does each ward have? With exact noise of the right size, and a bug all the same."""

import pandas as pd

import discreet as dp

MECHANISM = dp.Laplace(sensitivity=1, epsilon=1)

visits = pd.read_csv("visits.csv").dropna().drop_duplicates("patient")
wards = sorted(visits["ward"].unique())

counts = [int((visits["ward"] == ward).sum()) for ward in wards]
noisy = MECHANISM.release(counts)

for ward, patients in zip(wards, noisy, strict=True):
    print(f"{ward}: {patients}")
