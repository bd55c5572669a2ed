"""Forms: which questions are asked together, and of what share of the people."""
