"""Differentially private k-means of arrays and of protected tables."""
