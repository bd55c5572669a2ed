"""Shaped reports: mechanisms of least variance within limits on their leakage."""
