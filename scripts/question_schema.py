"""The JSON Schema of documents, made from the same lists that they are read by: ``python scripts/question_schema.py``
writes it where the documentation has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.planning.group_keys import UNKNOWN_BY_COUNT
from discreet.query.document_parts import LONGEST_STRING
from discreet.query.expression_documents import AFTER_OPERATIONS, OPERATIONS, TYPES
from discreet.query.join_truncation import UNIQUE
from discreet.query.question_documents import VERSION
from discreet.query.read_applications import MOST_WINDOWS, OPEN
from discreet.query.window_documents import FRAMES, MOST_APART, WINDOW

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "maxLength": LONGEST_STRING}
WHOLE: Schema = {"type": "integer", "minimum": 1}
TRUE: Schema = {"const": True}
UNKNOWN_KEYS: Schema = {"enum": [True, UNKNOWN_BY_COUNT.value]}
EXPRESSION: Schema = {"$ref": "#/$defs/expression"}
CALCULATION: Schema = {"$ref": "#/$defs/calculation"}
SORT_KEY: Schema = {"$ref": "#/$defs/sort_key"}
AGGREGATE: Schema = {"$ref": "#/$defs/aggregate"}
TABLE: Schema = {"$ref": "#/$defs/table"}
KEY: Schema = {"$ref": "#/$defs/key"}


INTERVAL: Schema = {
    "type": "array",
    "prefixItems": [{"type": "integer"}, {"type": "string"}],
    "items": False,
    "minItems": 2,
}


def _fields(needed: Mapping[str, Schema], other: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these fields and no others."""
    properties = {**needed, **(other or {})}
    return {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False}


def _list(of: Schema, least: int = 1) -> Schema:
    return {"type": "array", "items": of, "minItems": least}


def _one_of(fields: Mapping[str, Schema]) -> list[Schema]:
    """An object with one of these fields."""
    return [_fields({name: value}) for name, value in fields.items()]


def _pairs(of: Schema) -> Schema:
    """Names and what they mean, in their order."""
    return _list({"type": "array", "prefixItems": [TEXT, of], "items": False, "minItems": 2})


def _constants() -> list[Schema]:
    moments = dict.fromkeys(("real", "date", "timestamp", "decimal"), TEXT)
    typed = {"type": "array", "prefixItems": [{}, {"enum": sorted(TYPES)}], "items": False, "minItems": 2}
    others = {"interval": INTERVAL, "null": TRUE, "list": _list({}), "typed": typed}
    return [*({"type": kind} for kind in ("string", "number", "boolean")), *_one_of({**moments, **others})]


def _expression() -> Schema:
    """A column, a constant, or an operation with its arguments."""
    return {"anyOf": [*_constants(), *_one_of({"column": TEXT}), _operation(EXPRESSION, OPERATIONS)]}


def _calculation() -> Schema:
    """The same of an answer, whose groups have windows."""
    number = {"type": "number", "minimum": 0, "maximum": MOST_APART}  # of rows, or of a value
    apart = {"anyOf": [number, *_one_of({"real": TEXT, "interval": INTERVAL})]}
    boundary = {"anyOf": _one_of({"preceding": apart, "following": apart})}
    window = _fields(
        {"of": CALCULATION},
        {
            "by": _list(CALCULATION),
            "order": _list(SORT_KEY),
            "frame": {"enum": list(FRAMES)},
            "start": boundary,
            "end": boundary,
        },
    )
    operation = _operation(CALCULATION, {**OPERATIONS, **AFTER_OPERATIONS})
    return {"anyOf": [*_constants(), *_one_of({"column": TEXT, WINDOW: window}), operation]}


def _operation(of: Schema, names: Mapping[str, Any]) -> Schema:
    argument = {"anyOf": [of, {"type": "null"}, {"type": "array", "items": {"anyOf": [of]}}]}
    return {
        "type": "object",
        "propertyNames": {"enum": sorted(names)},
        "additionalProperties": {"type": "array", "items": argument},
        "minProperties": 1,
        "maxProperties": 1,
    }


def _steps() -> list[Schema]:
    """The verbs of a table."""
    columns = {"columns": _pairs(TEXT)}
    of_a_key = {"anyOf": [WHOLE, {"const": UNIQUE}]}
    matches = {"anyOf": [WHOLE, {"const": UNIQUE}, {"type": "array", "items": of_a_key, "minItems": 2, "maxItems": 2}]}
    on = {"on": _list(TEXT), "how": {"enum": ["inner", "left", "semi", "anti"]}}
    joins = [
        _fields({"table": TABLE, **on}, {"max_matches": matches}),
        _fields({"public": TEXT, **on, "max_matches": WHOLE}, columns),
    ]
    more = {"raise_limits": TRUE}
    split = {"type": "array", "prefixItems": [TEXT, EXPRESSION, TEXT], "items": False, "minItems": 3}
    unnested = [
        _fields({"lists": _pairs(_list(EXPRESSION))}, more),
        _fields({"split": split, "max_items": WHOLE}, more),
    ]
    return _one_of(
        {
            "filter": _list(EXPRESSION),
            "mutate": _pairs(EXPRESSION),
            "per_unit": _pairs(EXPRESSION),
            "rename": _pairs(TEXT),
            **dict.fromkeys(("select", "distinct"), _list(TEXT)),
            "union": {"anyOf": [TABLE, _fields({"rows": TABLE, "raise_limits": TRUE})]},
            **dict.fromkeys(("intersect", "difference"), TABLE),
            "join": {"anyOf": joins},
            **dict.fromkeys(("take", "skip"), WHOLE),
            "per_key": _fields({"keys": _list(TEXT), "features": _pairs(EXPRESSION)}, {"max_keys": WHOLE}),
            "unnest": {"anyOf": unnested},
        }
    )


def _after() -> list[Schema]:
    """The steps after the noise."""
    count: Schema = {"type": "integer", "minimum": 0}
    limit = {"type": "array", "prefixItems": [count, count], "items": False, "minItems": 2}
    steps = {"having": _list(CALCULATION), "order_by": _list(SORT_KEY), "limit": limit}
    return _one_of({**steps, "mutate": _pairs(CALCULATION), "select": _list(TEXT)})


def _applications(limits: Mapping[str, Schema], stated: Mapping[str, Schema], groups: Schema) -> dict[str, Schema]:
    """What is asked by verbs of their own."""
    keys = _list(KEY)
    candidate = {"anyOf": [KEY, {"type": "number"}, *_one_of({"real": TEXT})]}
    scored = {"type": "array", "prefixItems": [candidate, EXPRESSION], "items": False, "minItems": 2}
    levels = {"from": TABLE, "levels": _list(TEXT), "keys": TEXT, "aggregates": _pairs(AGGREGATE)}
    kmeans = {"from": TABLE, "columns": _list(TEXT), "n_clusters": WHOLE, "algorithm": {"enum": ["best", "lloyd"]}}
    moment = {"anyOf": [{"type": "integer"}, *_one_of({"date": TEXT, "timestamp": TEXT})]}
    steps = {
        **dict.fromkeys(("name", "by"), TEXT),
        "every": {"anyOf": [WHOLE, TEXT]},
        "start": moment,
        "until": {"anyOf": [moment, {"const": OPEN}]},
        "windows": {**_list({"anyOf": [WHOLE, TEXT]}), "maxItems": MOST_WINDOWS},
        "max_steps": WHOLE,
    }
    told = {"apart": WHOLE, **dict.fromkeys(("arrives", "late", "settled"), TEXT)}
    return {
        "top": _fields({"from": TABLE, "column": TEXT, "k": WHOLE}, {"keys": keys, "order": {"const": False}}),
        "choose": _fields({"from": TABLE, "candidates": _list(scored, 2)}, {"max_rows": limits["max_rows"]}),
        "count_distinct": _fields({"from": TABLE, "column": TEXT}, {"max_values": WHOLE}),
        "truncated_total": _fields(
            {"from": TABLE}, {"value": EXPRESSION, "limit": {"anyOf": [WHOLE, {"const": "race"}]}, "most": WHOLE}
        ),
        "kmeans": _fields(kmeans, {"rounds": WHOLE, **stated}),
        "series": _fields(
            {"from": TABLE, "aggregates": _pairs(AGGREGATE), "steps": _fields(steps, told)}, {"by": groups}
        ),
        "hierarchy": _fields(levels, {"cells": _pairs({"anyOf": [{"type": "null"}, keys]}), **limits}),
    }


def document_schema() -> Schema:
    """The schema of this version: what has no such form is no document; what has it is still checked by the verbs."""
    limit = {"anyOf": [WHOLE, {"const": "auto"}]}
    limits = {"max_groups": limit, "max_rows": limit}
    stated = {"max_groups": WHOLE, "max_rows": WHOLE}
    keys = {
        "keys": {"type": "object", "additionalProperties": _list(KEY)},
        "unknown_keys": UNKNOWN_KEYS,
        "public_keys": TEXT,
    }
    sets = {"sets": _list({"type": "array", "items": TEXT})}
    groups = _fields({"columns": _list(TEXT)}, {**keys, **sets, **limits})
    asked = {"from": TABLE, "aggregates": _pairs(AGGREGATE)}
    after = {"stacked": {"type": "array"}, "after": _list({"anyOf": _after()})}
    edges = _list({"anyOf": [KEY, {"type": "number"}, *_one_of({"real": TEXT})]}, 2)
    sums = {"by": groups, "sums": {"const": "prefixes"}, **stated}
    ranges = _fields({"from": TABLE, "column": TEXT, "edges": edges}, sums)
    questions = _pairs({"anyOf": [_fields(asked, {"by": groups}), _fields({"ranges": ranges})]})
    bodies = {
        "question": _fields(asked, {"by": groups, **after}),
        "batch": _fields({"questions": questions}, stated),
        "ranges": ranges,
    }
    bodies |= _applications(limits, stated, groups)
    keyed = [{"type": kind} for kind in ("null", "boolean", "integer", "string")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A question about a protected table, version {VERSION}",
        "oneOf": [_fields({"version": {"const": VERSION}, name: body}) for name, body in bodies.items()],
        "$defs": {
            "table": _fields({"table": TEXT}, {"steps": _list({"anyOf": _steps()})}),
            "expression": _expression(),
            "calculation": _calculation(),
            "sort_key": _fields({"by": CALCULATION, "desc": {"type": "boolean"}, "nulls_first": {"type": "boolean"}}),
            "aggregate": {
                "anyOf": [EXPRESSION, *_one_of({"units": {"type": "array", "items": EXPRESSION, "maxItems": 1}})]
            },
            "key": {"anyOf": [*keyed, *_one_of({"date": TEXT, "timestamp": TEXT})]},
        },
    }


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "docs" / f"question-{VERSION}.schema.json"
    target.write_text(json.dumps(document_schema(), indent=1) + "\n", encoding="utf-8")
