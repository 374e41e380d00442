"""Answers questions about people without giving any one of them away: differential privacy over real tables.

`protect` a table, ask in Ibis or `sql`, `release` with an epsilon. See README.md for five minutes of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.accounting.finite_mechanism_check import check as check
    from discreet.answers.answer_file import AnswerFile as AnswerFile
    from discreet.answers.batch_release import BatchRelease as BatchRelease
    from discreet.answers.grouped_ranges_release import GroupedRangesRelease as GroupedRangesRelease
    from discreet.answers.ranges_release import RangesRelease as RangesRelease
    from discreet.answers.receipt import Receipt as Receipt
    from discreet.answers.release import Release as Release
    from discreet.client.connect import connect as connect
    from discreet.clustering.estimator import KMeans as KMeans
    from discreet.clustering.table_kmeans import Clusters as Clusters
    from discreet.clustering.table_kmeans import kmeans as kmeans
    from discreet.curator.declaration_file import open as open  # noqa: A004 (read as dp.open)
    from discreet.curator.protect import protect as protect
    from discreet.curator.protect_two_units import protect_shared as protect_shared
    from discreet.curator.public_data import public as public
    from discreet.curator.public_data import public_keys as public_keys
    from discreet.errors import BudgetExceeded as BudgetExceeded
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.errors import EngineError as EngineError
    from discreet.errors import InvalidParameter as InvalidParameter
    from discreet.errors import InvalidQuery as InvalidQuery
    from discreet.errors import LedgerError as LedgerError
    from discreet.ledger.budget import Budget as Budget
    from discreet.logs.multinomial import LogSample as LogSample
    from discreet.logs.multinomial import sample_own_log as sample_own_log
    from discreet.logs.release_log import release_log as release_log
    from discreet.logs.released_log import LogRelease as LogRelease
    from discreet.mechanisms.consistency import Consistent as Consistent
    from discreet.mechanisms.consistency import consistent as consistent
    from discreet.mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from discreet.mechanisms.exponential import Exponential as Exponential
    from discreet.mechanisms.gaussian import Gaussian as Gaussian
    from discreet.mechanisms.knorm import KNorm as KNorm
    from discreet.mechanisms.laplace import Laplace as Laplace
    from discreet.mechanisms.noisy_max import NoisyMax as NoisyMax
    from discreet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from discreet.mechanisms.sparse_vector import SparseVector as SparseVector
    from discreet.mechanisms.staircase import Staircase as Staircase
    from discreet.mechanisms.threshold import Threshold as Threshold
    from discreet.planning.group_keys import UNKNOWN as UNKNOWN
    from discreet.planning.group_keys import UNKNOWN_BY_COUNT as UNKNOWN_BY_COUNT
    from discreet.privacy.definitions import ROW as ROW
    from discreet.privacy.definitions import Guarantee as Guarantee
    from discreet.query.batch import batch as batch
    from discreet.query.batch_question import BatchQuestion as BatchQuestion
    from discreet.query.question import Question as Question
    from discreet.query.question_documents import question_digest as question_digest
    from discreet.query.ranges import GroupedRangesQuestion as GroupedRangesQuestion
    from discreet.query.ranges import RangesQuestion as RangesQuestion
    from discreet.query.read_question import question as question
    from discreet.query.shared_table import SharedTable as SharedTable
    from discreet.query.table import PrivateTable as PrivateTable
    from discreet.selection.partition_selection import KeySelection as KeySelection
    from discreet.sensitivity.counterexamples import check_sensitivity as check_sensitivity
    from discreet.statements.sql_translation import sql as sql

__version__ = "0.1.0"

_NAMES = {
    "discreet.accounting.finite_mechanism_check": ("check",),
    "discreet.answers.answer_file": ("AnswerFile",),
    "discreet.answers.batch_release": ("BatchRelease",),
    "discreet.answers.grouped_ranges_release": ("GroupedRangesRelease",),
    "discreet.answers.ranges_release": ("RangesRelease",),
    "discreet.answers.receipt": ("Receipt",),
    "discreet.answers.release": ("Release",),
    "discreet.client.connect": ("connect",),
    "discreet.clustering.estimator": ("KMeans",),
    "discreet.clustering.table_kmeans": ("Clusters", "kmeans"),
    "discreet.curator.declaration_file": ("open",),
    "discreet.curator.protect": ("protect",),
    "discreet.curator.protect_two_units": ("protect_shared",),
    "discreet.curator.public_data": ("public", "public_keys"),
    "discreet.errors": (
        "BudgetExceeded",
        "DiscreetError",
        "EngineError",
        "InvalidParameter",
        "InvalidQuery",
        "LedgerError",
    ),
    "discreet.ledger.budget": ("Budget",),
    "discreet.logs.released_log": ("LogRelease",),
    "discreet.logs.multinomial": ("LogSample", "sample_own_log"),
    "discreet.logs.release_log": ("release_log",),
    "discreet.mechanisms.consistency": ("Consistent", "consistent"),
    "discreet.mechanisms.discrete_gaussian": ("DiscreteGaussian",),
    "discreet.mechanisms.exponential": ("Exponential",),
    "discreet.mechanisms.gaussian": ("Gaussian",),
    "discreet.mechanisms.knorm": ("KNorm",),
    "discreet.mechanisms.laplace": ("Laplace",),
    "discreet.mechanisms.noisy_max": ("NoisyMax",),
    "discreet.mechanisms.permute_and_flip": ("PermuteAndFlip",),
    "discreet.mechanisms.randomized_response": ("RandomizedResponse",),
    "discreet.mechanisms.sparse_vector": ("SparseVector",),
    "discreet.mechanisms.staircase": ("Staircase",),
    "discreet.mechanisms.threshold": ("Threshold",),
    "discreet.planning.group_keys": ("UNKNOWN", "UNKNOWN_BY_COUNT"),
    "discreet.privacy.definitions": ("Guarantee", "ROW"),
    "discreet.query.batch": ("batch",),
    "discreet.query.batch_question": ("BatchQuestion",),
    "discreet.query.question": ("Question",),
    "discreet.query.question_documents": ("question_digest",),
    "discreet.query.ranges": ("GroupedRangesQuestion", "RangesQuestion"),
    "discreet.query.read_question": ("question",),
    "discreet.query.shared_table": ("SharedTable",),
    "discreet.query.table": ("PrivateTable",),
    "discreet.selection.partition_selection": ("KeySelection",),
    "discreet.sensitivity.counterexamples": ("check_sensitivity",),
    "discreet.statements.sql_translation": ("sql",),
}
"""The public names of each module, loaded when first used (PEP 562): importing discreet stays quick."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)  # noqa: PLE0605 (a list all the same)

_ROOMS = ("audit", "series", "theory", "workloads")
"""Rooms that are read as `dp.audit`, without an import of their own."""


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"discreet.{name}")
    if name not in _HOMES:
        raise import_module("discreet.guesses.package_words").unknown_name(name, [*_HOMES, *_ROOMS])
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_ROOMS])
