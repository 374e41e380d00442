"""Totals of rows or amounts of which one unit may have any number: its total is cut at a limit that noise chooses."""
