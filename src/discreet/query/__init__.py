"""The verbs of the analyst, questions, and what a release would do. No row is touched here."""
