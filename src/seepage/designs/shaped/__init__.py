"""Shaped reports: one report of least variance for all answers of a form."""
