"""SQL text into the verbs of `query`, through sqlglot. Nothing runs here.

Not called `sql`: a room of that name would take the place of the function ``discreet.sql`` once it is imported.
"""
