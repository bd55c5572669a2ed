"""Charts of results, made from plain rows."""
