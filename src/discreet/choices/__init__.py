"""One of an analyst's own candidates, chosen by how many rows speak for each, or by a sum over them."""
