"""The service with the bundled table and three principals, to try it without any file of one's own."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path

from discreet.curator.protect import protect
from discreet.ledger.budget import Budget
from discreet.privacy.declaration import Key
from discreet.service.answer_timing import Pace
from discreet.service.data_sets import DataSet
from discreet.service.roles import Role
from discreet.service.service import Service, Settings
from discreet.service.state_store import StateStore, sqlite_file

NAME = "people"
ALLOWANCE, OWN_ALLOWANCE = 10, 4
ROWS = 20_190
ABOUT = (
    "The RAND Health Insurance Experiment, 1974 to 1982: up to five years in the lives of 5,912 people, whose share of "
    "each medical bill was drawn by lot. Public data."
)
COLUMNS = {
    "person": "who is protected, with all of up to five years",
    "year": "year of the experiment, 1 to 5",
    "plan": "the share of each bill that the family paid",
    "site": "where they lived",
    "age": "in years",
    "female": "whether the person is female",
    "education": "of the head of the family, in years",
    "income": "of the family, in dollars a year",
    "health": "as they rated it themselves",
    "chronic_conditions": "how many the person has",
    "visits": "to a doctor in that year",
    "admissions": "to a hospital in that year",
    "spending": "on care in that year, in dollars",
}
BOUNDS = {
    "age": (0, 64),
    "chronic_conditions": (0, 60),
    "visits": (0, 25),
    "admissions": (0, 10),
    "spending": (0, 1000),
    "education": (0, 25),
    "income": (0, 30_000),
}
KEYS: dict[str, list[Key]] = {
    "plan": ["free", "25%", "50%", "95%", "deductible"],
    "year": [1, 2, 3, 4, 5],
    "female": [False, True],
    "health": ["excellent", "good", "fair", "poor"],
}
PRINCIPALS = {"curator": Role.CURATOR, "analyst": Role.ANALYST, "auditor": Role.AUDITOR}


def demo_data_set(budget: Budget, held: ExitStack) -> DataSet:
    """The bundled table as a data set; `held` keeps its file as long as it is used."""
    path = held.enter_context(as_file(files("discreet.data") / "rand_hie.parquet"))
    table = protect(path, unit="person", bounds=BOUNDS, keys=KEYS, max_groups=5, max_rows=5, budget=budget, name=NAME)
    pace = Pace(rows=ROWS)
    return DataSet(name=NAME, table=table, budget=budget, description=ABOUT, descriptions=COLUMNS, pace=pace)


def demo_service(folder: Path, held: ExitStack, settings: Settings | None = None) -> tuple[Service, dict[str, str]]:
    """A service with its files in `folder`, and a token for each of its principals."""
    budget = Budget(epsilon=ALLOWANCE, ledger=folder / "ledger.db")
    store = StateStore(sqlite_file(folder / "state.db"))
    service = Service(store, [demo_data_set(budget, held)], settings)
    tokens = {}
    for name, role in PRINCIPALS.items():
        service.members.give(name, NAME, role)
    curator = service.members.principal("curator")
    service.admit(curator, NAME, "analyst", allowance={"epsilon": str(OWN_ALLOWANCE)})
    for name in PRINCIPALS:
        tokens[name] = service.members.issue(name)[0]
    return service, tokens
