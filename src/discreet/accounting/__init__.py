"""Events in, privacy loss out: what a release costs, alone, together with others, and chosen step by step."""
