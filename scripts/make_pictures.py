"""Draw the pictures of the documentation from the bundled Adult counts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import seepage as sp

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"

EPSILONS = np.linspace(0.0, 8.0, 81).tolist()


def matrix(pairs: sp.PairCounts) -> Any:
    """Return the heat map of all leakages at epsilon 1."""
    return sp.leakage_matrix(pairs, epsilon=1.0).chart()


def curve(pairs: sp.PairCounts) -> Any:
    """Return the leakage of relationship about sex against epsilon."""
    return sp.leakage_curve(pairs.channel("sex", "relationship"), EPSILONS).chart()


def analysers(pairs: sp.PairCounts) -> Any:
    """Return undershoot against overshoot of every analyser."""
    return sp.benchmark_analysers({"adult": pairs}, [1.0]).chart()


def mechanisms(pairs: sp.PairCounts) -> Any:
    """Return utility against leakage of every mechanism."""
    return sp.benchmark_mechanisms(pairs, [1.0, 3.0]).chart()


CHARTS: dict[str, Callable[[sp.PairCounts], Any]] = {
    "matrix.svg": matrix,
    "curve.svg": curve,
    "analysers.svg": analysers,
    "mechanisms.svg": mechanisms,
}


def make_pictures(folder: Path) -> None:
    """Write every picture, and the report page of Adult, into a folder."""
    pairs = sp.load_pairs("adult")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in CHARTS.items():
        sp.save_chart(draw(pairs), folder / name)
    command = "seepage analyse adult --epsilon 1 --limit 5 --report adult.html"
    sp.analyse("adult", 1.0, limit=5.0, command=command).report(folder / "adult.html")


if __name__ == "__main__":
    make_pictures(PICTURES)
