"""The Dependency Triad beside the bound: how far above it is, and what each costs."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import seepage as sp
from benchmarks import Figure, best_of, seconds
from seepage.benchmarks.analyser_registry import analyser_of_name
from seepage.benchmarks.baselines import triad, triad_leakage

DATASETS = ("adult",)
EPSILONS = (1.0, 3.0)
CHANNELS = 360
SIZE = 64
BUDGETS = np.linspace(0.1, 5, 50)


def main() -> list[Figure]:
    """Measure tightness on the bundled tables and on random channels, then times."""
    return [*_tables(), *_random_channels(), *_times()]


def _tables() -> Iterator[Figure]:
    """Yield the mean over all ordered pairs, beside that of the bound."""
    for name in DATASETS:
        pairs = sp.load_pairs(name)
        others = ~np.eye(len(pairs.domain), dtype=bool)
        for epsilon in EPSILONS:
            budgets = np.full(len(pairs.domain), epsilon)
            leakages = analyser_of_name("triad").leakages(pairs, budgets)[others]
            bound = sp.leakage_matrix(pairs, epsilon).values[others]
            yield _excess(
                f"{name}, {others.sum()} pairs, eps {epsilon:g}", leakages, bound
            )


def _random_channels() -> Iterator[Figure]:
    """Yield the same for dense random channels with 2 to 9 values."""
    rng = np.random.default_rng(1)
    channels = [
        rng.dirichlet(np.ones(t), size=m)
        for m, t in rng.integers(2, 10, size=(CHANNELS, 2))
    ]
    for epsilon in EPSILONS:
        leakages = np.array([triad_leakage(*triad(G), epsilon) for G in channels])
        bound = np.array([sp.leakage_bound(G, epsilon).value for G in channels])
        yield _excess(
            f"{CHANNELS} dense random channels, eps {epsilon:g}", leakages, bound
        )


def _excess(what: str, leakages: np.ndarray, bound: np.ndarray) -> Figure:
    excess = leakages - bound
    assert excess.min() > -1e-9, "the triad is never below the bound"
    return Figure(
        f"Triad: mean leakage, {what}",
        f"{leakages.mean():.3f}",
        f"bound {bound.mean():.3f}",
        f"excess: median {np.median(excess):.3f}, largest {excess.max():.3f}",
    )


def _times() -> Iterator[Figure]:
    """Yield the time of one pair at one budget and at fifty, for 64 x 64 values."""
    channel = np.random.default_rng(1).dirichlet(np.ones(SIZE), SIZE)
    taken = best_of(
        {
            "triad": lambda: triad_leakage(*triad(channel), 1.0),
            "bound": partial(sp.leakage_bound, channel, 1.0),
            "triads": lambda: _triads(channel),
            "curve": partial(sp.leakage_curve, channel, BUDGETS),
        },
        repeats=20,
    )
    for what, ours, peer in (
        ("one budget", "triad", "bound"),
        ("50 budgets", "triads", "curve"),
    ):
        yield Figure(
            f"Triad: one pair of {SIZE} x {SIZE} values, {what}",
            seconds(taken[ours]),
            f"{peer} {seconds(taken[peer])}",
            f"{taken[ours] / taken[peer]:.2f} x",
        )


def _triads(channel: np.ndarray) -> list[float]:
    three = triad(channel)
    return [triad_leakage(*three, float(budget)) for budget in BUDGETS]
