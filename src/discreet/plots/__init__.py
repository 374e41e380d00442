"""Floor 1: arrays in, figure out; one style, readable in black and white."""
