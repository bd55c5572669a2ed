"""A synthetic survey with a known joint distribution, for examples and tests without a download.

Ten attributes: seven in two trees, three dependent only jointly, and a rare value.

    age -- employment -- income        region -- transport        age -- condition -- medication
    coffee, screen, and sleep: bad (9 times in 10) iff exactly one of the other two is yes

All probabilities are multiples of 1/1000, so the joint distribution is a table of integers.
`coffee` and `screen` are fair coins: coffee, screen and sleep are pairwise independent but jointly
dependent, which no pairwise analysis can detect.  `rare` is the condition of 4 people in 1,000,
nine in ten of them in the oldest group.
"""

from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Integers
from seepage.data.domain import Attribute, Domain
from seepage.data.records import Records

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

# Conditional probabilities in thousandths: rows are values of the condition.
AGE = [350, 400, 250]
EMPLOYMENT_GIVEN_AGE = [[0, 400, 600], [50, 50, 900], [800, 0, 200]]
INCOME_GIVEN_EMPLOYMENT = [[100, 500, 400], [0, 900, 100], [300, 200, 500]]
REGION = [250, 300, 250, 200]
TRANSPORT_GIVEN_REGION = [[200, 400, 400], [100, 700, 200], [300, 300, 400], [100, 500, 400]]
CONDITION_GIVEN_AGE = [[120, 880, 0], [90, 909, 1], [60, 925, 15]]
MEDICATION_GIVEN_CONDITION = [[300, 700], [950, 50], [100, 900]]
FAIR_COIN = [1, 1]
SLEEP_GIVEN_COFFEE_AND_SCREEN = [[[1, 9], [9, 1]], [[9, 1], [1, 9]]]


def _joint() -> Integers:
    """Return integers proportional to the joint probabilities, one axis per attribute."""
    conditional = [
        AGE,
        EMPLOYMENT_GIVEN_AGE,
        INCOME_GIVEN_EMPLOYMENT,
        REGION,
        TRANSPORT_GIVEN_REGION,
        CONDITION_GIVEN_AGE,
        MEDICATION_GIVEN_CONDITION,
        FAIR_COIN,
        FAIR_COIN,
        SLEEP_GIVEN_COFFEE_AND_SCREEN,
    ]
    parts = [np.array(table) // np.gcd.reduce(np.array(table), axis=None) for table in conditional]
    return np.asarray(np.einsum("a,ae,ei,r,rt,ac,cm,k,s,ksg->aeirtcmksg", *parts))


def survey_joint() -> Records:
    """Return the survey's joint distribution: all possible records, weights proportional to it.

    Examples
    --------
    >>> joint = survey_joint()
    >>> len(joint.domain), (joint.marginal("condition") / joint.records).round(4).tolist()
    (10, [0.093, 0.9028, 0.0042])
    """
    return Records.from_joint(Domain(ATTRIBUTES), _joint())


def make_survey(records: int = 10_000, seed: int | None = 0) -> Any:
    """Return a table of people drawn from `survey_joint`, as a PyArrow table of strings.

    Parameters
    ----------
    records
        The number of people, drawn independently.
    seed
        Seed of the draws.

    Examples
    --------
    >>> people = make_survey(1_000)
    >>> people.num_rows, people.column_names[:3]
    (1000, ['age', 'employment', 'income'])
    """
    import pyarrow as pa

    joint = survey_joint()
    codes = joint.sample(_checks.integer(records, "records", 1, _checks.MAX_DRAWS), seed)
    columns = {
        attribute.name: pa.array(np.array(attribute.values)[codes[:, k]])
        for k, attribute in enumerate(joint.domain)
    }
    return pa.table(columns)
