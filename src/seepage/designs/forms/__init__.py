"""Forms that keep their limits: who is asked what together, and how many get which form."""
