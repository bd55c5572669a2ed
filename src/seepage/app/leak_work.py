"""The work of the third step: what each question gives away, on the explored part."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import seepage as sp
from seepage._core.progress import Progress
from seepage.app.explored_part import asked_answers, read_explored, write_explored
from seepage.app.summaries import AnalysisSummary, LeakSentence, TotalRange

EPSILON = 1.0
"""Budget of each question in the analysis: the odds change at most 2.7 times."""

TOTAL_GUARANTEES = ("worst", "independent", "exact", "witness")
"""Guarantees of the totals: what may decide the limit."""

SHOWN_LEAKS = 5
"""Number of strongest leaks that are shown."""


def analyse_part(
    data: str,
    keywords: Mapping[str, Any],
    limit: str,
    folder: Path,
    *,
    progress: Progress,
) -> AnalysisSummary:
    """Analyse the part as if everybody were asked everything; write the full page."""
    names = list(keywords["columns"])
    fixed = asked_answers(data, names, keywords)
    part = read_explored(data, fixed.domain.names, keywords)
    path = write_explored(part, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        analysis = sp.analyse(
            path,
            epsilon=EPSILON,
            limit=limit,
            guarantee=TOTAL_GUARANTEES,
            domain=fixed.domain,
            name=f"A random part of {part.table.num_rows:,} people",
            progress=progress,
        )
    analysis.report(folder / "analysis.html")
    totals = [
        TotalRange(
            name=judgement.attribute,
            lower=judgement.lower,
            upper=judgement.proof[0],
        )
        for judgement in analysis.verdict.judgements
    ]
    leaks = [
        LeakSentence(leak.source, leak.target, leak.leakage, leak.sentence())
        for leak in analysis.leaks(SHOWN_LEAKS)
    ]
    return AnalysisSummary(
        totals=tuple(sorted(totals, key=lambda total: -total.lower)),
        leaks=tuple(leaks),
        records=part.table.num_rows,
    )
