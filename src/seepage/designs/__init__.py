"""From limits to a collection: budgets, forms and shaped reports that keep them, and an audit."""
