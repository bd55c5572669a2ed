"""The integers of a wire form give the probabilities of its mechanism, never beyond
epsilon.
"""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wires
from seepage.mechanisms.direct import GRR, ApproximateGRR, Exponential
from seepage.mechanisms.exact_probabilities import CERTAIN, exp_below
from seepage.mechanisms.hashing import OLH
from seepage.mechanisms.histogram import SHE
from seepage.mechanisms.rappor import BasicRAPPOR
from seepage.mechanisms.subset_selection import SubsetSelection
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE
from seepage.plan.wire import mechanism_wire


def largest_ratio(channel):
    """The largest ratio of two chances of one report, in exact fractions."""
    rows = [wires.exact_chances(channel, code) for code in range(channel["k"])]
    return max(
        max(row[report] for row in rows) / min(row[report] for row in rows)
        for report in rows[0]
    )


@pytest.mark.parametrize("name", wires.MECHANISMS)
def test_probabilities_of_a_value_sum_to_one(name):
    channel = mechanism_wire(wires.MECHANISMS[name])
    for code in range(channel["k"]):
        assert sum(wires.exact_chances(channel, code).values()) == 1


@given(
    family=st.sampled_from([GRR, Exponential, SubsetSelection, OUE, RAPPOR]),
    k=st.integers(1, 5),
    epsilon=st.one_of(
        st.floats(0, 30), st.sampled_from([0.0, 1e-19, 1e-18, 3e-17, 1e-12, 1e-6, 60.0])
    ),
)
def test_no_ratio_exceeds_the_budget(family, k, epsilon):
    made = family(k, epsilon)
    assert largest_ratio(mechanism_wire(made)) <= exp_below(epsilon)


@pytest.mark.parametrize("k", [2, 3, 5, 6])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("family", [GRR, SubsetSelection, OUE])
def test_the_realised_epsilon_is_close_to_the_stated_one(family, k, epsilon):
    """The wire may lose k w / 2^64 or so, not more."""
    ratio = largest_ratio(mechanism_wire(family(k, epsilon)))
    assert ratio >= exp_below(epsilon) * (1 - Fraction(4000, CERTAIN))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (1.0, 0.01), (3.0, 1e-6)])
def test_delta_is_not_exceeded(epsilon, delta):
    channel = mechanism_wire(ApproximateGRR(5, epsilon, delta))
    rows = [wires.exact_chances(channel, code) for code in range(5)]
    for first, second in combinations(rows, 2):
        excess = sum(
            max(Fraction(0), first[y] - exp_below(epsilon) * second[y]) for y in first
        )
        assert excess <= Fraction(delta)


@pytest.mark.parametrize("made", [*wires.MECHANISMS.values(), BasicRAPPOR(3)])
def test_probabilities_are_those_of_the_mechanism(made):
    """The share of reports that support each value, against the fractions that
    estimates use.
    """
    channel = mechanism_wire(made)
    for code in range(made.k):
        chances = wires.exact_chances(channel, code)
        if channel["draw"] == "matrix":
            assert [float(chances[y]) for y in range(made.outputs)] == made.channel()[
                code
            ].tolist()
            continue
        for value in range(made.k):
            supported = sum(
                chance
                for report, chance in chances.items()
                if value == report or (isinstance(report, tuple) and value in report)
            )
            assert abs(supported - made.drawn[0 if value == code else 1]) <= Fraction(
                4000, CERTAIN
            )


@pytest.mark.parametrize(
    "made",
    [*wires.MECHANISMS.values(), OLH(8, 1.0), SHE(4, 1.0), ApproximateSUE(3, 1.0, 0.1)],
)
def test_a_wire_is_texts_integers_and_lists(made):
    def plain(content):
        if isinstance(content, dict):
            return all(
                isinstance(key, str) and plain(value) for key, value in content.items()
            )
        if isinstance(content, list):
            return all(map(plain, content))
        return type(content) in (str, int)

    assert plain(mechanism_wire(made))
