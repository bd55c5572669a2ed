"""What a search of a design has found so far, in words."""

import math

from seepage._core.text import number_of, points, rounded_people
from seepage.designs.design_options import DEFAULT_WIDTH, DesignOptions
from seepage.designs.forms.form_pool import FormPool
from seepage.designs.forms.form_problem import FormProblem

NORMAL = 1.96
"""Half-width of a 95 % interval, in standard errors."""


def best_so_far(variance: float, options: DesignOptions, rounds: int) -> str:
    """Return the progress of a search: how good the best design is, and when the step
    ends.

    The number of people for which every share has the half-width of the options, or its
    half-width for their number of people; about, since an attribute's mean variance
    stands for that of each of its values.

    Parameters
    ----------
    variance
        The largest variance of a share from one person, see `largest_variance`.
    options
        What is asked for.
    rounds
        Rounds without gain after which the step ends.
    """
    ending = rounds_left(rounds)
    if not math.isfinite(variance):
        return ending
    if options.people is not None:
        width = NORMAL * math.sqrt(variance / options.people)
        return f"best so far: within about {points(width)} points; {ending}"
    wanted = options.precision or DEFAULT_WIDTH
    people = math.ceil(variance * (NORMAL / wanted) ** 2)
    return f"best so far: about {rounded_people(people)} people; {ending}"


def rounds_left(rounds: int) -> str:
    """Return the progress of a step of the search in words: when it ends."""
    return f"stops after {number_of(rounds, 'more round')} without gain"


def largest_variance(problem: FormProblem, pool: FormPool) -> float:
    """Return the largest variance of a share from one person for the progress shown,
    over the questions.
    """
    count = len(problem.domain)
    asked = problem.importance[:count] > 0
    precision = (pool.shares @ pool.rows)[:count][asked]
    sizes = [problem.domain.sizes[j] for j in range(count) if asked[j]]
    if not (precision > 0).all():
        return math.inf
    return float((1 / (precision * sizes)).max())
