"""Equal budgets use their limit, keep it, and are confirmed on fresh reports."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import seepage as sp
from searches import find_budgets
from seepage.calibration import calibration
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.calibration.calibration_problem import (
    CalibrationProblem,
    make_calibration_problem,
)
from seepage.calibration.equal_budgets import confirmed_budgets
from seepage.channel.pairs import PairCounts
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


@pytest.mark.parametrize("guarantee", ["worst", "exact", "merged", "independent"])
def test_equal_budgets_use_the_limit_and_keep_it(few, guarantee):
    found = find_budgets(few, 2.0, guarantee=guarantee, mechanism="grr", audit=False)
    assert found.totals.guarantee == guarantee
    assert found.totals.values.max() <= 2.0
    assert found.totals.values.max() == pytest.approx(2.0, abs=1e-7)
    assert len(set(found.epsilons.tolist())) == 1


def test_confirmations_state_their_simultaneous_confidence(coins):
    """Totals that each pass wrongly as often as they may: what is stated must still be
    true.
    """
    chance = np.random.default_rng(6)
    used = []
    sampled = {"guarantee": "sampled", "confidence": 0.4, "rng": 7}
    options = CalibrationOptions(limit=1.0, mechanism="grr", **sampled)
    problem = make_calibration_problem(coins, options, "table")
    truth = sp.total_leakage(coins, 1.0, mechanism="grr", guarantee="exact")

    def lucky(epsilons, rng, confidence):
        used.append(rng)
        passes = chance.random() < 1 - confidence
        values = truth.values * 0 if passes else truth.values
        return replace(truth, values=values, confidence=confidence)

    stated = set()
    wrong = 0
    for _ in range(400):
        try:
            _, totals = confirmed_budgets(problem, np.ones(3), lucky)
        except sp.InputError:
            continue
        wrong += 1
        stated.add(totals.confidence)
    assert stated == {0.4}
    assert 0.4 < wrong / 400 <= 0.6
    assert set(used) == set(range(8, 28))
    used.clear()
    settings = replace(options, confidence=1 - 1e-15, rng=None)
    strict = replace(problem, settings=settings)
    with pytest.raises(sp.InputError, match="no sampled total was confirmed"):
        confirmed_budgets(strict, np.ones(3), lucky)
    assert set(used) == {None}


def test_a_search_reads_counts_and_builds_its_options_once(monkeypatch):
    """An evaluation of the totals costs the leakages and nothing else."""
    calls = Counter()

    def counting(owner, name):
        function = getattr(owner, name)

        def counted(*arguments, **keywords):
            calls[name] += 1
            return function(*arguments, **keywords)

        monkeypatch.setattr(owner, name, counted)

    counting(calibration, "settle")
    counting(calibration, "as_counted")
    counting(CalibrationOptions, "__post_init__")
    counting(PairCounts, "__init__")
    counting(CalibrationProblem, "totals")
    sp.calibrate(
        make_survey(1_000),
        2.0,
        columns=["age", "coffee", "sleep"],
        guarantee="independent",
        mechanism="grr",
    )
    assert calls["totals"] >= 5
    assert calls["settle"] == calls["as_counted"] == calls["__init__"] == 1
    assert calls["__post_init__"] == 1
