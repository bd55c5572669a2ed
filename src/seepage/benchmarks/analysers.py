"""Analysers of leakage by name, and the reference that they are scored against."""

from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.registry import Registry
from seepage.benchmarks.baselines import (
    Analyser,
    PublishedMethod,
    covariance_based,
    dependency_graph,
    dependency_triad,
    own_leakages,
    split_budgets,
)
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.mechanism_registry import MECHANISMS


def register_analyser(found: Analyser, *, replace: bool = False) -> Analyser:
    """Register an analyser under its name, which is case-insensitive and new or
    replaced.

    Examples
    --------
    >>> from seepage.benchmarks.baselines import PublishedMethod
    >>> from seepage.benchmarks.baselines import split_budgets
    >>> register_analyser(PublishedMethod("SPL-ANL", split_budgets))
    Traceback (most recent call last):
        ...
    seepage.InputError: an analyser named 'SPL-ANL' is registered already
    (replace=True ...
    """
    [checked] = as_analysers([found])
    return ANALYSERS.add(checked.name, checked, replace=replace)


ANALYSERS: Registry[Analyser] = Registry(
    "analyser", "seepage.analysers", register_analyser
)
"""Analysers of leakage by name."""


def as_analysers(chosen: Any) -> list[Analyser]:
    """Return analysers given by name or as objects; all registered ones for None."""
    if chosen is None:
        return list(ANALYSERS.values())
    given = checks.items(chosen, "chosen")
    objects = [analyser(item) if isinstance(item, str) else item for item in given]
    for item in objects:
        if isinstance(item, type) or not isinstance(item, Analyser):
            raise checks.violation("analyser", "a name or an Analyser", item)
    return objects


def analyser(name: str, parameter: str = "analyser") -> Analyser:
    """Return an analyser by name; `parameter` is the subject of the message for an
    unknown one.

    A registered name; `grf T`, the dependency graph with threshold T; `MECHANISM` or
    `MECHANISM:inferred`, the leakage of a registered mechanism in either view.

    Examples
    --------
    >>> analyser("grf 0.3").name, analyser("oue:inferred").name
    ('GRF 0.3', 'oue:inferred')
    """
    key = checks.text(name, parameter).casefold()
    if key in ANALYSERS:
        return ANALYSERS[key]
    if key.startswith("grf "):
        try:
            return dependency_graph(
                checks.probability(float(key[4:]), "the GRF threshold")
            )
        except ValueError:
            raise InputError(
                f"the GRF threshold must be from 0 to 1, got {name!r}"
            ) from None
    mechanism, _, view = key.partition(":")
    if mechanism in MECHANISMS and view in ("", "report", "inferred"):
        return own_leakages(
            name, mechanism, "inferred" if view == "inferred" else "report"
        )
    options = [*ANALYSERS, "grf THRESHOLD", *MECHANISMS]
    known = f"{parameter} must be one of {', '.join(options)}, got {name!r}"
    raise InputError(
        known, ANALYSERS.unusable, MECHANISMS.unusable, parameter=parameter
    )


def analyse_with(chosen: Analyser, pairs: PairCounts, epsilons: Floats) -> Floats:
    """Return an analyser's matrix; raise an InputError for a wrong shape, NaN or
    negatives.

    The diagonal is 0, whatever the analyser says there.
    """
    values = np.array(chosen.leakages(pairs, epsilons), dtype=np.float64)
    count = len(pairs.domain)
    if values.shape != (count, count):
        raise InputError(
            f"analyser {chosen.name!r} must return a {count} x {count} matrix, "
            f"got shape {values.shape}"
        )
    np.fill_diagonal(values, 0.0)
    if np.isnan(values).any():
        raise InputError(f"analyser {chosen.name!r} must return numbers, got NaN")
    if (values < 0).any():
        raise InputError(
            f"analyser {chosen.name!r} must return leakages of at least 0, got {values.min():g}"
        )
    return values


def reference_leakages(
    reference: Any, pairs: PairCounts, epsilon: float, rng: int, delta: Any = 0.0
) -> Floats:
    """Return the reference leakages of a benchmark, see `benchmark_analysers`."""
    kind, _, name = (
        reference.partition(":") if isinstance(reference, str) else ("", "", "")
    )
    if not kind or (kind in MECHANISMS and MECHANISMS[kind].approximate):
        view: Any = name or "report"
        how = kind or reference
        return leakage_matrix(
            pairs, epsilon, mechanism=how, delta=delta, view=view
        ).values
    if kind == "statistical":
        from seepage.benchmarks.statistical.estimate_leakage import estimate_leakage

        drawn: dict[str, Any] = {"surrogates": 0, "rng": rng}
        return estimate_leakage(
            pairs, epsilon, mechanism=name, delta=delta, **drawn
        ).plug_in
    chosen = analyser("Algorithm 2" if reference == "bound" else reference, "reference")
    return analyse_with(chosen, pairs, np.full(len(pairs.domain), epsilon))


for _analyser in (
    PublishedMethod("SPL-ANL", split_budgets),
    dependency_graph(0.2),
    dependency_graph(0.4),
    own_leakages("ITS", "grr"),
    PublishedMethod("CBP", covariance_based),
    own_leakages("GRR-ANL", "grr"),
    own_leakages("EXP-ANL", "exp"),
    PublishedMethod("Triad", dependency_triad),
    own_leakages("LTM"),
    own_leakages("Algorithm 2"),
):
    register_analyser(_analyser)
