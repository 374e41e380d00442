"""The service over HTTP: its interface for programs, and its pages."""
