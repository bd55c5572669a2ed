"""Baselines: published methods to quantify leakage, as analysers, and ours.

An analyser takes pair counts and one epsilon per attribute, and returns a leakage
matrix: rows targets, columns sources.  `register_analyser` adds one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import DomainError
from seepage._core.log_ratios import log_ratio
from seepage.benchmarks.correlation import correlation_matrix
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.release import View


@runtime_checkable
class Analyser(Protocol):
    """Computes the leakage of every ordered pair of attributes from pair counts."""

    @property
    def name(self) -> str:
        """The name of an analyser in tables and charts."""

    def leakages(self, pairs: PairCounts, epsilons: Floats, /) -> Floats:
        """Return an analyser's leakage of each source (column) about each target
        (row).
        """


@dataclass(frozen=True)
class PublishedMethod:
    """An analyser whose leakages are those of a function."""

    name: str
    leakages: Callable[[PairCounts, Floats], Floats]


def split_budgets(pairs: PairCounts, epsilons: Floats) -> Floats:
    """SPL-ANL, a baseline: the leakage of a pair is the source's epsilon, as under
    perfect correlation.

    [paper, section V-A: its interpretation of budget splitting]
    """
    return np.tile(epsilons, (len(epsilons), 1))


def dependency_graph(threshold: float) -> PublishedMethod:
    """GRF, a baseline: the source's epsilon for two attributes in one connected
    component, else 0.

    An edge joins two attributes with |PCC| at or above the threshold.
    """

    def leakages(pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return the leakages by this baseline's dependency graph."""
        from scipy.sparse.csgraph import connected_components

        adjacency = np.abs(correlation_matrix(pairs, "pcc").values) >= threshold
        component = connected_components(adjacency, directed=False)[1]
        return np.where(
            component[:, None] == component[None, :], epsilons[None, :], 0.0
        )

    return PublishedMethod(f"GRF {threshold:g}", leakages)


def covariance_based(pairs: PairCounts, epsilons: Floats) -> Floats:
    """CBP, a baseline for binary attributes only: our reconstruction, the original is
    not available to us.

    r = |Cov| / max(Var_i, Var_j),  CPL = ln (e^eps (1+r) + 1-r) / (e^eps (1-r) + 1+r).
    It agrees with all that the paper states: covariance-based, symmetric, never above
    the leakage of GRR.
    """
    for attribute in pairs.domain:
        if attribute.size > 2:
            raise DomainError(
                f"CBP is defined for binary attributes only, and {attribute.name!r} "
                f"has {attribute.size} values; leave it out or choose another analyser"
            )
    share = np.array([part[-1] / part.sum() for part in pairs.marginals])
    variance = share * (1 - share)
    deviations = np.sqrt(np.outer(variance, variance))
    covariance = np.abs(correlation_matrix(pairs, "pcc").values) * deviations
    largest = np.maximum.outer(variance, variance)
    r = np.divide(covariance, largest, out=np.zeros_like(largest), where=largest > 0)
    weight = np.exp(-epsilons)[None, :]
    high = 1 + r + weight * (1 - r)
    low = 1 - r + weight * (1 + r)
    return np.asarray(np.log(high / low))


def own_leakages(
    name: str, mechanism: str | None = None, view: View = "report"
) -> PublishedMethod:
    """Return the analyser of a mechanism's own leakage, or of the bound over all
    mechanisms, by `leakage_matrix`.

    Parameters
    ----------
    name
        The name in tables and charts.
    mechanism
        A registered mechanism; None for the paper's Algorithm 2.  LTM, the algorithm of
        Cao et al. 2017 for temporal correlations, maximises the same ratio at delta =
        0, so it is this too.
    view
        What the adversary keeps: the whole `"report"` or the value `"inferred"` from
        it.
    """

    def leakages(pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return the leakages by `leakage_matrix`, beside the baselines."""
        return leakage_matrix(pairs, epsilons, mechanism=mechanism, view=view).values

    return PublishedMethod(name, leakages)


def dependency_triad(pairs: PairCounts, epsilons: Floats) -> Floats:
    """Dependency Triad, a baseline: an upper bound from three parameters of each pair,
    as we reconstruct it.

    Never below the bound over all mechanisms, which it equals for two source values (up
    to rounding).

    Notes
    -----
    Reconstructed from the formulas in the authors' artifact of 2026
    (dependency-triad-ccs26); the text is not available to us.  Maxima over all pairs of
    target values x, x', each separately:

    * e^alpha = max of G[x, u] / G[x', u] over the u possible under both;
    * delta = max of the mass under x of the u impossible under x';
    * phi = max of the total variation distance of the two rows.

    Every set S then has A <= e^alpha B + delta and A - B <= phi, with A and B its mass
    under x and x', so that (1 + lambda A) / (1 + lambda B) is at most its value at the
    corner of the two lines,

        B = (phi - delta) / (e^alpha - 1),  A = e^alpha B + delta = B + phi,

    or at B = 0, A = delta if it decreases along the first line:
    e^alpha - 1 < delta lambda.  The artifact writes B with a fourth number beta,

        e^beta = ((1-delta) e^alpha - 1 - phi + 2 delta) / ((1-phi) e^alpha - 1 +
        delta),

    as (e^beta - 1)(1 - delta) / (e^(alpha+beta) - 1): the same number.  With a zero
    cell it yields NaN; here such cells enter delta only and alpha is finite.  For
    alpha = 0 the limit phi = delta, B = 0 is taken.
    """
    values = np.zeros((len(pairs.domain), len(pairs.domain)))
    for targets, sources, stack in leakage_matrix(pairs, epsilons).channel_stacks():
        for target, source, channel in zip(targets, sources, stack, strict=True):
            alpha, delta, phi = triad(channel)
            epsilon = float(epsilons[source])
            values[target, source] = triad_leakage(alpha, delta, phi, epsilon)
    return values


def triad(channel: Floats) -> tuple[float, float, float]:
    """Return the numbers of a baseline, the Dependency Triad: alpha, delta and phi of
    a channel G = P(source given target).

    Notes
    -----
    O(m^2 t) for m target and t source values.

    Examples
    --------
    >>> alpha, delta, phi = triad(np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]))
    >>> round(float(np.exp(alpha)), 6), delta, phi
    (2.0, 0.25, 0.25)
    """
    highest = channel.max(axis=0)
    lowest = np.where(channel > 0, channel, np.inf).min(axis=0)
    possible = highest > 0
    alpha = float(np.log(highest[possible] / lowest[possible]).max())
    delta = float((channel @ (channel == 0).astype(np.float64).T).max())
    phi = max(
        float(np.maximum(row - channel, 0.0).sum(axis=1).max()) for row in channel
    )
    return alpha, min(delta, phi), min(phi, 1.0)


def triad_leakage(alpha: float, delta: float, phi: float, epsilon: float) -> float:
    """Return the Dependency Triad's upper bound on the leakage from alpha, delta and
    phi, at most epsilon.

    Examples
    --------
    >>> round(triad_leakage(np.log(2), 0.0, 0.25, 1.0), 4)
    0.2627
    """
    growth = np.expm1(alpha)
    decreasing = growth * np.exp(-epsilon) < -delta * np.expm1(-epsilon)
    if decreasing:
        mass = 0.0
        gap = delta
    else:
        mass = 0.0 if growth == 0 else (phi - delta) / growth
        gap = phi
    return min(float(log_ratio(gap, mass, epsilon)), epsilon)
