"""Plans into exact integer totals, through Ibis. No noise is known here."""
