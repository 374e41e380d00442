"""K-means whose centers give nobody away, of arrays and of protected tables."""
