"""What the reports of a plan say, as one self-contained HTML page without scripts."""

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.files import write_text
from seepage._core.percent import percent_text
from seepage._core.text import rounded_people
from seepage.collection.estimated_table import Table
from seepage.collection.frequencies import Frequencies
from seepage.collection.report_files import open_reports
from seepage.pages.dot_rows import in_two_columns
from seepage.pages.plan_page import STYLES, long_date, plan_title
from seepage.pages.plan_view import promised_odds
from seepage.pages.render import render_page
from seepage.pages.results_view import (
    LeakRow,
    Wording,
    finding,
    precision_found,
    share_blocks,
    standings,
    together_view,
)
from seepage.plan.advice import is_estimated
from seepage.plan.plan_content import wanted_of
from seepage.plan.plan_precision import pairs_together, plan_precision
from seepage.plan.promises import answer_text, statements
from seepage.plan.report_vectors import informative_forms
from seepage.tables.codebooks import read_codebook
from seepage.workflow.plan import Plan

SHOWN_TABLES = 3
"""Number of tables of two questions on the page, unless the plan was designed for
some."""

MAX_ANSWERS = 8
"""Maximum number of answers of each question of such a table."""

MOST_ROWS = 24
"""Maximum number of shares that are drawn of all these tables."""

SHOWN_LEAKS = 12
"""Number of estimated leakages on the page, those with the largest lower limits."""


def write_results(
    plan: Plan,
    reports: Any,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    joint: Sequence[tuple[str, str]] | None = None,
    data: Any = None,
    consistent: bool = False,
    labels: str | os.PathLike[str] | None = None,
) -> Frequencies:
    """Write the results of a collection as one HTML page, whole or not at all; return
    frequencies.

    Parameters
    ----------
    plan
        The plan that the reports were collected with.
    reports
        The reports, see `Plan.estimate`.
    path
        The page.
    name
        What was collected, for the title.
    joint
        Pairs of attributes whose tables are shown; by default those the plan was
        designed for, or else three that most people are asked together.
    data
        A newer table of records, in which the plan's limits are checked, see
        `Plan.check`.
    consistent
        Project the frequencies of each attribute to the nearest distribution
        (non-negative, sum 1).  Intervals keep the widths of the unbiased estimates.
    labels
        A codebook with the texts of questions and answers, which then stand on the page
        in place of the names of columns and values.

    Notes
    -----
    Frequencies with intervals; the promise of the plan; its totals on `data`; and the
    leakage of single reports estimated from pairs of reports (`Plan.analyse`), where
    some are asked together.

    Examples
    --------
    >>> import tempfile, seepage as sp
    >>> people = sp.make_survey(2_000, rng=1).select(["coffee", "sleep"])
    >>> plan = sp.calibrate(people, 2.0, guarantee="worst")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sp.write_results(plan, plan.perturb(people), folder + "/results.html")
    Frequencies(2,000 reports, 2 attributes, unbiased)
    """
    checks.instance(plan, "plan", Plan, "a Plan")
    heading = plan_title(plan, name)
    source = open_reports(plan, reports)
    frequencies = plan.estimate(source, consistent=consistent)
    check = None if data is None else plan.check(data)
    wording = Wording({} if labels is None else read_codebook(labels))
    shown, folded = share_blocks(frequencies, wording)
    leaks = _leaks(plan, source)
    if joint is None:
        tables = _tables_of_reports(plan, source)
    else:
        tables = [_table(plan, source, *checks.texts(pair, "joint")) for pair in joint]
    page = render_page(
        "results.html",
        f"Results: {frequencies.records:,} people",
        styles=STYLES,
        subject=heading,
        date=long_date(),
        finding=finding(frequencies, wording),
        precision=precision_found(frequencies),
        without=_people_without_privacy(plan),
        frequencies=frequencies,
        odds=promised_odds(plan),
        columns=in_two_columns(shown),
        further=in_two_columns(folded) if folded else None,
        together=[
            together_view(table, MOST_ROWS // len(tables), wording) for table in tables
        ],
        pairs_together=len(pairs_together(plan)[0]),
        all_pairs=len(pairs_together(plan)[1]),
        standings=standings(plan, check, leaks),
        check=check,
        leaks=leaks,
        percent_text=percent_text,
        answer_text=answer_text,
        **statements(plan),
    )
    write_text(path, page)
    return frequencies


def shown_pairs(plan: Plan) -> list[tuple[str, str]]:
    """Return the pairs of questions whose tables the page of results shows: those that
    the plan was designed for, or else those that most people are asked together.
    """
    names = plan.domain.names
    wanted = [(names[i], names[j]) for i, j in wanted_of(plan).joint]
    if wanted:
        return wanted
    asked = dict[tuple[str, str], float]()
    for form in plan.forms:
        if form.is_product:
            for pair in combinations(sorted(form.attributes, key=plan.domain.index), 2):
                asked[pair] = asked.get(pair, 0.0) + form.share
    estimated = [
        pair
        for pair in sorted(asked, key=lambda pair: -asked[pair])
        if _is_small(plan, pair)
    ]
    return [_few_answers_first(plan, pair) for pair in estimated[:SHOWN_TABLES]]


def _few_answers_first(plan: Plan, pair: tuple[str, str]) -> tuple[str, str]:
    """Return two questions of the page of results, the one with fewer answers first:
    its shares are shown.
    """
    first, second = pair
    if plan.domain[first].size > plan.domain[second].size:
        return second, first
    return first, second


def _is_small(plan: Plan, pair: tuple[str, str]) -> bool:
    """Return whether the table of two questions is estimated and fits on the page of
    results.
    """
    sizes = [plan.domain[name].size for name in pair]
    if min(sizes) < 2 or max(sizes) > MAX_ANSWERS:
        return False
    return bool(informative_forms(plan, list(pair)))


def _people_without_privacy(plan: Plan) -> str:
    """Return for the page of results how many people would do without noise; empty if
    nothing is estimated.
    """
    precision = plan_precision(plan)
    if not is_estimated(precision):
        return ""
    return rounded_people(precision.without_privacy)


def _tables_of_reports(plan: Plan, source: Any) -> list[Table]:
    """Return the tables of the pairs that the page of results shows and that the
    reports determine.
    """
    tables = []
    for first, second in shown_pairs(plan):
        with suppress(InputError):  # nobody reported on both yet
            tables.append(_table(plan, source, first, second))
    return tables


def _table(plan: Plan, source: Any, first: str, second: str) -> Table:
    """Return the joint frequencies of two attributes for the page of results."""
    return plan.table(source, first, by=second)


def _leaks(plan: Plan, source: Any) -> list[LeakRow]:
    """Return the strongest leakages with their limits for the page of results; none if
    no two attributes are together.
    """
    try:
        leakages = plan.analyse(source)
    except InputError:
        return []
    rows = []
    for leak in leakages.strongest(SHOWN_LEAKS):
        limit = plan[leak.target].limit
        most = math.inf if limit is None else limit
        is_open = "within" if leak.upper <= most else "not decided"
        rows.append((leak, limit, "above the limit" if leak.lower > most else is_open))
    return rows
