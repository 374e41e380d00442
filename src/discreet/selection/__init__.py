"""Choosing several of many candidates."""
