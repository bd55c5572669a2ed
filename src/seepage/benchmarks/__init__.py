"""The paper's benchmarks: analysers, mechanisms, baselines, correlation."""
