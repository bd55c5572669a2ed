"""The reference leakages that analysers are scored against."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.benchmarks.analyser_registry import analyse_with, analyser_of_name
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.mechanism_registry import MECHANISMS


@dataclass(frozen=True, eq=False)
class ReferenceLeakages:
    """The leakages that analysers are compared with, and their deltas.

    Parameters
    ----------
    values, deltas
        Rows are targets, columns sources.
    """

    values: Floats
    deltas: Floats


def reference_leakages(
    reference: Any, pairs: PairCounts, epsilon: float, rng: int, delta: Any = 0.0
) -> ReferenceLeakages:
    """Return the reference leakages that analysers are scored against, see
    `benchmark_analysers`.
    """
    if not isinstance(reference, str) or reference == "":
        return _leakages_of_mechanism(pairs, epsilon, reference, delta, "report")
    if reference in ("bound", "Algorithm 2"):
        return _leakages_of_mechanism(pairs, epsilon, None, delta, "report")
    kind, _, name = reference.partition(":")
    if kind in MECHANISMS:
        return _leakages_of_mechanism(pairs, epsilon, kind, delta, name or "report")
    if kind == "statistical":
        from seepage.benchmarks.statistical.estimate_leakage import estimate_leakage

        estimates = estimate_leakage(
            pairs, epsilon, mechanism=name, delta=delta, surrogates=0, rng=rng
        )
        return ReferenceLeakages(estimates.plug_in, np.zeros_like(estimates.plug_in))
    analyser = analyser_of_name(reference, "reference")
    if delta:
        raise InputError(
            f"delta {delta:g} is not used by the reference {reference!r}",
            parameter="delta",
        )
    values = analyse_with(analyser, pairs, np.full(len(pairs.domain), epsilon))
    return ReferenceLeakages(values, np.zeros_like(values))


def _leakages_of_mechanism(
    pairs: PairCounts, epsilon: float, mechanism: Any, delta: Any, view: Any
) -> ReferenceLeakages:
    """Return the reference leakages of one mechanism, or the bound over all, at this
    delta.
    """
    matrix = leakage_matrix(pairs, epsilon, mechanism=mechanism, delta=delta, view=view)
    return ReferenceLeakages(matrix.values, matrix.deltas)
