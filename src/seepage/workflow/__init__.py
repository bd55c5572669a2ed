"""From limits to a plan: `calibrate`, `design` and their comparison by limit."""
