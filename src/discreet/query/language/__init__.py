"""The closed language: the row-wise operations that may reach data, and why none of them can raise."""
