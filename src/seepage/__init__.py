"""Privacy leakage through correlated attributes under local differential privacy."""
