"""Answers questions about people without giving any one of them away: differential privacy over real tables.

`protect` a table, ask in Ibis or `sql`, `release` with an epsilon. See README.md for five minutes of it.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.accounting.mechanism_check import check as check
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
    from discreet.curator.protect_shared import protect_shared as protect_shared
    from discreet.curator.public_data import public as public
    from discreet.curator.public_data import public_keys as public_keys
    from discreet.errors import BudgetExceeded as BudgetExceeded
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.errors import EngineError as EngineError
    from discreet.errors import InvalidParameter as InvalidParameter
    from discreet.errors import InvalidQuery as InvalidQuery
    from discreet.errors import LedgerError as LedgerError
    from discreet.ledger.budget import Budget as Budget
    from discreet.logs.log_release import LogRelease as LogRelease
    from discreet.logs.multinomial import LogSample as LogSample
    from discreet.logs.multinomial import sample_own_log as sample_own_log
    from discreet.logs.release_log import release_log as release_log
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
    from discreet.statements.lowering import sql as sql

__version__ = "0.1.0"

_HOMES = {
    "AnswerFile": "discreet.answers.answer_file",
    "BatchQuestion": "discreet.query.batch_question",
    "BatchRelease": "discreet.answers.batch_release",
    "Budget": "discreet.ledger.budget",
    "BudgetExceeded": "discreet.errors",
    "Clusters": "discreet.clustering.table_kmeans",
    "Consistent": "discreet.mechanisms.consistency",
    "DiscreetError": "discreet.errors",
    "DiscreteGaussian": "discreet.mechanisms.discrete_gaussian",
    "EngineError": "discreet.errors",
    "Exponential": "discreet.mechanisms.exponential",
    "Gaussian": "discreet.mechanisms.gaussian",
    "GroupedRangesQuestion": "discreet.query.ranges",
    "GroupedRangesRelease": "discreet.answers.grouped_ranges_release",
    "Guarantee": "discreet.privacy.definitions",
    "InvalidParameter": "discreet.errors",
    "InvalidQuery": "discreet.errors",
    "KMeans": "discreet.clustering.estimator",
    "KNorm": "discreet.mechanisms.knorm",
    "KeySelection": "discreet.selection.partition_selection",
    "Laplace": "discreet.mechanisms.laplace",
    "LedgerError": "discreet.errors",
    "LogRelease": "discreet.logs.log_release",
    "LogSample": "discreet.logs.multinomial",
    "NoisyMax": "discreet.mechanisms.noisy_max",
    "PermuteAndFlip": "discreet.mechanisms.permute_and_flip",
    "PrivateTable": "discreet.query.table",
    "Question": "discreet.query.question",
    "ROW": "discreet.privacy.definitions",
    "RandomizedResponse": "discreet.mechanisms.randomized_response",
    "RangesQuestion": "discreet.query.ranges",
    "RangesRelease": "discreet.answers.ranges_release",
    "Receipt": "discreet.answers.receipt",
    "Release": "discreet.answers.release",
    "SharedTable": "discreet.query.shared_table",
    "SparseVector": "discreet.mechanisms.sparse_vector",
    "Staircase": "discreet.mechanisms.staircase",
    "Threshold": "discreet.mechanisms.threshold",
    "UNKNOWN": "discreet.planning.group_keys",
    "UNKNOWN_BY_COUNT": "discreet.planning.group_keys",
    "batch": "discreet.query.batch",
    "check": "discreet.accounting.mechanism_check",
    "check_sensitivity": "discreet.sensitivity.counterexamples",
    "connect": "discreet.client.connect",
    "consistent": "discreet.mechanisms.consistency",
    "kmeans": "discreet.clustering.table_kmeans",
    "open": "discreet.curator.declaration_file",
    "protect": "discreet.curator.protect",
    "protect_shared": "discreet.curator.protect_shared",
    "public": "discreet.curator.public_data",
    "public_keys": "discreet.curator.public_data",
    "question": "discreet.query.read_question",
    "question_digest": "discreet.query.question_documents",
    "release_log": "discreet.logs.release_log",
    "sample_own_log": "discreet.logs.multinomial",
    "sql": "discreet.statements.lowering",
}
"""Where each public name lives; loaded when it is first used (PEP 562), so that importing discreet stays quick."""

__all__ = [
    "ROW",
    "UNKNOWN",
    "UNKNOWN_BY_COUNT",
    "AnswerFile",
    "BatchQuestion",
    "BatchRelease",
    "Budget",
    "BudgetExceeded",
    "Clusters",
    "Consistent",
    "DiscreetError",
    "DiscreteGaussian",
    "EngineError",
    "Exponential",
    "Gaussian",
    "GroupedRangesQuestion",
    "GroupedRangesRelease",
    "Guarantee",
    "InvalidParameter",
    "InvalidQuery",
    "KMeans",
    "KNorm",
    "KeySelection",
    "Laplace",
    "LedgerError",
    "LogRelease",
    "LogSample",
    "NoisyMax",
    "PermuteAndFlip",
    "PrivateTable",
    "Question",
    "RandomizedResponse",
    "RangesQuestion",
    "RangesRelease",
    "Receipt",
    "Release",
    "SharedTable",
    "SparseVector",
    "Staircase",
    "Threshold",
    "batch",
    "check",
    "check_sensitivity",
    "connect",
    "consistent",
    "kmeans",
    "open",
    "protect",
    "protect_shared",
    "public",
    "public_keys",
    "question",
    "question_digest",
    "release_log",
    "sample_own_log",
    "sql",
]


_ROOMS = ("audit", "series", "theory", "workloads")
"""Rooms that are read as `dp.audit`, without an import of their own."""


if os.environ.get("DISCREET_LOG"):
    import_module("discreet.curator.log_output").show_log()


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
