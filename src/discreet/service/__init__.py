"""Data sets, principals, policies, and releases as jobs that end at public moments."""
