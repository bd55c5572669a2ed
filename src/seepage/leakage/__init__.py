"""Leakage: exact, bounded, as a curve, and as the matrix of a whole table."""

from seepage.leakage.bound import LeakageCurve, epsilon_for_leakage, leakage_bound, leakage_curve
from seepage.leakage.intervals import LeakageIntervals
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.leakage.release import Release, exact_leakage, releases

__all__ = [
    "LeakageCurve",
    "LeakageIntervals",
    "LeakageMatrix",
    "Release",
    "epsilon_for_leakage",
    "exact_leakage",
    "leakage_bound",
    "leakage_curve",
    "leakage_matrix",
    "releases",
]
