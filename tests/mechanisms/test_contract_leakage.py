"""What the reports of every registered mechanism tell about a correlated target.

Truth comes from enumerating every report of small alphabets, of local hashing under
many seeds; of vectors, whose entries are continuous, the extreme reports and some that
are drawn.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from contract import EPSILONS, NAMES, every_mechanism, make
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core.errors import InputError
from seepage.leakage.bound import leakage_bound
from seepage.mechanisms.contract_check import every_report, report_leakages
from seepage.mechanisms.reports import Reports, VectorReports

ANY_SET = [
    name
    for name in NAMES
    if (sets := make(name, 4, 1.0).likely_sets) is not None and sets.kind == "all"
]


def random_channel(seed: int, rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(columns, 0.4), size=rows)


@functools.cache
def telling_reports(name: str, k: int, epsilon: float) -> list[Reports]:
    """Every report, or for vectors the extreme ones and some that are drawn."""
    tested = make(name, k, epsilon)
    if tested.reports is not VectorReports:
        return every_report(tested, seeds=400)
    sets = [np.array(likely) for likely in itertools.product([False, True], repeat=k)]
    return [*map(tested.report_of, sets), tested.perturb(np.arange(200) % k, 51)]


def pure(tested, channel):
    """Return the supremum over all reports; a mechanism with delta 0 may define
    `leakage` alone.
    """
    return (tested.pure_leakage if tested.delta else tested.leakage)(channel)


@every_mechanism
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 4),
    k=st.integers(1, 4),
    epsilon=st.sampled_from([0.0, 0.2, 1.0, 3.0]),
)
def test_leakage_is_the_maximum_over_all_reports(
    name: str, seed: int, rows: int, k: int, epsilon: float
) -> None:
    tested, channel = make(name, k, epsilon), random_channel(seed, rows, k)
    leakage = pure(tested, channel)
    reports = telling_reports(name, k, epsilon)
    most = max(report_leakages(tested, group, channel).max() for group in reports)
    assert leakage.value == pytest.approx(most, rel=1e-9, abs=1e-12)
    assert leakage.value >= most - 1e-12
    if tested.delta == 0:
        assert leakage.value <= tested.epsilon
    witness = leakage.witness
    if witness is None:
        assert leakage.value == 0
        return
    if (
        witness.report is None
    ):  # local hashing: a bucket that holds exactly the likely values
        logarithms = tested.likely_sets.contrast * np.isin(np.arange(k), witness.likely)
    else:
        logarithms = tested.log_likelihood(witness.report)[0]
    likely = np.flatnonzero(np.isclose(logarithms, logarithms.max(), rtol=1e-12))
    assert likely.tolist() == list(witness.likely)
    seen = channel @ np.exp(logarithms - logarithms.max())
    attained = math.log(seen[witness.likelier] / seen[witness.other])
    assert leakage.value == pytest.approx(attained, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ANY_SET)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 50.0, 700.0])
def test_leakage_equals_the_bound_where_any_set_can_be_likely(
    name: str, epsilon: float
) -> None:
    tested = make(name, 12, epsilon)
    channel = random_channel(4, 6, 12)
    contrast = tested.likely_sets.contrast
    assert pure(tested, channel).value == leakage_bound(channel, contrast).value


@every_mechanism
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_leakage_at_the_limits(name: str, epsilon: float) -> None:
    tested = make(name, 3, epsilon)
    equal = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    apart = [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert tested.leakage(equal).value == 0
    contrast = pure(tested, apart).value
    relaxed = tested.leakage(apart)
    assert relaxed.value == pytest.approx(tested.epsilon)
    assert relaxed.delta == pytest.approx(tested.delta, rel=1e-9)
    if tested.delta == 0:
        assert 0 <= contrast <= tested.epsilon
    else:
        assert contrast > tested.epsilon


@every_mechanism
def test_leakage_of_a_channel_with_other_columns_raises(name: str) -> None:
    with pytest.raises(InputError, match="4 columns"):
        make(name, 4, 1.0).leakage([[0.5, 0.5], [0.2, 0.8]])
