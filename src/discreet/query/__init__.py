"""Floor 6: queries as data: verbs, plans, prices and error bars before the fact. No row is touched here."""
