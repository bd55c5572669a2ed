"""Leakage of all reports of a person together, by guarantee."""
