"""Frames and files to columns of codes: sources, labels, bins, checks."""
