"""Floor 5: choosing several of many candidates."""
