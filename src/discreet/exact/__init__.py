"""Floor 1: exact numbers, and rounding whose direction is in the name."""
