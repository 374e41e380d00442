"""What is tried from far ends needs .venv-serve (scripts/try_service.sh), and is left out elsewhere."""

from __future__ import annotations

import os
from importlib.util import find_spec

if find_spec("schemathesis") is None and not os.environ.get("FAR_ENDS"):
    collect_ignore_glob = ["*"]
