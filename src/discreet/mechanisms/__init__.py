"""Floor 4: mechanisms: a sensitivity in, a noisy value and the event that pays for it out."""
