"""How many different values a column has, where nobody listed them and one person may have any number of them."""
