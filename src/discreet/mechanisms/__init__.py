"""Mechanisms: a sensitivity in, a noisy value and the event that pays for it out."""
