"""Counts and sums on all levels of a path of columns, such as state, county and block, that agree with each other."""
