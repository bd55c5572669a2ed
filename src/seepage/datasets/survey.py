"""A synthetic survey with a known joint distribution, for examples and tests without a
download.

Ten attributes: seven in two trees, three dependent only jointly, and a rare value.

    age -- employment -- income  region -- transport  age -- condition -- medication
    coffee, screen, and sleep: bad (9 times in 10) iff exactly one of the other two is
    yes

All probabilities are multiples of 1/1000, so the joint distribution is a table of
integers. `coffee` and `screen` are fair coins: coffee, screen and sleep are pairwise
independent but jointly dependent, which no pairwise analysis can detect.  `rare` is the
condition of 4 people in 1,000, nine in ten of them in the oldest group.
"""

from typing import Any

import numpy as np

from seepage._core import checks
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records

ATTRIBUTES = (
    Attribute("age", ("18-34", "35-54", "55+")),
    Attribute("employment", ("retired", "student", "working")),
    Attribute("income", ("high", "low", "middle")),
    Attribute("region", ("east", "north", "south", "west")),
    Attribute("transport", ("bicycle", "car", "public")),
    Attribute("condition", ("allergy", "none", "rare")),
    Attribute("medication", ("no", "yes")),
    Attribute("coffee", ("no", "yes")),
    Attribute("screen", ("no", "yes")),
    Attribute("sleep", ("bad", "good")),
)
"""The attributes, values in the order of a coded table."""


# Conditional distributions, not normalised; the last axis is the attribute, the others
# are its conditions.  Letters are the axes of the joint distribution.
DISTRIBUTIONS = {
    "a": [350, 400, 250],  # age
    "ae": [[0, 400, 600], [50, 50, 900], [800, 0, 200]],  # employment given age
    "ei": [[100, 500, 400], [0, 900, 100], [300, 200, 500]],  # income given employment
    "r": [250, 300, 250, 200],  # region
    "rt": [
        [200, 400, 400],
        [100, 700, 200],
        [300, 300, 400],
        [100, 500, 400],
    ],  # transport
    "ac": [[120, 880, 0], [90, 909, 1], [60, 925, 15]],  # condition given age
    "cm": [[300, 700], [950, 50], [100, 900]],  # medication given condition
    "k": [1, 1],  # coffee
    "s": [1, 1],  # screen
    "ksg": [[[1, 9], [9, 1]], [[9, 1], [1, 9]]],  # sleep given coffee and screen
}


def survey_joint() -> Records:
    """Return the survey's joint distribution: all possible records, weights
    proportional to it.

    Examples
    --------
    >>> joint = survey_joint()
    >>> (
    ...     len(joint.domain),
    ...     (joint.marginal("condition") / joint.records).round(4).tolist(),
    ... )
    (10, [0.093, 0.9028, 0.0042])
    """
    parts = [np.array(table) for table in DISTRIBUTIONS.values()]
    reduced = [part // np.gcd.reduce(part, axis=None) for part in parts]
    joint = np.einsum(f"{','.join(DISTRIBUTIONS)}->aeirtcmksg", *reduced)
    return Records.from_joint(Domain(ATTRIBUTES), joint)


def make_survey(records: int = 10_000, rng: Any = 0) -> Any:
    """Return a table of people drawn from `survey_joint`, as a PyArrow table of
    strings.

    Parameters
    ----------
    records
        The number of people, drawn independently.
    rng
        Seed of the draws.

    Examples
    --------
    >>> people = make_survey(1_000)
    >>> people.num_rows, people.column_names[:3]
    (1000, ['age', 'employment', 'income'])
    """
    import pyarrow as pa

    joint = survey_joint()
    codes = joint.sample(checks.integer(records, "records", 1, checks.MAX_DRAWS), rng)
    columns = {
        attribute.name: pa.array(np.array(attribute.values)[codes[:, k]])
        for k, attribute in enumerate(joint.domain)
    }
    return pa.table(columns)
