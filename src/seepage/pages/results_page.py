"""What the reports of a plan say, as one self-contained HTML page without scripts."""

import math
import os
from collections.abc import Sequence
from typing import Any

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.files import write_text
from seepage._core.text import points, short_list
from seepage.collection.frequencies import Frequencies
from seepage.collection.report_batches import open_reports
from seepage.leakage.pair_leak import Leak
from seepage.pages.plan_page import STYLES
from seepage.pages.render import render_page
from seepage.plan.content import wanted_of
from seepage.plan.plan_check import PlanCheck
from seepage.plan.plan_precision import NORMAL
from seepage.plan.promises import promised, statements
from seepage.workflow.plan import Plan

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
        designed for.
    data
        A newer table of records, in which the plan's limits are checked, see
        `Plan.check`.
    consistent
        Project the frequencies of each attribute to the nearest distribution
        (non-negative, sum 1).  Intervals keep the widths of the unbiased estimates.

    Notes
    -----
    Frequencies with intervals; the promise of the plan; its totals on `data`; and the leakage of
    single reports estimated from pairs of reports (`Plan.analyse`), where some are asked together.

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
    heading = "Results of a collection" if name is None else checks.text(name, "name")
    source = open_reports(plan, reports)
    found = plan.estimate(source, consistent=consistent)
    names = plan.domain.names
    if joint is None:
        joint = [(names[i], names[j]) for i, j in wanted_of(plan).joint]
    check = None if data is None else plan.check(data)
    page = render_page(
        "results.html",
        f"{heading}: results",
        styles=(*STYLES, "results"),
        heading=heading,
        summary=_summary(plan, found, check),
        found=found,
        cards=[_card(found, attribute) for attribute in found.estimates],
        tables=[_table(plan, source, *checks.texts(pair, "joint")) for pair in joint],
        check=check,
        leaks=_leaks(plan, source),
        **statements(plan),
    )
    write_text(path, page)
    return found


def _summary(
    plan: Plan, found: Frequencies, check: PlanCheck | None
) -> tuple[str, str, str]:
    """Return the sentences that a page of results begins with: precision, promise and
    check.
    """
    shares = [name for name in found.estimates if name not in found.means]
    reported = f"{found.records:,} people reported"
    if shares:
        largest = max(found[name].standard_errors.max() for name in shares)
        width = points(NORMAL * largest).removesuffix(".0")
        every = f"every share of {short_list(shares)}" if found.means else "every share"
        reported += f", and {every} is known to within {width} points (19 times of 20)"
    checked = "Whether it still holds was not checked on a newer table."
    if check is not None:
        above = f"the total is above its limit about {short_list(check.exceeded)}"
        verdict = "every total is within its limit" if check.within else above
        checked = f"On a newer table of {check.records:,} records {verdict}."
    return f"{reported}.", promised(plan, "The plan"), checked


def _card(found: Frequencies, name: str) -> dict[str, Any]:
    """Return one attribute: its mean, and its values with shares and their places in
    the picture.

    Ends of intervals, share and zero are on a common scale from 0 to 1 that shows zero.
    """
    shares = [found.share(name, value) for value in found.domain[name].values]
    low = min(0.0, *(share.interval[0] for share in shares))
    width = max(1e-12, *(share.interval[1] - low for share in shares))
    places = [[(n - low) / width for n in (*s.interval, s.value, 0.0)] for s in shares]
    rows = list(zip(found.domain[name].values, shares, places, strict=True))
    mean = found.means.get(name)
    people = found[name].records
    return {"name": name, "people": people, "mean": mean, "rows": rows}


def _table(plan: Plan, source: Any, first: str, second: str) -> dict[str, Any]:
    """Return the joint frequencies of two attributes as rows of estimates."""
    table = plan.table(source, first, by=second)
    rows, columns = (attribute.values for attribute in table.attributes)
    shares = [(row, [table[row, column] for column in columns]) for row in rows]
    return {"table": table, "rows": shares}


def _leaks(plan: Plan, source: Any) -> list[tuple[Leak, float | None, str]]:
    """Return the strongest leakages with their limits; none if no two attributes are
    together.
    """
    try:
        found = plan.analyse(source)
    except InputError:
        return []
    rows = []
    for leak in found.strongest(SHOWN_LEAKS):
        limit = plan[leak.target].limit
        most = math.inf if limit is None else limit
        is_open = "within" if leak.upper <= most else "not decided"
        rows.append((leak, limit, "above the limit" if leak.lower > most else is_open))
    return rows
