"""Exact numbers, and rounding whose direction is in the name."""
