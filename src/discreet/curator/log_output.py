"""What this library logs, on standard error, for whoever sets `DISCREET_LOG`.

Without it, and without a configuration of the program's own, Python shows warnings there and nothing else. The causes
of failures of an engine quote rows: their logger, `discreet.curator`, is shown by a configuration of its own alone.
"""

from __future__ import annotations

import logging
import os
import warnings

from discreet.errors import expected

logger = logging.getLogger("discreet.release")
"""Each charge and each answer, with what the ledger tells of it."""

VARIABLE = "DISCREET_LOG"
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
CAUSES = "discreet.curator"
FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def show_log() -> None:
    """Shows the lines of the level that `DISCREET_LOG` names, and above; never what a row made an engine say."""
    stated = os.environ.get(VARIABLE, "")
    level = LEVELS.get(stated.lower())
    if level is None:
        cure = "nothing is shown beside warnings, as without it."
        warnings.warn(expected(f"one of {', '.join(LEVELS)}", VARIABLE, stated, cure), stacklevel=2)
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(FORM))
    handler.addFilter(lambda record: record.name != CAUSES)
    own = logging.getLogger("discreet")
    own.addHandler(handler)
    own.setLevel(level)


if os.environ.get(VARIABLE):  # before the first line of a release is logged
    show_log()
