"""How Hypothesis looks for examples: the same ones every time in CI, new ones at a desk."""

from __future__ import annotations

import os

from hypothesis import settings

# A run that fails in CI must fail again for whoever looks into it; a fault caught or missed by luck helps nobody there.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
# Time limits for one example would fail on a busy machine, not on a fault.
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
