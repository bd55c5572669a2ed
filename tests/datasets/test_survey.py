"""The made-up survey has the joint distribution that its page describes."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from seepage._core.errors import InputError
from seepage.benchmarks.correlation import correlation_matrix
from seepage.channel.records import Records
from seepage.datasets.survey import make_survey, survey_joint

JOINT = survey_joint()


def share(**values):
    """Return the exact probability that attributes have these values."""
    names = list(values)
    place = tuple(JOINT.domain[name].code(value) for name, value in values.items())
    return Fraction(int(JOINT.counts(names)[place]), JOINT.records)


def test_probabilities_are_those_of_the_tables():
    assert share(age="18-34") == Fraction(350, 1000)
    assert share(age="55+", employment="retired") == Fraction(250, 1000) * Fraction(
        800, 1000
    )
    assert share(age="55+", employment="student") == 0
    rare = Fraction(400 * 1 + 250 * 15, 10**6)
    assert share(condition="rare") == rare
    assert share(condition="rare", medication="yes") == rare * Fraction(9, 10)
    assert share(coffee="yes", screen="no", sleep="bad") == Fraction(1, 4) * Fraction(
        9, 10
    )


def test_three_attributes_are_dependent_only_jointly():
    triple = ("coffee", "screen", "sleep")
    for a, b in combinations(triple, 2):
        table = JOINT.counts([a, b])
        assert len(set(table.ravel().tolist())) == 1
    assert len(set(JOINT.counts(triple).ravel().tolist())) == 2


SURVEY_TREE = (
    ("age", "employment"),
    ("employment", "income"),
    ("age", "condition"),
    ("condition", "medication"),
    ("region", "transport"),
)
"""Edges of the two trees."""


def test_the_other_attributes_follow_the_trees():
    information = correlation_matrix(JOINT, "mi")
    names = JOINT.domain.names
    edges = {frozenset(edge) for edge in SURVEY_TREE}
    for edge in edges:
        a, b = (names.index(name) for name in edge)
        assert information[a, b] > 1e-3
    # Given their neighbour, income and condition are independent: a Markov chain,
    # exactly.
    table = JOINT.counts(["employment", "age", "income"])
    for given in table:
        assert np.linalg.matrix_rank(given) == 1


def test_everything_fits_exact_sums():
    assert JOINT.records < 2**53
    assert len(JOINT) == np.count_nonzero(JOINT.counts())


def test_the_survey_is_a_sample_of_the_joint():
    people = Records.from_data(make_survey(200_000, rng=5))
    assert people.domain == JOINT.domain
    for names in (
        ["condition"],
        ["coffee", "screen", "sleep"],
        ["age", "employment", "income"],
    ):
        truth = JOINT.counts(names) / JOINT.records
        found = people.counts(names) / people.records
        assert np.abs(found - truth).max() < 5 * np.sqrt(0.25 / people.records)
        assert not found[truth == 0].any()


def test_seeds_and_invalid_arguments():
    assert make_survey(50, rng=1) == make_survey(50, rng=1)
    assert make_survey(50, rng=1) != make_survey(50, rng=2)
    assert make_survey(7).num_rows == 7
    with pytest.raises(InputError, match="records must be an integer from 1 to"):
        make_survey(0)
