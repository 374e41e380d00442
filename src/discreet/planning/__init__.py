"""A question in, a priced plan out: measurements, noise laws, and the division of the budget."""
