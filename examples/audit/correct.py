"""Patients and average time of a visit by ward, as it should be done: nothing is taken from the rows but the answer."""

import discreet as dp

visits = dp.protect(
    "visits.csv",
    schema={"patient": "int64", "ward": "string", "minutes": "float64"},
    unit="patient",
    bounds={"minutes": (0, 120)},
    keys={"ward": ["north", "south", "west"]},
    max_groups=1,
    max_rows=2,
    budget=dp.Budget(epsilon=1),
)
by_ward = visits.group_by("ward").agg(
    patients=lambda t: t.patient.nunique(),
    minutes=lambda t: t.minutes.mean(),
)
print(by_ward.release(epsilon=1))
