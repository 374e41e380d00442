"""The interface for programs, as a page: what the description of the endpoints says, for people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape
from starlette.responses import Response

from discreet.server.pages.page_site import PageSite, Visit
from discreet.service.service_errors import forbidden

_NAMED = "#/components/schemas/"
_LIMITS = (
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
)
PLURALS = {"analyst": "analysts", "auditor": "auditors", "curator": "curators", "operator": "operators"}


def interface_page(site: PageSite, visit: Visit) -> Response:
    """Every endpoint with who may use it, what it takes and what it answers."""
    describe = getattr(visit.request.app, "openapi", None)
    if describe is None:  # pages by themselves, without an interface
        raise forbidden()
    described: Mapping[str, Any] = describe()
    return site.show(
        visit,
        "interface.html",
        about=described["info"]["description"],
        refusals=refusals(described),
        sections=sections(described),
        bodies=[body_view(name, schema) for name, schema in sorted(described["components"]["schemas"].items())],
    )


def sections(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The endpoints by whom they are for, in the order of the description."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            line = endpoint_view(method.upper(), path, operation)
            found.setdefault(operation["tags"][0], []).append(line)
    return [{"title": f"For {tag}", "name": tag.replace(" ", "-"), "endpoints": lines} for tag, lines in found.items()]


def refusals(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The codes of what is refused anywhere, with what each means."""
    operations = [operation for methods in described["paths"].values() for operation in methods.values()]
    found = {code: one["description"] for operation in operations for code, one in operation["responses"].items()}
    return sorted((code, text) for code, text in found.items() if not code.startswith("2"))


def endpoint_view(method: str, path: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    """One endpoint as the page shows it."""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    code, answer = next((code, one) for code, one in operation["responses"].items() if code.startswith("2"))
    return {
        "method": method,
        "path": Markup("/<wbr>").join(path.split("/")),
        "about": docstring_markup(operation.get("description", "")),
        "who": who_may(operation),
        "parameters": [parameter_view(one) for one in operation.get("parameters", ())],
        "body": None if body is None else type_text(body),
        "code": code,
        "answer": answer_text(answer.get("content", {})),
    }


def who_may(operation: Mapping[str, Any]) -> str:
    """Who may use an endpoint, in words.

    >>> who_may({"security": [{}], "x-roles": ["curator", "auditor"]}), who_may({"security": [{}], "x-roles": []})
    ('curators and auditors', 'everybody who is signed in')
    >>> who_may({})
    'everybody'
    """
    if "security" not in operation:
        return "everybody"
    roles = [PLURALS[role] for role in operation.get("x-roles", ())]
    if not roles:
        return "everybody who is signed in"
    return " and ".join(filter(None, (", ".join(roles[:-1]), roles[-1])))


def parameter_view(given: Mapping[str, Any]) -> dict[str, Any]:
    """A part of the path, of the query, or a header."""
    return {
        "name": given["name"],
        "place": given["in"],
        "type": type_text(given["schema"]),
        "needed": bool(given.get("required")),
        "about": docstring_markup(given.get("description", "")),
    }


def body_view(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object that is sent or answered, field by field; or the words that it is one of."""
    needed = schema.get("required", ())
    fields = [
        {"name": field, "type": type_text(kind), "needed": field in needed}
        for field, kind in schema.get("properties", {}).items()
    ]
    return {
        "name": name,
        "about": docstring_markup(schema.get("description", "")),
        "fields": fields,
        "words": [str(word) for word in schema.get("enum", ())],
    }


def type_text(schema: Mapping[str, Any]) -> Markup:
    """What a value may be, with links to objects that have a name.

    >>> type_text({"type": "integer", "minimum": 1, "maximum": 500, "default": 100})
    Markup('integer, at least 1, at most 500; 100 if left out')
    >>> type_text({"anyOf": [{"type": "array", "items": {"$ref": "#/components/schemas/LevelLine"}}, {"type": "null"}]})
    Markup('list of <a href="#LevelLine">LevelLine</a>, or null')
    """
    found = _kind(schema)
    for name, words in _LIMITS:
        if name in schema:
            found += f", {words.format(schema[name])}"
    if schema.get("default") is not None:
        found += Markup("; {} if left out").format(_word(schema["default"]))
    return found


def _kind(schema: Mapping[str, Any]) -> Markup:
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(_NAMED)
        return Markup('<a href="#{}">{}</a>').format(name, name)
    if "anyOf" in schema:
        return Markup(", or ").join(type_text(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return Markup(", ").join(_word(one) for one in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return Markup("list of ") + type_text(schema.get("items", {}))
    more = schema.get("additionalProperties")
    if schema.get("type") == "object":
        return Markup("object of ") + type_text(more) if isinstance(more, Mapping) and more else Markup("object")
    return escape(schema.get("type", "any value"))


def _word(value: object) -> Markup:
    return escape(str(value).lower() if isinstance(value, bool) else str(value))


def answer_text(content: Mapping[str, Any]) -> Markup:
    """What is answered: the type of JSON, or which types of content there are to choose from."""
    schema = content.get("application/json", {}).get("schema")
    if schema:
        return type_text(schema)
    return Markup(", ").join(escape(kind) for kind in content) or Markup("nothing")


def docstring_markup(text: str) -> Markup:
    r"""A docstring as a page shows it: what stands between backticks as code, and one paragraph.

    >>> docstring_markup("Their number,\n`key_count`, and <more>.")
    Markup('Their number, <span class="code">key_count</span>, and &lt;more&gt;.')
    """
    parts: Sequence[str] = re.split(r"`+([^`]*)`+", " ".join(text.split()))
    return Markup("").join(
        Markup('<span class="code">{}</span>').format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )
