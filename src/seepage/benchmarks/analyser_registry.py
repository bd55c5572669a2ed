"""`ANALYSERS`: the analysers of leakage by name, and running one of them."""

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
from seepage.mechanisms.mechanism_registry import MECHANISMS


def register_analyser(analyser: Analyser, *, replace: bool = False) -> Analyser:
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
    [checked] = as_analysers([analyser])
    return ANALYSERS.add(checked.name, checked, replace=replace)


ANALYSERS: Registry[Analyser] = Registry(
    "analyser", "seepage.analysers", register_analyser
)
"""Analysers of leakage by name."""


def as_analysers(names_or_objects: Any) -> list[Analyser]:
    """Return analysers given by name or as objects; all registered ones for None."""
    if names_or_objects is None:
        return list(ANALYSERS.values())
    analysers = []
    for item in checks.items(names_or_objects, "analysers"):
        if isinstance(item, str):
            analysers.append(analyser_of_name(item))
        elif isinstance(item, type) or not isinstance(item, Analyser):
            raise checks.violation("analyser", "a name or an Analyser", item)
        else:
            analysers.append(item)
    return analysers


def analyser_of_name(name: str, parameter: str = "analyser") -> Analyser:
    """Return an analyser by name; `parameter` is the subject of the message for an
    unknown one.

    A registered name; `grf T`, the dependency graph with threshold T; `MECHANISM` or
    `MECHANISM:inferred`, the leakage of a registered mechanism in either view.

    Examples
    --------
    >>> analyser_of_name("grf 0.3").name, analyser_of_name("oue:inferred").name
    ('GRF 0.3', 'oue:inferred')
    """
    key = checks.text(name, parameter).casefold()
    if key in ANALYSERS:
        return ANALYSERS[key]
    if key.startswith("grf "):
        return dependency_graph(_graph_threshold(name, key.removeprefix("grf ")))
    mechanism, _, view = key.partition(":")
    if mechanism in MECHANISMS:
        if view == "inferred":
            return own_leakages(name, mechanism, "inferred")
        if view in ("", "report"):
            return own_leakages(name, mechanism, "report")
    options = [*ANALYSERS, "grf THRESHOLD", *MECHANISMS]
    known = f"{parameter} must be one of {', '.join(options)}, got {name!r}"
    raise InputError(
        known, ANALYSERS.unusable, MECHANISMS.unusable, parameter=parameter
    )


def _graph_threshold(name: str, threshold: str) -> float:
    """Return the threshold in the name of an analyser that is a dependency graph."""
    try:
        return checks.probability(float(threshold), "the GRF threshold")
    except ValueError:
        raise InputError(
            f"the GRF threshold must be from 0 to 1, got {name!r}"
        ) from None


def analyse_with(analyser: Analyser, pairs: PairCounts, epsilons: Floats) -> Floats:
    """Return an analyser's matrix; raise an InputError for a wrong shape, NaN or
    negatives.

    The diagonal is 0, whatever the analyser says there.
    """
    values = np.array(analyser.leakages(pairs, epsilons), dtype=np.float64)
    count = len(pairs.domain)
    if values.shape != (count, count):
        raise InputError(
            f"analyser {analyser.name!r} must return a {count} x {count} matrix, "
            f"got shape {values.shape}"
        )
    np.fill_diagonal(values, 0.0)
    if np.isnan(values).any():
        raise InputError(f"analyser {analyser.name!r} must return numbers, got NaN")
    if (values < 0).any():
        raise InputError(
            f"analyser {analyser.name!r} must return leakages of at least 0, "
            f"got {values.min():g}"
        )
    return values


PUBLISHED = (
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
)
"""The analysers of the paper, and the Dependency Triad."""

for _published in PUBLISHED:
    register_analyser(_published)
