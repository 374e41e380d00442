"""DuckDB's settings: which of them can change what a statement means, and what is done about each.

Claim
    While a connection is settled, no setting of it changes a value, a type or an order of what a statement finds, or
    whether it raises. Afterwards each has the value that it had, and other connections to the same database never see
    another one.
Requires
    That nobody changes a setting of the connection while it is settled. Limits of memory, disk and time are the
    curator's, and may end a look.
Relies on
    `SET SESSION`, which is seen by one connection alone, and `RESET SESSION`, which takes it back.
Proof
    Each setting that DuckDB tells of is in one of three tables: `FIXED` has the value that it is given, whatever the
    curator's; `PROTECTED` keeps what it was when the table was protected: otherwise names would lead elsewhere, and a
    view could fail at a row at which it does not fail by itself. Our own statements have no sub-query of several rows.
    A fixed one could give a view, a query, a step of Ibis's or a generated column another meaning: where the curator's
    value of one of `MEANINGS` is another, what is computed is refused when it is protected; by the zone, if it casts.
    `IGNORED` says why it makes no difference. A test compares the tables with `duckdb_settings()`, so that a version
    with a setting more is noticed, and tries each settled one at its other values.
Rounding
    None.
Source
    duckdb_settings() of DuckDB 2.0.
Mutant
    curators-calendar: days are those of the curator's calendar; killed by test_no_setting_moves_a_total.
    curators-arrow: answers come back in the curator's types; killed by test_no_setting_moves_a_total.
    curators-search-path: a name leads where it leads now; killed by
    test_a_table_is_that_of_the_path_on_which_it_was_protected.
    views-fail-by-ours: a sub-query in a view fails at several rows, whatever its curator set; killed by
    test_a_view_fails_where_it_failed_when_it_was_protected.
    views-mean-something-else: what is computed is taken under any setting; killed by
    test_what_would_mean_something_else_is_refused.
    days-of-another-zone: what goes by a time zone is taken in any zone; killed by
    test_what_would_mean_something_else_is_refused.
    failed-transactions-keep-ours: settings stay ours where a transaction of the curator's failed with the look; killed
    by test_settings_come_back_in_a_transaction_that_failed.
    warnings-as-errors-come-later: nobody asks before the charge whether a warning raises; killed by
    test_warnings_that_became_errors_are_refused_for_nothing.
    interrupts-cut-restoring: an interrupt leaves the curator one of our settings; killed by
    test_settings_are_taken_back_through_interrupts.
    settings-of-all-connections: a setting is changed for the whole database; killed by
    test_other_connections_see_no_change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

FIXED: dict[str, Any] = {
    # What times and texts mean, and what comes first.
    "Calendar": "gregorian",
    "TimeZone": "UTC",
    "disable_timestamptz_casts": False,
    "default_collation": "",
    "default_null_order": "NULLS_LAST",
    "default_order": "ASCENDING",
    # What arithmetic gives, and what raises: where the language rules an error out, it would be NULL.
    "error_on_division_by_zero": False,
    "ieee_floating_point_ops": True,
    "integer_division": False,
    "warnings_as_errors": False,
    # How a statement is read.
    "active_grammar_extensions": [],
    "allow_parser_override_extension": "DEFAULT",
    "current_dialect": None,
    "dialect_compatibility_mode": "NONE",
    "legacy_disable_null_type": False,
    "max_expression_depth": 1000,
    "order_by_non_integer_literal": False,
    "preserve_identifier_case": "preserve_case",
    "python_enable_replacements": False,  # a table that is gone would be a variable of ours
    # In which types columns are read, and answers come back.
    "arrow_large_buffer_size": False,
    "arrow_lossless_conversion": False,
    "arrow_output_list_view": False,
    "arrow_output_version": "1.0",
    "binary_as_string": False,
    "max_execution_time": 0,  # a release fails for no length of time, which rows could make it take
    # What is printed: exact numbers of rows.
    "enable_profiling": None,
}
"""The value of each while a statement runs; None is what it is without being set."""

TRIES = 5
"""So often a setting is taken back, where interrupts or failures come between."""
PROTECTED = ("search_path", "file_search_path", "scalar_subquery_error_on_multiple_rows")
"""Where names lead, and whether a view of the curator's fails: what they were when the table was protected."""

MEANINGS = (
    *("Calendar", "TimeZone", "binary_as_string", "default_collation", "default_null_order", "default_order"),
    *("dialect_compatibility_mode", "ieee_floating_point_ops", "integer_division"),
)
"""Those of `FIXED` by which what the curator computes, as in a view, may mean something else than in their session."""
NAIVE = "disable_timestamptz_casts"
"""Under which DuckDB refuses what goes by the time zone without a word: `at::DATE`."""
LOCK = "lock_configuration"
LOCKS = (LOCK, "warnings_as_errors")
"""What keeps settings from being changed: some warn where they are set, and a warning would raise."""
ABORTED = "TransactionException"
"""What DuckDB raises in a transaction in which a statement has failed, whatever it is asked."""

IGNORED: dict[str, frozenset[str]] = {
    reason: frozenset(names.split())
    for reason, names in {
        "another name of one that is decided": "null_order schema memory_limit worker_threads",
        "order, threads and plans: exact integers depend on none of them": """
            approximate_join_order_threshold asof_loop_join_threshold async_threads delim_join_as_cte
            disabled_optimizers dynamic_or_filter_threshold enable_fsst_vectors enable_optimizer external_threads
            index_scan_max_count index_scan_percentage late_materialization_max_rows merge_join_threshold
            nested_loop_join_threshold ordered_aggregate_threshold perfect_ht_threshold pin_threads prefer_range_joins
            preserve_insertion_order read_ahead_depth scheduler_process_partial standard_vector_size threads""",
        "memory, disk and time: limits of the curator's": """
            allocator_background_threads allocator_bulk_deallocation_flush_threshold allocator_flush_threshold
            block_allocator_memory initial_column_segment_size max_memory max_streaming_buffer_size
            max_temp_directory_size operator_memory_limit streaming_buffer_size temp_directory temp_file_encryption""",
        "how a database is stored and written; a look writes nothing": """
            access_mode auto_checkpoint_skip_wal_threshold checkpoint_on_detach checkpoint_threshold
            current_transaction_invalidation_policy debug_checkpoint_scan_sleep_ms default_block_size
            default_transaction_invalidation_policy disable_database_invalidation disabled_compression_methods
            enable_macro_dependencies enable_optimistic_write enable_view_dependencies experimental_metadata_reuse
            force_column_metadata_reuse force_compression fsync_mode geometry_minimum_shredding_size
            immediate_transaction_mode max_vacuum_tasks partitioned_write_flush_threshold
            partitioned_write_max_open_files storage_block_prefetch storage_compatibility_version
            variant_minimum_shredding_size wal_autocheckpoint wal_autocheckpoint_entries write_buffer_row_group_count
            write_buffer_row_group_memory_limit zstd_min_string_length""",
        "where the curator's own tables and views are read from, and by what; ours are files of this machine": """
            allow_community_extensions allow_extension_repositories allow_extensions_metadata_mismatch
            allow_persistent_secrets allow_unredacted_secrets allow_unsigned_extensions allowed_configs
            allowed_directories allowed_paths autoinstall_extension_repository autoinstall_known_extensions
            autoload_known_extensions cache_local_files custom_extension_repository custom_user_agent
            default_secret_storage disable_parquet_prefetching disabled_filesystems duckdb_api enable_external_access
            enable_external_file_cache enable_http_metadata_cache extension_directories
            extension_repository_directory external_file_cache_local_max_block_size
            external_file_cache_remote_max_block_size external_file_cache_remote_min_block_size
            external_file_cache_request_sizing external_file_cache_spill home_directory http_client_pool_capacity
            http_proxy http_proxy_password http_proxy_username parquet_metadata_cache parquet_prefetch_column_gap
            password prefetch_all_parquet_files secret_directory user username validate_external_file_cache""",
        "words of errors and logs, which the curator alone sees": """
            catalog_error_max_schemas disabled_log_types enable_logging enabled_log_types errors_as_json
            log_query_path logging_level logging_mode logging_storage redact_http_logs""",
        "profiles, which are off; progress, which tells the time": """
            enable_progress_bar enable_progress_bar_print explain_output profile_output profiling_coverage
            profiling_output profiling_renderer_settings progress_bar_time tracked_metrics""",
        "what no statement of ours has: geometry, pivots, regular expressions, SHOW, objects of pandas, bare words": """
            enable_geoparquet_conversion ignore_unknown_crs json_geometry_format pandas_analyze_sample
            pivot_filter_threshold pivot_limit python_scan_all_frames regex_match_operator_semantics show_behavior
            table_function_identifier_conversion""",
        "looked at where settings cannot be changed": LOCK,
    }.items()
}
"""Why each of the others makes no difference."""


def protected_settings(raw: Any) -> dict[str, Any]:
    """What the settings that are kept are now."""
    return _current(raw, PROTECTED)


def other_meanings(raw: Any) -> dict[str, Any]:
    """The curator's values of `MEANINGS` where they are not ours."""
    found = _current(raw, MEANINGS)
    return {name: value for name, value in found.items() if not _is_same(value, FIXED[name])}


def are_kept(raw: Any, kept: Mapping[str, Any]) -> bool:
    """Whether those are still what they were, and the others can be changed."""
    return _current(raw, (*kept, *LOCKS)) == {**kept, **dict.fromkeys(LOCKS, False)}


def put_in_place(raw: Any) -> dict[str, Any]:
    """Gives a connection of ours our settings for good; what they were."""
    return _change(raw, FIXED)


@contextmanager
def our_settings(raw: Any, kept: Mapping[str, Any]) -> Iterator[None]:
    """A connection with our settings, and with those that are `kept`, for as long as it is ours."""
    wanted = {**FIXED, **kept}
    before: dict[str, Any] = {}
    try:
        _change(raw, wanted, before)
        yield
    finally:
        try:
            take_back(partial(_restore, raw), before)
        except Exception as problem:
            if type(problem).__name__ != ABORTED:
                raise
            # A transaction of the curator's has failed with a look, and takes no setting. One that failed stands in its
            # place, so that what they ask next is refused as it would have been.
            raw.execute("ROLLBACK")
            take_back(partial(_restore, raw), before)
            raw.execute("BEGIN")
            with suppress(Exception):
                raw.execute("SELECT error('')")


def take_back(restore: Callable[[str, Any], None], before: Mapping[str, Any]) -> None:
    """Restores all of them: one that cannot be taken back keeps none of the others, and interrupts wait until then."""
    problem: BaseException | None = None
    for name, value in before.items():
        for _ in range(TRIES):
            try:
                restore(name, value)
                break
            except KeyboardInterrupt as interrupt:
                problem = interrupt
            except Exception as other:  # noqa: BLE001 (DuckDB has a failure of no kind for an interrupt, too)
                problem = problem or other
    if problem is not None:
        raise problem


def _restore(raw: Any, name: str, value: Any) -> None:
    raw.execute(f"RESET SESSION {name}")
    # Of most, that was the database's value; where the session had another one, it is set anew.
    _change(raw, {name: value})


def _change(raw: Any, wanted: Mapping[str, Any], before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Sets what is not as it is wanted, and adds to `before` what that was."""
    before = {} if before is None else before
    for name, value in _current(raw, tuple(wanted)).items():
        if not _is_same(value, wanted[name]):
            before[name] = value
            _set(raw, name, wanted[name])
    return before


def _is_same(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) or (value, wanted) == ("Etc/UTC", "UTC")  # two names of one zone


def _current(raw: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not names:
        return {}
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    [values] = raw.execute(f"SELECT {asked}").fetchall()
    return dict(zip(names, values, strict=True))


def _set(raw: Any, name: str, value: Any) -> None:
    if value is None:
        raw.execute(f"RESET SESSION {name}")
    else:
        text = str(value).replace("'", "''")
        raw.execute(f"SET SESSION {name} = " + (text if isinstance(value, list) else f"'{text}'"))
