"""Published ways to quantify leakage, and ours, behind one protocol.

An analyser takes pair counts and one epsilon for each attribute, and returns a leakage matrix:
rows targets, columns sources, 0 on the diagonal.  Adding one is a class and a line in the registry.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._registry import ANALYSERS, MECHANISMS
from seepage.data.pairs import PairCounts
from seepage.errors import DomainError, InputError
from seepage.leakage.matrix import leakage_matrix
from seepage.leakage.release import View
from seepage.study.correlation import correlation_matrix
from seepage.study.dependency_triad import DependencyTriad


@runtime_checkable
class Analyser(Protocol):
    """Something that estimates every leakage of a table from its pair counts."""

    @property
    def name(self) -> str:
        """The name in tables and charts."""

    def leakages(self, pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return the leakage of each source (column) about each target (row)."""


@dataclass(frozen=True)
class SplitBudgets:
    """SPL-ANL: every pair's leakage is the source's epsilon, as under perfect correlation.

    [paper, section V-A: its reading of budget splitting]
    """

    name: str = "SPL-ANL"

    def leakages(self, pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return epsilon everywhere but on the diagonal."""
        return _off_diagonal(np.broadcast_to(epsilons, (len(epsilons), len(epsilons))))


@dataclass(frozen=True)
class DependencyGraph:
    """GRF: the source's epsilon for two attributes in one connected component, else 0.

    An edge joins two attributes with |PCC| at or above the threshold.
    """

    threshold: float

    @property
    def name(self) -> str:
        """The name with its threshold, such as GRF 0.2."""
        return f"GRF {self.threshold:g}"

    def leakages(self, pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return epsilon within each component."""
        from scipy.sparse.csgraph import connected_components

        linked = np.abs(correlation_matrix(pairs, "pcc").values) >= self.threshold
        component = connected_components(linked, directed=False)[1]
        together = component[:, None] == component[None, :]
        return _off_diagonal(np.where(together, epsilons[None, :], 0.0))


@dataclass(frozen=True)
class CovarianceBased:
    """CBP, for binary attributes only: our reading of a text that is not at hand.

    r = |Cov| / max(Var_i, Var_j),  CPL = ln (e^eps (1+r) + 1-r) / (e^eps (1-r) + 1+r).
    It fits all that the paper says of it: covariance-based, symmetric, never above the leakage of
    GRR.
    """

    name: str = "CBP"

    def leakages(self, pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return the covariance-based leakage of each pair."""
        large = [attribute.name for attribute in pairs.domain if attribute.size > 2]
        if large:
            raise DomainError(
                f"CBP is defined for binary attributes only, and {large[0]!r} has "
                f"{pairs.domain[large[0]].size} values; leave it out or choose another analyser"
            )
        share = np.array([part[-1] / part.sum() for part in pairs.marginals])
        variance = share * (1 - share)
        spread = np.sqrt(np.outer(variance, variance))
        covariance = np.abs(correlation_matrix(pairs, "pcc").values) * spread
        largest = np.maximum.outer(variance, variance)
        ratio = np.divide(covariance, largest, out=np.zeros_like(largest), where=largest > 0)
        weight = np.exp(-epsilons)[None, :]
        high, low = 1 + ratio + weight * (1 - ratio), 1 - ratio + weight * (1 + ratio)
        return _off_diagonal(np.log(high / low))


@dataclass(frozen=True)
class Leakages:
    """A mechanism's own leakage, or the bound over all mechanisms, by `leakage_matrix`.

    Parameters
    ----------
    name
        The name in tables and charts.
    mechanism
        A registered mechanism; None for the paper's Algorithm 2.
    view
        What the adversary keeps: the whole `"report"` or the value `"inferred"` from it.
    """

    name: str
    mechanism: str | None = None
    view: View = "report"

    def leakages(self, pairs: PairCounts, epsilons: Floats) -> Floats:
        """Return the values of the leakage matrix."""
        return leakage_matrix(pairs, epsilons, mechanism=self.mechanism, view=self.view).values


def register_analyser(found: Analyser) -> Analyser:
    """Add an analyser under its name, whatever its capitals; a name is taken only once.

    Examples
    --------
    >>> register_analyser(SplitBudgets())
    Traceback (most recent call last):
        ...
    seepage.errors.InputError: an analyser named 'SPL-ANL' is registered already
    """
    check_analyser(found)
    return ANALYSERS.add(found.name, found)


def check_analyser(found: object) -> None:
    """Raise an InputError for what has not the name and the method of an analyser."""
    if isinstance(found, type) or not isinstance(found, Analyser):
        raise InputError(f"analyser must be a name or an Analyser, got {_checks.shown(found)}")


def analysers() -> dict[str, Analyser]:
    """Return the registered analysers by name in lower case."""
    return dict(ANALYSERS)


def analyser(name: str) -> Analyser:
    """Return a registered analyser, or one made by its name.

    `grf T` is the dependency graph at any threshold T; `MECHANISM` and `MECHANISM:inferred` are a
    registered mechanism's leakage in either view.

    Examples
    --------
    >>> analyser("grf 0.3").name, analyser("oue:inferred").view
    ('GRF 0.3', 'inferred')
    """
    key = _checks.text(name, "analyser").casefold()
    if key in ANALYSERS:
        return ANALYSERS[key]
    if key.startswith("grf "):
        try:
            return DependencyGraph(_checks.probability(float(key[4:]), "the GRF threshold"))
        except ValueError:
            raise InputError(f"the GRF threshold must be from 0 to 1, got {name!r}") from None
    mechanism, _, view = key.partition(":")
    if mechanism in MECHANISMS and view in ("", "report", "inferred"):
        return Leakages(name, mechanism, "inferred" if view == "inferred" else "report")
    options = [*ANALYSERS, "grf THRESHOLD", *MECHANISMS]
    raise InputError(f"analyser must be one of {', '.join(options)}, got {name!r}")


def analyse_with(chosen: Analyser, pairs: PairCounts, epsilons: Floats) -> Floats:
    """Return an analyser's matrix, or raise an InputError that names it.

    The shape is one row and column per attribute, and no entry is NaN or negative.
    """
    values = np.asarray(chosen.leakages(pairs, epsilons), dtype=np.float64)
    count = len(pairs.domain)
    if values.shape != (count, count):
        raise InputError(
            f"analyser {chosen.name!r} must return a {count} x {count} matrix, "
            f"got shape {values.shape}"
        )
    if np.isnan(values).any():
        raise InputError(f"analyser {chosen.name!r} must return numbers, got NaN")
    if (values < 0).any():
        raise InputError(
            f"analyser {chosen.name!r} must return leakages of at least 0, got {values.min():g}"
        )
    return values


def _off_diagonal(values: Floats) -> Floats:
    result = np.array(values, dtype=np.float64)
    np.fill_diagonal(result, 0.0)
    return result


for _analyser in (
    SplitBudgets(),
    DependencyGraph(0.2),
    DependencyGraph(0.4),
    Leakages("ITS", "grr"),
    CovarianceBased(),
    Leakages("GRR-ANL", "grr"),
    Leakages("EXP-ANL", "exp"),
    DependencyTriad(),
    Leakages("Algorithm 2"),
):
    register_analyser(_analyser)
