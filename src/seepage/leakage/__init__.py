"""Leakage of one report about one attribute: exact, bounded, by budget, by matrix."""
