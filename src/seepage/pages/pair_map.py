"""The map of an analysis: what each answer tells about each other question, at the
analysed noise and at other amounts of it, with the pictures of all shown pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.odds import measured_odds
from seepage.analysis.budget_grid import leakage_grid
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.pair_leak import Leak
from seepage.leakage.strongest_leaks import witness_records
from seepage.pages.analysis_view import leak_picture

MAX_QUESTIONS = 16
"""Maximum number of questions in the map."""

STEPS = (0.14, 0.3, 0.5, 0.72, 0.92)
"""Leakages, as shares of the largest epsilon, at which the colour of a cell changes."""


@dataclass(frozen=True, kw_only=True)
class MapCell:
    """One cell: its odds with one decimal, and its colour as a number from 0."""

    text: str
    step: int


@dataclass(frozen=True, kw_only=True)
class MapRow:
    """The row of a question: a cell for each question that is asked; None for
    itself.
    """

    name: str
    cells: tuple[MapCell | None, ...]


@dataclass(frozen=True, kw_only=True)
class PairMap:
    """The map of what each answer tells about each other question.

    Parameters
    ----------
    names
        The questions, in an order that puts related ones side by side.
    rows
        What is told about each question.
    legend
        The odds at which each colour begins, in words.
    pair
        The pair that is shown first: indices of what is told about, and of the answer.
    content
        What the script reads: names, cells and odds by amount of noise, and pictures
        by pair.
    least
        Minimum number of people who give an answer that is compared.
    further
        The number of questions that are not in the map.
    """

    names: tuple[str, ...]
    rows: tuple[MapRow, ...]
    legend: tuple[str, ...]
    pair: tuple[int, int]
    content: dict[str, Any]
    least: int
    further: int


def pair_map(matrix: LeakageMatrix, strongest: Sequence[Leak] = ()) -> PairMap | None:
    """Return the map of a leakage matrix; None for a single question.

    Parameters
    ----------
    matrix
        The leakages.
    strongest
        The strongest leaks, of which the first is the pair that is shown first.

    Notes
    -----
    Of many questions those with the strongest leaks are shown.  Leakages are among
    answers with enough people, as in the ranking of leaks.

    Examples
    --------
    >>> import seepage as sp
    >>> pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> found = pair_map(sp.leakage_matrix(pairs, 1.0, mechanism="grr"))
    >>> found.names[found.pair[1]], found.names[found.pair[0]]
    ('sex', 'income')
    """
    if len(matrix.domain) < 2:
        return None
    part = _strongest_part(matrix)
    least = witness_records(matrix.pairs)
    grid = leakage_grid(part)
    levels = [_leakages(level, least) for level in grid]
    analysed = next(at for at, level in enumerate(grid) if level is part)
    values = levels[analysed]
    names = part.domain.names
    stops = [_stop(level, shown) for level, shown in zip(grid, levels, strict=True)]
    cells = stops[analysed]["cells"]
    number = len(names)
    return PairMap(
        names=names,
        rows=tuple(
            MapRow(
                name=name,
                cells=tuple(
                    None
                    if column == row
                    else MapCell(
                        text=cells[row * number + column][0],
                        step=cells[row * number + column][1],
                    )
                    for column in range(number)
                ),
            )
            for row, name in enumerate(names)
        ),
        legend=tuple(stops[analysed]["legend"]),
        pair=_first_pair(names, values, strongest),
        content={
            "names": names,
            "analysed": analysed,
            "stops": stops,
            "pairs": _pictures(part, least),
        },
        least=least,
        further=len(matrix.domain) - number,
    )


def _strongest_part(matrix: LeakageMatrix) -> LeakageMatrix:
    """Return the part of the matrix that the map of pairs shows: the questions with the
    strongest leaks, related ones side by side.
    """
    strengths = matrix.values
    if not matrix.pairs.pooled:
        strengths = matrix.interval().lower
    order = matrix.related_order()
    if len(order) > MAX_QUESTIONS:
        strongest = np.maximum(strengths.max(axis=0), strengths.max(axis=1))
        kept = set(np.argsort(-strongest, kind="stable")[:MAX_QUESTIONS].tolist())
        order = [index for index in order if index in kept]
    names = [matrix.domain.names[index] for index in order]
    released = [matrix.releases[index] for index in order]
    pairs = matrix.pairs.select(names)
    return LeakageMatrix(pairs, released, matrix.view, matrix.smoothing)


def _leakages(matrix: LeakageMatrix, least: int) -> Floats:
    """Return the leakages for the map of pairs among answers with enough people: rows
    are told about.
    """
    names = matrix.domain.names
    return np.array(
        [
            [
                0.0
                if source == target
                else matrix.leak_among(target, source, least).value
                for source in names
            ]
            for target in names
        ]
    )


def _stop(matrix: LeakageMatrix, values: Floats) -> dict[str, Any]:
    """Return what the script of the map of pairs shows at one amount of noise, row by
    row.
    """
    largest = float(matrix.epsilons.max())
    edges = [share * largest for share in STEPS]
    return {
        "noise": measured_odds(largest),
        "legend": [f"{math.exp(min(700.0, edge)):.3g}" for edge in edges],
        "cells": [
            [_cell_text(value), sum(value >= edge for edge in edges if edge > 0)]
            for value in values.ravel().tolist()
        ],
        "odds": [measured_odds(value) for value in values.ravel().tolist()],
    }


def _cell_text(value: float) -> str:
    """Return odds as they stand in a cell of the map of pairs: one decimal below 10, to
    nearest.
    """
    if value > math.log(9999):
        return "∞" if math.isinf(value) else "10⁴"
    odds = math.exp(value)
    if odds < 9.95:
        return f"{odds:.1f}"
    return f"{odds:.0f}"


def _first_pair(
    names: Sequence[str], values: Floats, strongest: Sequence[Leak]
) -> tuple[int, int]:
    """Return the pair that the map shows first: that of the strongest leak, else with
    the largest leakage.
    """
    for leak in strongest:
        if leak.target in names and leak.source in names:
            return names.index(leak.target), names.index(leak.source)
    if not values.any():
        return 0, 1
    target, source = divmod(int(values.argmax()), len(values))
    return target, source


def _pictures(matrix: LeakageMatrix, least: int) -> dict[int, list[Any]]:
    """Return for the map the sentence and the two kinds of people of each pair that
    leaks.
    """
    names: Sequence[str] = matrix.domain.names
    pictures = dict[int, list[Any]]()
    for row, target in enumerate(names):
        for column, source in enumerate(names):
            if row == column:
                continue
            among = matrix.leak_among(target, source, least)
            picture = leak_picture(matrix, target, source, among)
            if picture is not None:
                kinds = [list(kind) for kind in picture.kinds]
                pictures[row * len(names) + column] = [picture.sentence, kinds]
    return pictures
