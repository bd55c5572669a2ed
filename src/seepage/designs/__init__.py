"""Designs: the collection of least error within limits."""
