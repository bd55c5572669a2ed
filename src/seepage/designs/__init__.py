"""From limits to a collection: budgets that keep a limit, strategies beside them, the audit."""
