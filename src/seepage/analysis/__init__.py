"""Leakage matrix and totals of a table as one object, with a verdict."""
