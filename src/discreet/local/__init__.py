"""Reports that each person makes noisy alone, for collectors whom nobody need trust."""
