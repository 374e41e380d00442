"""Noisy totals in, estimates and intervals out."""
