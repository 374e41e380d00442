"""Compiles plans to exact integer totals through Ibis. Adds no noise."""
