"""What all releases together may cost, what was charged, and the record that outlives the process."""
