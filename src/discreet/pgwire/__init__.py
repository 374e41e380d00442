"""The service over PostgreSQL's protocol."""
