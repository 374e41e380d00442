"""Floor 5: reports that each person makes noisy alone, for collectors whom nobody need trust."""
