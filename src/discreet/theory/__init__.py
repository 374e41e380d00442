"""What the theory pages teach, under one name: losses, composition, calibration, sensitivity, selection, local reports.

Functions and classes that work on numbers and arrays, without tables and budgets. The mechanisms themselves, `dp.check`
and `dp.check_sensitivity` are names of the package; `dp.workloads` and `dp.series` have what is best for many questions
at once. docs/reference.md lists each name, and the pages of docs/theory explain them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.public_names import loading

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
    from discreet.accounting.finite_mechanism_check import pure_by_events as pure_by_events
    from discreet.accounting.finite_mechanism_check import pure_by_loss as pure_by_loss
    from discreet.accounting.finite_mechanism_check import pure_by_points as pure_by_points
    from discreet.accounting.privacy_loss import Loss as Loss
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
    from discreet.ledger.privacy_filter import Allowance as Allowance
    from discreet.ledger.privacy_filter import Spending as Spending
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
    from discreet.plots.rank_plot import order_figure as order_figure
    from discreet.privacy.definitions import Neighbors as Neighbors
    from discreet.selection.partition_selection_pictures import keys_figure as keys_figure
    from discreet.selection.shortfall_pictures import gap_figure as gap_figure
    from discreet.selection.top_k import TopK as TopK
    from discreet.sensitivity import intervals as intervals
    from discreet.sensitivity.workload_sensitivity import Workload as Workload
    from discreet.sensitivity.workload_sensitivity import counts_sensitivity as counts_sensitivity
    from discreet.sensitivity.workload_sensitivity import histogram_sensitivity as histogram_sensitivity
    from discreet.sensitivity.workload_sensitivity import mean_sensitivity as mean_sensitivity
    from discreet.sensitivity.workload_sensitivity import sum_sensitivity as sum_sensitivity

_NAMES = {
    "discreet.accounting.calibration": (
        "gaussian_sigma",
        "gaussian_sigma_for_error",
        "gaussian_variance",
        "laplace_scale",
        "laplace_scale_for_error",
        "laplace_scale_for_rho",
    ),
    "discreet.accounting.conversions": (
        "gdp_delta",
        "gdp_epsilon",
        "renyi_epsilon",
        "zcdp_delta",
        "zcdp_epsilon",
        "zcdp_rho",
    ),
    "discreet.accounting.event_losses": (
        "approximate_loss",
        "bounded_range_loss",
        "composed",
        "discrete_gaussian_loss",
        "discrete_laplace_loss",
        "finite_loss",
        "gaussian_loss",
        "laplace_loss",
        "pure_loss",
        "randomized_response_loss",
        "staircase_loss",
    ),
    "discreet.accounting.privacy_loss": ("Loss",),
    "discreet.accounting.finite_mechanism_check": ("pure_by_events", "pure_by_loss", "pure_by_points"),
    "discreet.accounting.study_design": ("composition_figure", "composition_table", "in_plain_words"),
    "discreet.accounting.theorems": (
        "advanced_composition",
        "group_privacy",
        "guarantee",
        "optimal_composition",
        "optimal_homogeneous_composition",
        "parallel_composition",
        "sequential_composition",
    ),
    "discreet.clustering.weighted_kmeans": ("squared_distances",),
    "discreet.inference": ("moments",),
    "discreet.ledger.privacy_filter": ("Allowance", "Spending"),
    "discreet.local.choose_report": ("choose_report", "report_error_figure"),
    "discreet.local.hadamard_response": ("HadamardResponse",),
    "discreet.local.local_hashing": ("LocalHashing",),
    "discreet.local.unary_encoding": ("UnaryResponse",),
    "discreet.logs.example_log": ("example_visits",),
    "discreet.logs.favorite_page": ("Likes", "most_liked_errors", "most_liked_figure", "most_liked_table"),
    "discreet.logs.item_threshold": ("ItemThreshold",),
    "discreet.logs.multinomial_sampling": ("most_multinomial_rows",),
    "discreet.mechanisms.joint_exponential": ("JointExponential",),
    "discreet.mechanisms.noise_pictures": ("dimension_figure", "noise_error_figure", "noise_figure", "noise_table"),
    "discreet.mechanisms.race_to_the_top": ("RaceToTheTop",),
    "discreet.mechanisms.sample_sizes": ("Sizes", "sample_size"),
    "discreet.noise": ("laplace_sum",),
    "discreet.plots.dot_plot": ("ranks_figure",),
    "discreet.plots.lines": ("lines_figure",),
    "discreet.plots.rank_plot": ("order_figure",),
    "discreet.privacy.definitions": ("Neighbors",),
    "discreet.selection.partition_selection_pictures": ("keys_figure",),
    "discreet.selection.shortfall_pictures": ("gap_figure",),
    "discreet.selection.top_k": ("TopK",),
    "discreet.sensitivity": ("intervals",),
    "discreet.sensitivity.workload_sensitivity": (
        "Workload",
        "counts_sensitivity",
        "histogram_sensitivity",
        "mean_sensitivity",
        "sum_sensitivity",
    ),
}
"""The names of each module; loaded when they are first used."""

__getattr__, __dir__, __all__ = loading(__name__, _NAMES)
