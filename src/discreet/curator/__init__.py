"""Floor 8: the only place where budget, data and entropy meet: price, reserve, look, blur, commit, release."""
