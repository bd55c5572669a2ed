"""From limits to a collection: budgets, forms and shaped reports within limits, and an audit."""
