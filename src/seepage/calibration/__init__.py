"""The largest budgets whose totals are within limits."""
