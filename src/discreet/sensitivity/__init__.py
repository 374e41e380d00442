"""How far one unit can move an exact answer: intervals, splits of a row, limits on contributions."""
