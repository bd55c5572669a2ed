"""What merged answers gain: people for one question each, with and without them.

One report about one attribute, with a budget within every limit, keeps the limits of
any table: its leakage about every attribute is at most its budget [theory-totals]. So
the collection that asks one question each is known for the values of a table as they
are, without a search and without any certificate, and so is its number of people.
"""

import math
from collections.abc import Iterable

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import Setting, Text
from seepage._core.text import number_of, two_digits
from seepage.designs.forms.form_problem import MAX_BUDGET, FormProblem
from seepage.mechanisms.subset_selection import best_mechanism
from seepage.tables.fixed_domain import FixedDomain

LEAST_GAIN = 1.05
"""Factor of the people from which merging is said to gain."""


def merging_gain(problem: FormProblem, fixed: FixedDomain) -> float:
    """Return how many times as many people one question each needs without merged
    answers; 1 where none are.

    For the same precision of every share: n is proportional to the sum over questions
    of the largest variance of a share from one report, as the shares of the people that
    are asked each are.

    Parameters
    ----------
    problem
        The questions of the design, and its limits.
    fixed
        The answers, and how many values there were before they were merged.
    """
    budget = min(problem.min_limit, MAX_BUDGET)
    merged = fixed.values_merged()
    if problem.public or not math.isfinite(budget):
        return 1.0
    before = after = 0.0
    for j in problem.everything:
        name = problem.domain.names[j]
        frequencies = problem.precisions.frequencies[j]
        if j in problem.precisions.rows or len(frequencies) < 2:
            continue  # a mean has no answers to merge
        variance = _largest_variance(frequencies, budget)
        after += variance
        if name in merged:
            values = _with_largest(merged[name], fixed.largest_shares[name])
            variance = _largest_variance(values, budget)
        before += variance
    return before / after if after > 0 else 1.0


def merging_notes(problem: FormProblem, fixed: FixedDomain) -> Iterable[Text]:
    """Yield a note on what merged answers gain, if they do."""
    gain = merging_gain(problem, fixed)
    merged = fixed.values_merged()
    asked = [problem.domain.names[j] for j in problem.everything]
    fewer = sum(name in merged for name in asked)
    if gain < LEAST_GAIN or not fewer:
        return
    verb = "has" if fewer == 1 else "have"
    yield Text(
        f"answers are merged: {fewer:,} of {number_of(len(asked), 'question')} {verb} "
        "fewer than the table; with all of them, one question each would need "
        f"{two_digits(gain)} times as many people as with merged answers (",
        Setting("answers", "as-is"),
        ")",
    )


def _largest_variance(frequencies: Floats, budget: float) -> float:
    """Return the largest variance of a share from one report, noise and sampling
    together, without or after merging.
    """
    mechanism = best_mechanism(len(frequencies), budget)
    noise = mechanism.variance(1, frequencies)
    return float((noise + frequencies - frequencies**2).max())


def _with_largest(values: int, largest: float) -> Floats:
    """Return frequencies of so many unmerged values, the largest as stated and the
    others equal.
    """
    frequencies = np.full(values, (1 - largest) / max(values - 1, 1))
    frequencies[0] = largest
    return frequencies
