"""The work of the third step: what each question gives away, on the explored part."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import seepage as sp
from seepage._core.progress import Progress
from seepage.app.explored_part import asked_answers, read_explored, write_explored
from seepage.app.summaries import AnalysisSummary, TotalRange
from seepage.pages.analysis_view import leak_pictures

EPSILON = 1.0
"""Budget of each question in the analysis: the odds change at most 2.7 times."""

FROM_PAIRS = ("worst", "independent")
"""Guarantees of the totals that need pairs of questions only."""

FROM_RECORDS = ("exact", "witness")
"""Further guarantees, for few questions."""

MAX_TOGETHER = 30
"""Maximum number of questions for guarantees from whole records."""

MAX_ANALYSED = 200
"""Maximum number of questions that are analysed; of more so many, evenly drawn."""

SAVED_ANALYSIS = "analysis.json"
"""Name of the file of the analysis in the folder of a study."""

ANALYSIS_PAGE = "analysis.html"
"""Name of the page of the analysis."""

COMMAND = "seepage open"
"""The command that the full page names."""

NEXT_STEP = "the step Plan of the app"
"""What keeps the limits, in the words of the verdict."""

LIMIT = "7.4x"
"""Limit of the verdict on the full page; the app judges at that of its slider."""


def analyse_part(
    data: str,
    used: Sequence[str],
    reading: Mapping[str, Any],
    folder: Path,
    *,
    progress: Progress,
) -> AnalysisSummary:
    """Work out the leaks of the explored part as if everybody were asked everything."""
    names = evenly_drawn(used, MAX_ANALYSED)
    fixed = asked_answers(data, names, reading)
    part = read_explored(data, fixed.domain.names, reading)
    path = write_explored(part, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        analysis = sp.analyse(
            path,
            epsilon=EPSILON,
            limit=LIMIT,
            guarantee=_guarantees(len(fixed.domain)),
            domain=fixed.domain,
            name=f"A random part of {part.table.num_rows:,} people",
            progress=progress,
        )
    analysis.save(folder / SAVED_ANALYSIS)
    totals = [
        TotalRange(
            name=judgement.attribute,
            lower=judgement.lower,
            upper=judgement.proof[0],
        )
        for judgement in analysis.verdict.judgements
    ]
    return AnalysisSummary(
        totals=tuple(sorted(totals, key=lambda total: -total.lower)),
        leaks=tuple(leak_pictures(analysis)),
        records=part.table.num_rows,
        questions=len(used),
    )


def evenly_drawn(names: Sequence[str], most: int) -> list[str]:
    """Return names at even distances, at most so many, whose leaks are worked out.

    Examples
    --------
    >>> evenly_drawn("abcdef", 3)
    ['a', 'c', 'e']
    """
    number = min(len(names), most)
    return [names[index * len(names) // number] for index in range(number)]


def _guarantees(questions: int) -> tuple[str, ...]:
    """Return the guarantees of the totals that the work on leaks computes: what may
    decide a limit, if it is quick.
    """
    if questions > MAX_TOGETHER:
        return FROM_PAIRS
    return (*FROM_PAIRS, *FROM_RECORDS)


def write_analysis_page(folder: Path, name: str, *, progress: Progress) -> str:
    """Write the full page of the leaks that were worked out; return its name.

    It names the app and the table, by its name in commands, where others name what was
    analysed: here a part, a file that the app removes.
    """
    progress(0, 1)
    analysis = sp.Analysis.load(folder / SAVED_ANALYSIS)
    shown = replace(analysis, command=COMMAND, table=(name,), design_step=NEXT_STEP)
    shown.report(folder / ANALYSIS_PAGE)
    return ANALYSIS_PAGE
