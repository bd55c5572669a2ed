"""Mechanisms of local differential privacy, one family per file."""
