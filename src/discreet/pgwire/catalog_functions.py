"""The functions of PostgreSQL's catalog, as macros of DuckDB, each with the prefix `x_`: DuckDB has some itself."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "x_"
NOTHING = "CAST(NULL AS VARCHAR)"
NO_SIZE = "CAST(0 AS BIGINT)"

FORMAT_TYPE = (
    "(kind, modifier) AS (SELECT CASE WHEN x_t.typelem <> 0 AND x_t.typcategory = 'A' THEN x_e.shown || '[]' "
    "ELSE x_t.shown END FROM pg.x_shown_types x_t LEFT JOIN pg.x_shown_types x_e ON x_e.oid = x_t.typelem "
    "WHERE x_t.oid = kind)"
)
DESCRIPTION = "SELECT x_d.description FROM pg.pg_description x_d WHERE x_d.objoid"
OF_CATALOG = "x_d.classoid = (SELECT min(x_c.oid) FROM pg.pg_class x_c WHERE x_c.relname = catalog_)"
CLASS_NUMBER = (
    "(name_) AS (SELECT x_c.oid FROM pg.pg_class x_c WHERE x_c.relname = "
    "replace(string_split(name_, '.')[-1], '\"', '') LIMIT 1)"
)
QUOTED = (
    "(name_) AS list_transform([name_], lambda held: CASE WHEN regexp_full_match(held, '[a-z_][a-z0-9_$]*') THEN held "
    "ELSE '\"' || replace(held, '\"', '\"\"') || '\"' END)[1]"
)
LONGEST_MADE = 500
"""Bytes of a text or a list that a statement puts together, in each row."""
TOO_LONG = "error('Expected a shorter text, got a longer one.')"
SHORT = (
    f"(made) AS list_transform([made], lambda held: CASE WHEN strlen(CAST(held AS VARCHAR)) > {LONGEST_MADE} "
    f"THEN {TOO_LONG} ELSE held END)[1]"
)

BODIES: Mapping[str, tuple[str, ...]] = {
    "format_type": (FORMAT_TYPE,),
    "pg_get_userbyid": ("(role) AS (SELECT x_r.rolname FROM pg.pg_roles x_r WHERE x_r.oid = role)",),
    "pg_table_is_visible": (
        "(oid_) AS (SELECT x_c.relnamespace IN (11, 2200) FROM pg.pg_class x_c WHERE x_c.oid = oid_)",
    ),
    "pg_type_is_visible": ("(oid_) AS TRUE",),
    "pg_function_is_visible": ("(oid_) AS TRUE",),
    "pg_statistics_obj_is_visible": ("(oid_) AS TRUE",),
    "pg_get_expr": (f"(tree, relation) AS {NOTHING}", f"(tree, relation, pretty) AS {NOTHING}"),
    "pg_get_constraintdef": (f"(oid_) AS {NOTHING}", f"(oid_, pretty) AS {NOTHING}"),
    "pg_get_indexdef": (f"(oid_) AS {NOTHING}", f"(oid_, number, pretty) AS {NOTHING}"),
    "pg_get_viewdef": (f"(oid_) AS {NOTHING}", f"(oid_, pretty) AS {NOTHING}"),
    "pg_get_triggerdef": (f"(oid_) AS {NOTHING}", f"(oid_, pretty) AS {NOTHING}"),
    "pg_get_ruledef": (f"(oid_) AS {NOTHING}", f"(oid_, pretty) AS {NOTHING}"),
    "pg_get_functiondef": (f"(oid_) AS {NOTHING}",),
    "pg_get_function_result": (f"(oid_) AS {NOTHING}",),
    "pg_get_function_arguments": (f"(oid_) AS {NOTHING}",),
    "pg_get_function_identity_arguments": (f"(oid_) AS {NOTHING}",),
    "pg_get_partkeydef": (f"(oid_) AS {NOTHING}",),
    "pg_get_statisticsobjdef_columns": (f"(oid_) AS {NOTHING}",),
    "pg_get_serial_sequence": (f"(relation, column_) AS {NOTHING}",),
    "pg_relation_filepath": (f"(relation) AS {NOTHING}",),
    "pg_tablespace_location": (f"(oid_) AS {NOTHING}",),
    "shobj_description": (f"(oid_, catalog_) AS {NOTHING}",),
    "obj_description": (
        f"(object) AS ({DESCRIPTION} = object AND x_d.objsubid = 0)",
        f"(object, catalog_) AS ({DESCRIPTION} = object AND x_d.objsubid = 0 AND {OF_CATALOG})",
    ),
    "col_description": (f"(object, number) AS ({DESCRIPTION} = object AND x_d.objsubid = number)",),
    "pg_relation_size": (f"(relation) AS {NO_SIZE}", f"(relation, fork) AS {NO_SIZE}"),
    "pg_table_size": (f"(relation) AS {NO_SIZE}",),
    "pg_indexes_size": (f"(relation) AS {NO_SIZE}",),
    "pg_total_relation_size": (f"(relation) AS {NO_SIZE}",),
    "pg_database_size": (f"(name_) AS {NO_SIZE}",),
    "pg_size_pretty": ("(size) AS '0 bytes'",),
    "pg_encoding_to_char": ("(number) AS CASE number WHEN 6 THEN 'UTF8' ELSE '' END",),
    "pg_char_to_encoding": ("(name_) AS CASE WHEN upper(name_) IN ('UTF8', 'UTF-8') THEN 6 ELSE -1 END",),
    "has_table_privilege": (
        "(relation, right_) AS upper(right_) = 'SELECT'",
        "(role, relation, right_) AS upper(right_) = 'SELECT'",
    ),
    "has_column_privilege": (
        "(relation, column_, right_) AS upper(right_) = 'SELECT'",
        "(role, relation, column_, right_) AS upper(right_) = 'SELECT'",
    ),
    "has_any_column_privilege": (
        "(relation, right_) AS upper(right_) = 'SELECT'",
        "(role, relation, right_) AS upper(right_) = 'SELECT'",
    ),
    "has_schema_privilege": (
        "(schema_, right_) AS upper(right_) = 'USAGE'",
        "(role, schema_, right_) AS upper(right_) = 'USAGE'",
    ),
    "has_database_privilege": (
        "(database_, right_) AS upper(right_) = 'CONNECT'",
        "(role, database_, right_) AS upper(right_) = 'CONNECT'",
    ),
    "has_function_privilege": ("(function_, right_) AS FALSE", "(role, function_, right_) AS FALSE"),
    "has_sequence_privilege": ("(sequence_, right_) AS FALSE", "(role, sequence_, right_) AS FALSE"),
    "pg_has_role": ("(role, right_) AS FALSE", "(role, other, right_) AS FALSE"),
    "pg_is_in_recovery": ("() AS FALSE",),
    "pg_is_wal_replay_paused": ("() AS FALSE",),
    "pg_is_other_temp_schema": ("(oid_) AS FALSE",),
    "pg_my_temp_schema": ("() AS CAST(0 AS UINTEGER)",),
    "pg_advisory_unlock_all": ("() AS ''",),
    "pg_advisory_lock": ("(key_) AS ''",),
    "pg_try_advisory_lock": ("(key_) AS TRUE",),
    "pg_advisory_unlock": ("(key_) AS TRUE",),
    "txid_current": ("() AS CAST(1 AS BIGINT)",),
    "inet_server_addr": (f"() AS {NOTHING}",),
    "inet_client_addr": (f"() AS {NOTHING}",),
    "inet_server_port": ("() AS CAST(NULL AS INTEGER)",),
    "inet_client_port": ("() AS CAST(NULL AS INTEGER)",),
    "quote_ident": (QUOTED,),
    "quote_literal": ("(text_) AS '''' || replace(text_, '''', '''''') || ''''",),
    "array_to_string": (
        "(list_, sign_) AS list_aggregate(list_, 'string_agg', sign_)",
        "(list_, sign_, nothing_) AS list_aggregate(list_, 'string_agg', sign_)",
    ),
    "array_remove": ("(list_, one_) AS list_filter(list_, lambda held: held IS DISTINCT FROM one_)",),
    "array_upper": ("(list_, dimension) AS len(list_)",),
    "array_lower": ("(list_, dimension) AS CASE WHEN len(list_) > 0 THEN 1 END",),
    "array_ndims": ("(list_) AS CASE WHEN len(list_) > 0 THEN 1 END",),
    "to_regproc": ("(name_) AS (SELECT x_p.oid FROM pg.pg_proc x_p WHERE x_p.proname = name_ LIMIT 1)",),
    "array_length": ("(list_, dimension) AS nullif(len(list_), 0)",),
    "cardinality": ("(list_) AS len(list_)",),
    "parse_ident": ("(name_) AS string_split(replace(name_, '\"', ''), '.')",),
    "string_to_array": (
        "(text_, sign_) AS string_split(text_, sign_)",
        "(text_, sign_, nothing_) AS string_split(text_, sign_)",
    ),
    "to_regclass": (CLASS_NUMBER,),
    "to_regtype": (
        "(name_) AS (SELECT x_t.oid FROM pg.x_shown_types x_t WHERE name_ IN (x_t.typname, x_t.shown) LIMIT 1)",
    ),
    "to_regnamespace": ("(name_) AS (SELECT x_n.oid FROM pg.pg_namespace x_n WHERE x_n.nspname = name_)",),
    "setting_of": ("(name_) AS (SELECT x_s.setting FROM pg.pg_settings x_s WHERE x_s.name = name_)",),
    "class_name": ("(oid_) AS (SELECT x_c.relname FROM pg.pg_class x_c WHERE x_c.oid = oid_)",),
    "type_name": ("(oid_) AS (SELECT x_t.shown FROM pg.x_shown_types x_t WHERE x_t.oid = oid_)",),
    "namespace_name": ("(oid_) AS (SELECT x_n.nspname FROM pg.pg_namespace x_n WHERE x_n.oid = oid_)",),
    "role_name": ("(oid_) AS (SELECT x_r.rolname FROM pg.pg_roles x_r WHERE x_r.oid = oid_)",),
    "pg_size_bytes": (f"(size) AS {NO_SIZE}",),
    "pg_stat_get_numscans": (f"(relation) AS {NO_SIZE}",),
    "pg_options_to_table": ("(options) AS NULL",),
    "aclexplode": ("(acl) AS NULL",),
    "pg_postmaster_start_time": ("() AS TIMESTAMP '2000-01-01 00:00:00'",),
    "pg_conf_load_time": ("() AS TIMESTAMP '2000-01-01 00:00:00'",),
    "pg_last_wal_receive_lsn": (f"() AS {NOTHING}",),
    "pg_last_xact_replay_timestamp": ("() AS CAST(NULL AS TIMESTAMP)",),
    "expandarray": ("(list_) AS UNNEST(list_transform(list_, lambda held, place: {'x': held, 'n': place}))",),
    "pg_relation_is_publishable": ("(relation) AS FALSE",),
    "unistr": ("(text_) AS text_",),
    "short": (SHORT,),
}
"""The parameters and body of each function; several where it takes several numbers of arguments.

A body uses each parameter once: DuckDB puts the argument in its place, so that nested calls would double otherwise.
"""

KEYWORDS = (
    "CREATE MACRO x_pg_get_keywords() AS TABLE SELECT keyword_name AS word, 'U' AS catcode, "
    "true AS barelabel, 'unreserved' AS catdesc, 'can be bare label' AS baredesc FROM duckdb_keywords()"
)
MACROS = tuple(f"CREATE MACRO {PREFIX}{name}{', '.join(bodies)}" for name, bodies in BODIES.items())
