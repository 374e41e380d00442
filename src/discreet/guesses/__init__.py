"""What people write who know other libraries, and the line to write here."""
