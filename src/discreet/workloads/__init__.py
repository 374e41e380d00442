"""Many linear queries at once: what to measure, with which noise, so that their errors are the least there can be."""
