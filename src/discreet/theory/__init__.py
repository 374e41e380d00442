"""What the theory pages teach, under one name: losses, composition, calibration, sensitivity, selection, local reports.

Functions and classes that work on numbers and arrays, without tables and budgets. The mechanisms themselves, `dp.check`
and `dp.check_sensitivity` are names of the package; `dp.workloads` and `dp.series` have what is best for many questions
at once. docs/reference.md lists each name, and the pages of docs/theory explain them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.accounting.calibration import gaussian_sigma as gaussian_sigma
    from discreet.accounting.calibration import gaussian_sigma_for_error as gaussian_sigma_for_error
    from discreet.accounting.calibration import gaussian_variance as gaussian_variance
    from discreet.accounting.calibration import laplace_scale as laplace_scale
    from discreet.accounting.calibration import laplace_scale_for_error as laplace_scale_for_error
    from discreet.accounting.calibration import laplace_scale_for_rho as laplace_scale_for_rho
    from discreet.accounting.conversions import gdp_delta as gdp_delta
    from discreet.accounting.conversions import gdp_epsilon as gdp_epsilon
    from discreet.accounting.conversions import renyi_epsilon as renyi_epsilon
    from discreet.accounting.conversions import zcdp_delta as zcdp_delta
    from discreet.accounting.conversions import zcdp_epsilon as zcdp_epsilon
    from discreet.accounting.conversions import zcdp_rho as zcdp_rho
    from discreet.accounting.event_losses import approximate_loss as approximate_loss
    from discreet.accounting.event_losses import bounded_range_loss as bounded_range_loss
    from discreet.accounting.event_losses import composed as composed
    from discreet.accounting.event_losses import discrete_gaussian_loss as discrete_gaussian_loss
    from discreet.accounting.event_losses import discrete_laplace_loss as discrete_laplace_loss
    from discreet.accounting.event_losses import finite_loss as finite_loss
    from discreet.accounting.event_losses import gaussian_loss as gaussian_loss
    from discreet.accounting.event_losses import laplace_loss as laplace_loss
    from discreet.accounting.event_losses import pure_loss as pure_loss
    from discreet.accounting.event_losses import randomized_response_loss as randomized_response_loss
    from discreet.accounting.event_losses import staircase_loss as staircase_loss
    from discreet.accounting.loss import Loss as Loss
    from discreet.accounting.mechanism_check import pure_by_events as pure_by_events
    from discreet.accounting.mechanism_check import pure_by_loss as pure_by_loss
    from discreet.accounting.mechanism_check import pure_by_points as pure_by_points
    from discreet.accounting.study_design import composition_figure as composition_figure
    from discreet.accounting.study_design import composition_table as composition_table
    from discreet.accounting.study_design import in_plain_words as in_plain_words
    from discreet.accounting.theorems import advanced_composition as advanced_composition
    from discreet.accounting.theorems import group_privacy as group_privacy
    from discreet.accounting.theorems import guarantee as guarantee
    from discreet.accounting.theorems import optimal_composition as optimal_composition
    from discreet.accounting.theorems import optimal_homogeneous_composition as optimal_homogeneous_composition
    from discreet.accounting.theorems import parallel_composition as parallel_composition
    from discreet.accounting.theorems import sequential_composition as sequential_composition
    from discreet.clustering.weighted_kmeans import squared_distances as squared_distances
    from discreet.inference import moments as moments
    from discreet.ledger.allowance import Allowance as Allowance
    from discreet.ledger.allowance import Spending as Spending
    from discreet.local.choose_report import choose_report as choose_report
    from discreet.local.choose_report import report_error_figure as report_error_figure
    from discreet.local.hadamard_response import HadamardResponse as HadamardResponse
    from discreet.local.local_hashing import LocalHashing as LocalHashing
    from discreet.local.unary_encoding import UnaryResponse as UnaryResponse
    from discreet.logs.example_log import example_visits as example_visits
    from discreet.logs.favorite_page import Likes as Likes
    from discreet.logs.favorite_page import most_liked_errors as most_liked_errors
    from discreet.logs.favorite_page import most_liked_figure as most_liked_figure
    from discreet.logs.favorite_page import most_liked_table as most_liked_table
    from discreet.logs.item_threshold import ItemThreshold as ItemThreshold
    from discreet.logs.multinomial_sampling import most_multinomial_rows as most_multinomial_rows
    from discreet.mechanisms.joint_exponential import JointExponential as JointExponential
    from discreet.mechanisms.noise_pictures import dimension_figure as dimension_figure
    from discreet.mechanisms.noise_pictures import noise_error_figure as noise_error_figure
    from discreet.mechanisms.noise_pictures import noise_figure as noise_figure
    from discreet.mechanisms.noise_pictures import noise_table as noise_table
    from discreet.mechanisms.race_to_the_top import RaceToTheTop as RaceToTheTop
    from discreet.mechanisms.sample_sizes import Sizes as Sizes
    from discreet.mechanisms.sample_sizes import sample_size as sample_size
    from discreet.noise import laplace_sum as laplace_sum
    from discreet.plots.dot_plot import ranks_figure as ranks_figure
    from discreet.plots.lines import lines_figure as lines_figure
    from discreet.plots.order import order_figure as order_figure
    from discreet.privacy.definitions import Neighbors as Neighbors
    from discreet.selection.partition_selection_pictures import keys_figure as keys_figure
    from discreet.selection.shortfall_pictures import gap_figure as gap_figure
    from discreet.selection.top_k import TopK as TopK
    from discreet.sensitivity import intervals as intervals
    from discreet.sensitivity.workloads import Workload as Workload
    from discreet.sensitivity.workloads import counts_sensitivity as counts_sensitivity
    from discreet.sensitivity.workloads import histogram_sensitivity as histogram_sensitivity
    from discreet.sensitivity.workloads import mean_sensitivity as mean_sensitivity
    from discreet.sensitivity.workloads import sum_sensitivity as sum_sensitivity

_HOMES = {
    "Allowance": "discreet.ledger.allowance",
    "HadamardResponse": "discreet.local.hadamard_response",
    "ItemThreshold": "discreet.logs.item_threshold",
    "JointExponential": "discreet.mechanisms.joint_exponential",
    "Likes": "discreet.logs.favorite_page",
    "LocalHashing": "discreet.local.local_hashing",
    "Loss": "discreet.accounting.loss",
    "Neighbors": "discreet.privacy.definitions",
    "RaceToTheTop": "discreet.mechanisms.race_to_the_top",
    "Sizes": "discreet.mechanisms.sample_sizes",
    "Spending": "discreet.ledger.allowance",
    "TopK": "discreet.selection.top_k",
    "UnaryResponse": "discreet.local.unary_encoding",
    "Workload": "discreet.sensitivity.workloads",
    "advanced_composition": "discreet.accounting.theorems",
    "approximate_loss": "discreet.accounting.event_losses",
    "bounded_range_loss": "discreet.accounting.event_losses",
    "choose_report": "discreet.local.choose_report",
    "composed": "discreet.accounting.event_losses",
    "composition_figure": "discreet.accounting.study_design",
    "composition_table": "discreet.accounting.study_design",
    "counts_sensitivity": "discreet.sensitivity.workloads",
    "dimension_figure": "discreet.mechanisms.noise_pictures",
    "discrete_gaussian_loss": "discreet.accounting.event_losses",
    "discrete_laplace_loss": "discreet.accounting.event_losses",
    "example_visits": "discreet.logs.example_log",
    "finite_loss": "discreet.accounting.event_losses",
    "gap_figure": "discreet.selection.shortfall_pictures",
    "gaussian_loss": "discreet.accounting.event_losses",
    "gaussian_sigma": "discreet.accounting.calibration",
    "gaussian_sigma_for_error": "discreet.accounting.calibration",
    "gaussian_variance": "discreet.accounting.calibration",
    "gdp_delta": "discreet.accounting.conversions",
    "gdp_epsilon": "discreet.accounting.conversions",
    "group_privacy": "discreet.accounting.theorems",
    "guarantee": "discreet.accounting.theorems",
    "histogram_sensitivity": "discreet.sensitivity.workloads",
    "in_plain_words": "discreet.accounting.study_design",
    "intervals": "discreet.sensitivity",
    "keys_figure": "discreet.selection.partition_selection_pictures",
    "laplace_loss": "discreet.accounting.event_losses",
    "laplace_scale": "discreet.accounting.calibration",
    "laplace_scale_for_error": "discreet.accounting.calibration",
    "laplace_scale_for_rho": "discreet.accounting.calibration",
    "laplace_sum": "discreet.noise",
    "lines_figure": "discreet.plots.lines",
    "mean_sensitivity": "discreet.sensitivity.workloads",
    "moments": "discreet.inference",
    "most_liked_errors": "discreet.logs.favorite_page",
    "most_liked_figure": "discreet.logs.favorite_page",
    "most_liked_table": "discreet.logs.favorite_page",
    "most_multinomial_rows": "discreet.logs.multinomial_sampling",
    "noise_error_figure": "discreet.mechanisms.noise_pictures",
    "noise_figure": "discreet.mechanisms.noise_pictures",
    "noise_table": "discreet.mechanisms.noise_pictures",
    "optimal_composition": "discreet.accounting.theorems",
    "optimal_homogeneous_composition": "discreet.accounting.theorems",
    "order_figure": "discreet.plots.order",
    "parallel_composition": "discreet.accounting.theorems",
    "pure_by_events": "discreet.accounting.mechanism_check",
    "pure_by_loss": "discreet.accounting.mechanism_check",
    "pure_by_points": "discreet.accounting.mechanism_check",
    "pure_loss": "discreet.accounting.event_losses",
    "randomized_response_loss": "discreet.accounting.event_losses",
    "ranks_figure": "discreet.plots.dot_plot",
    "renyi_epsilon": "discreet.accounting.conversions",
    "report_error_figure": "discreet.local.choose_report",
    "sample_size": "discreet.mechanisms.sample_sizes",
    "sequential_composition": "discreet.accounting.theorems",
    "squared_distances": "discreet.clustering.weighted_kmeans",
    "staircase_loss": "discreet.accounting.event_losses",
    "sum_sensitivity": "discreet.sensitivity.workloads",
    "zcdp_delta": "discreet.accounting.conversions",
    "zcdp_epsilon": "discreet.accounting.conversions",
    "zcdp_rho": "discreet.accounting.conversions",
}
"""Where each name lives; loaded when it is first used (PEP 562)."""

_MODULES = ("intervals", "laplace_sum", "moments")
"""Those that are modules themselves."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 (a list all the same)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.theory' has no attribute {name!r}")
    home = _HOMES[name]
    value = import_module(f"{home}.{name}") if name in _MODULES else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
