"""The paper's statistical method: leakage from a simulated collection."""
