"""The real datasets, and a synthetic survey."""
