"""Solving for a budget: never above the limit, near it, and confirmed on fresh reports."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from searches import find_budgets
from seepage.calibration import equal_budgets as budgets_module
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.calibration.equal_budgets import confirmed, make_problem
from seepage.calibration.root import largest_within
from seepage.channel.records import Records
from seepage.datasets.survey import make_survey, survey_joint


@pytest.fixture(scope="module")
def few():
    names = ["age", "employment", "income", "coffee", "screen", "sleep"]
    return Records.from_data(make_survey(4_000), domain=survey_joint().domain).select(
        names
    )


@pytest.fixture(scope="module")
def coins():
    """Two coins and whether they differ: the sum sees nothing, a witness does."""
    domain = sp.Domain(
        [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    )
    return Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [5_000] * 4)


@given(
    st.floats(0.01, 50),
    st.floats(0.1, 5),
    st.sampled_from([1.0, 0.5, 2.0]),
    st.floats(0.5, 1.5),
)
def test_the_root_search_is_accurate_and_never_above(limit, slope, power, most):
    """The largest b with slope b^power <= limit, up to `most` times limit."""

    def excess(budget):
        return slope * budget**power - limit

    top = most * limit
    truth = min(top, (limit / slope) ** (1 / power))
    found = largest_within(excess, top)
    assert excess(found) <= 0 or found == top
    assert truth - 2e-9 <= found <= truth * (1 + 1e-12)


def test_the_root_search_takes_few_evaluations():
    calls = []

    def excess(budget):
        calls.append(budget)
        return budget + np.tanh(budget) - 3

    largest_within(excess, 10.0)
    assert len(calls) < 60


def test_the_root_search_handles_jumps_and_infinity():
    assert largest_within(
        lambda b: -1.0 if b < 0.3 else math.inf, 1.0
    ) == pytest.approx(0.3)
    assert largest_within(lambda b: -1.0, 2.0) == 2.0
    with pytest.raises(sp.InputError, match="no budget fits"):
        largest_within(lambda b: 0.5, 1.0)


@pytest.mark.parametrize("guarantee", ["worst", "exact", "merged", "independent"])
def test_equal_budgets_use_the_limit_and_keep_it(few, guarantee):
    found = find_budgets(few, 2.0, guarantee=guarantee, mechanism="grr", audit=False)
    assert found.totals.guarantee == guarantee
    assert found.totals.values.max() <= 2.0
    assert found.totals.values.max() == pytest.approx(2.0, abs=1e-7)
    assert len(set(found.epsilons.tolist())) == 1


def test_confirmations_state_their_simultaneous_confidence(coins, monkeypatch):
    """Totals that each pass wrongly as often as they may: what is stated must still be
    true.
    """
    rng = np.random.default_rng(6)
    used = []
    sampled = {"guarantee": "sampled", "confidence": 0.4, "rng": 7}
    problem = make_problem(
        coins, CalibrationOptions(1.0, mechanism="grr", **sampled), "table"
    )
    truth = sp.total_leakage(coins, 1.0, mechanism="grr", guarantee="exact")

    def lucky(problem, epsilons, **options):
        used.append(options["rng"])
        passes = rng.random() < 1 - options["confidence"]
        values = truth.values * 0 if passes else truth.values
        return replace(truth, values=values, confidence=options["confidence"])

    monkeypatch.setattr(budgets_module, "totals_at", lucky)
    stated = set()
    wrong = 0
    for _ in range(400):
        try:
            _, totals = confirmed(problem, np.ones(3))
        except sp.InputError:
            continue
        wrong += 1
        stated.add(totals.confidence)
    assert stated == {0.4}
    assert 0.4 < wrong / 400 <= 0.6
    assert set(used) == set(range(8, 28))
    used.clear()
    with pytest.raises(sp.InputError, match="no sampled total was confirmed"):
        confirmed(
            replace(problem, options={"confidence": 1 - 1e-15, "rng": None}), np.ones(3)
        )
    assert set(used) == {None}
