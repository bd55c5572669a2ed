"""Shaped reports: the most precise noise within limits on what a report tells."""
