"""The same counting pass on a Spark cluster."""
