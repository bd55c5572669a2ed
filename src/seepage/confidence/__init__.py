"""Confidence limits of proportions, means, leakages and totals."""
