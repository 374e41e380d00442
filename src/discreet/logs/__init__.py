"""What many users searched, visited or bought, released as a log of the same columns; and what most of them like."""
