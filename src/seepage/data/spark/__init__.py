"""Counting with Spark: the same kernel on the executors, the same integer counts."""
