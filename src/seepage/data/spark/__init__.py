"""Counting with Spark: the same kernel on executors, the same integers."""
