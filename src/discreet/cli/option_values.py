"""From the text of an option to the value that it stands for, exactly or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from discreet.curator.public_data import public_keys
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.language.checked_expressions import Kind
from discreet.planning.group_keys import UNKNOWN_WORDS, Unknown
from discreet.privacy.declaration import Key

NULL = r"\N"
"""How NULL is written among keys."""


def named_values(option: str, texts: Sequence[str], example: str) -> list[tuple[str, str]]:
    """``name=value`` options as pairs."""
    pairs = []
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InvalidParameter(expected("name=value", option, text, f"write --{option} {example}."))
        pairs.append((name, value))
    return pairs


def columns(option: str, texts: Sequence[str], example: str) -> dict[str, str]:
    """``name=value,name=value`` options, each name once."""
    found: dict[str, str] = {}
    for name, value in named_values(option, [part for text in texts for part in text.split(",")], example):
        if name in found:
            raise InvalidParameter(expected("each column once", option, name, "leave one of them out."))
        found[name] = value
    return found


def bounds(texts: Sequence[str]) -> dict[str, tuple[object, object]]:
    """``visits=0:50`` as exact numbers or as the texts of two dates."""
    return {name: _pair(name, value) for name, value in columns("bounds", texts, "visits=0:50").items()}


def _pair(name: str, text: str) -> tuple[object, object]:
    """The two ends around a colon; times have colons of their own, so every place is tried."""
    places = [place.start() for place in re.finditer(":", text)]
    pairs = [(_end(text[:place]), _end(text[place + 1 :])) for place in places]
    whole = [(low, high) for low, high in pairs if low is not None and high is not None]
    if len(whole) != 1:
        cure = f"write --bounds {name}=0:50, or two dates: --bounds {name}=2020-01-01:2020-12-31."
        raise InvalidParameter(expected("low:high", f"bounds of {name}", text, cure))
    return whole[0]


def _end(text: str) -> object:
    try:
        return Decimal(text)
    except InvalidOperation:
        pass
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text


def _integer(text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text):
        raise ValueError(text)
    return int(text)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


READ: dict[Kind, tuple[Callable[[str], Key], str]] = {
    Kind.TEXT: (str, "a"),
    Kind.INTEGER: (_integer, "3"),
    Kind.BOOLEAN: (_boolean, "true"),
    Kind.DATE: (date.fromisoformat, "2020-01-31"),
    Kind.TIMESTAMP: (datetime.fromisoformat, "2020-01-31T12:00:00"),
}
"""How the keys of a group are read, and an example of one."""


def key_file(texts: Sequence[str]) -> str | None:
    """The Parquet file that has the keys of all groups; none where they are listed."""
    files = [text for text in texts if "=" not in text and text.lower().endswith(".parquet")]
    if files and len(texts) > 1:
        cure = "a file has a column for each group: put all keys into it."
        raise InvalidParameter(expected("one file of keys, or lists of them", "keys", list(texts), cure))
    return files[0] if files else None


def stated_keys(texts: Sequence[str], kinds: Mapping[str, Kind | None]) -> object:
    """What ``group_by`` takes as keys: that they are to be found, those of a file, or lists of them.

    Whoever writes a command has the table's own path, and so is the curator: a file of keys is theirs to mark.
    """
    if len(texts) == 1 and texts[0].lower() in UNKNOWN_WORDS:
        return Unknown(texts[0].lower())
    file = key_file(texts)
    return keys(texts, kinds) if file is None else public_keys(file)


def keys(
    texts: Sequence[str], kinds: Mapping[str, Kind | None], *, option: str = "keys"
) -> dict[str, list[Key]] | None:
    """``plan=free,25%`` as the keys of each group, in the group's own type.

    Given once, an option is split at its commas. Given more than once for a group, each is one key as it stands, commas
    and all.
    """
    lists: dict[str, list[str]] = {}
    for name, text in named_values(option, texts, "plan=free,25%"):
        lists.setdefault(name, []).append(text)
    found = {}
    for name, values in lists.items():
        if kinds and name not in kinds:
            raise InvalidParameter(expected("keys of the columns grouped by", option, name, nearest_name(name, kinds)))
        if len(values) == 1 and (word := values[0].lower()) in UNKNOWN_WORDS:
            cure = f"write --keys {word}, for all groups; a key of that name is listed with others."
            raise InvalidParameter(expected("keys of one group", option, f"{name}={values[0]}", cure))
        split = values[0].split(",") if len(values) == 1 else values
        found[name] = [_key(name, text, kinds.get(name), option) for text in split]
    return found or None


def _key(name: str, text: str, kind: Kind | None, option: str) -> Key:
    if text == NULL:
        return None
    read, example = READ.get(kind or Kind.TEXT, READ[Kind.TEXT])
    try:
        return read(text)
    except (ValueError, KeyError):
        what = f"a {kind.value if kind else 'text'} as a key of {name!r}"
        raise InvalidParameter(
            expected(what, option, text, f"write it as in --{option} {name}={example}, and NULL as {NULL}.")
        ) from None
