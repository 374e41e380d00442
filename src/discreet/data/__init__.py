"""The table that the demo, the tutorial and the tests speak of; its README tells where it comes from."""
