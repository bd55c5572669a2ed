"""Domains, correlation channels, pair counts and distinct records of a table."""
