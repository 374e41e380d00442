"""Translates SQL text into the verbs of `query`, through sqlglot. Nothing runs here.

Not called `sql`: a package of that name would replace the function ``discreet.sql`` once it is imported.
"""
