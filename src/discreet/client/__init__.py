"""The verbs of a protected table, against a service elsewhere."""
