"""Floor 9: scripted chance and statistical assertions, for our tests and our users'. Nothing here is private."""
