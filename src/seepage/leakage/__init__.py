"""Leakage: exact, bounded, as a curve, and as the matrix of a whole table."""
