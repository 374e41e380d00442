"""The only place where budget, data and entropy meet: price, reserve, look, add noise, commit, release."""
