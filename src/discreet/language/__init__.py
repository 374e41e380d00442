"""The closed, total language of row-wise expressions: capture, checks, and the interval of every result."""
