"""Readings: releases whose exact input is a table of the engine's rather than the totals of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import ibis.expr.types as ir
import pyarrow as pa

from discreet.curator.release_key import hashed, stated
from discreet.noise.entropy import RandomWords
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import Event


class Reading(Protocol):
    """A priced release: what the engine is to find, and the mechanism that turns it into what may be shown."""

    @property
    def what(self) -> str:
        """The question in one line, for the ledger."""

    @property
    def guarantee(self) -> Guarantee:
        """What it costs."""

    @property
    def charged_event(self) -> Event | None:
        """What is drawn; None for any release of this guarantee."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Ready for JSON: all that determines the mechanism. Part of the release's name, and of its receipt."""

    @property
    def expression(self) -> ir.Table:
        """What the engine is to find, over the scanned table."""

    def add_noise(self, found: pa.Table, words: RandomWords) -> pa.Table:
        """The mechanism: what it returns is stored, and shown."""


def reading_digest(reading: Reading, declared: Declaration, statement: str, schema: Mapping[str, object]) -> str:
    """SHA-256 of all that determines the law of a reading: source, version, types, promise, statement, mechanism."""
    own = {
        "reading": dict(reading.facts),
        "charge": [str(reading.guarantee.epsilon), str(reading.guarantee.delta)],
    }
    return hashed(stated(declared, statement, schema) | own)
