"""Running a plan: perturb records, read reports, estimate from them."""
