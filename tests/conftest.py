"""How Hypothesis looks for examples: always the same ones in CI, new ones at a desk."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

# A run that fails in CI must fail again for whoever looks into it; a fault caught or missed by luck helps nobody there.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
# A planted fault is to be seen, not to be explained by the smallest example.
settings.register_profile("mutants", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
# Time limits for one example would fail on a busy machine, not on a fault.
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
