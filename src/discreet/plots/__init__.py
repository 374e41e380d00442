"""Arrays in, figure out; one style, readable in black and white."""
