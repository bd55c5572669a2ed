"""The two benchmarks: analysers of leakage, and mechanisms."""

from seepage.benchmark.analysers import AnalyserBenchmark, AnalyserScore, benchmark_analysers
from seepage.benchmark.mechanisms import MechanismBenchmark, MechanismScore, benchmark_mechanisms

__all__ = [
    "AnalyserBenchmark",
    "AnalyserScore",
    "MechanismBenchmark",
    "MechanismScore",
    "benchmark_analysers",
    "benchmark_mechanisms",
]
