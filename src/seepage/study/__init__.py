"""The paper as an object of study: estimation, baselines, benchmarks, the reproduction."""
