"""The settings that a client states when it connects: parameters of the start, and `options=-c name=value`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.sqlstates import SETTING, Refused

NOT_SETTINGS = ("user", "database", "replication", "options")
_WORD = re.compile(r"(?:\\.|[^\\\s])+", re.DOTALL)


def first_settings(params: Mapping[str, str], user: str) -> dict[str, str]:
    """The settings with which a session starts.

    >>> first_settings({"user": "ann", "options": "-c discreet.epsilon=0.1 -c discreet.intervals=on"}, "ann")
    {'discreet.epsilon': '0.1', 'discreet.intervals': 'on'}

    Raises:
        Refused: one of ours has a value that it cannot have, or the options are of another form.
    """
    made = SessionSettings(user=user)
    stated = [
        (name, value) for name, value in params.items() if name not in NOT_SETTINGS and not name.startswith("_pq_.")
    ]
    for name, value in [*stated, *_options(params.get("options", ""))]:
        try:
            made.set(name, value)
        except Refused:
            if name.lower().startswith("discreet."):
                raise
            continue  # what is fixed stays as it is, and the client is told how it is
    return made.stated


def _options(text: str) -> Iterator[tuple[str, str]]:
    parts = [re.sub(r"\\(.)", r"\1", word) for word in _WORD.findall(text)]
    place = 0
    while place < len(parts):
        word = parts[place]
        if word == "-c" and place + 1 < len(parts):
            place += 1
            word = parts[place]
        elif word.startswith(("-c", "--")):
            word = word[2:]
        else:
            raise Refused(SETTING, "Expected options of the form -c name=value, got others.", "-c discreet.epsilon=0.1")
        name, sign, value = word.partition("=")
        if not sign:
            raise Refused(SETTING, "Expected options of the form -c name=value, got others.", "-c discreet.epsilon=0.1")
        yield name.replace("-", "_"), value
        place += 1
