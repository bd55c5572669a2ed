"""Forms within limits: the attributes asked together, their budgets, and the shares of forms."""
