"""Intervals of logit coefficients: exact ones of binomial counts, coverage near
separation, infinite ends.
"""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit, xlogy

import seepage as sp
from plan_examples import forms_plan, plan_for, product

DOMAIN = sp.Domain(
    [sp.Attribute("x", ("0", "1", "2")), sp.Attribute("ill", ("no", "yes"))]
)
EXACT = np.eye(2) * (1 - 2e-12) + 1e-12


def table(x, ill):
    return pa.table({"x": np.asarray(x).astype(str), "ill": np.where(ill, "yes", "no")})


PAIRS = sp.count_pairs(table(np.arange(999) % 3, np.arange(999) % 5 < 2), domain=DOMAIN)

BINARY = sp.count_pairs(
    table(np.arange(1000) % 2, np.arange(1000) % 5 < 2),
    domain=sp.Domain([sp.Attribute("x", ("0", "1")), DOMAIN["ill"]]),
)


def deviance_limits(events, people):
    """Ends of the set of logits whose binomial deviance is at most z^2."""
    share = events / people

    def gap(predictor):
        p = expit(predictor)
        drop = xlogy(events, share) + xlogy(people - events, 1 - share)
        drop -= xlogy(events, p) + xlogy(people - events, 1 - p)
        return 2 * drop - 1.959963984540054**2

    centre = np.clip(logit(share), -20, 20)
    low = brentq(gap, -25, centre) if events else -math.inf
    high = brentq(gap, centre, 25) if events < people else math.inf
    return low, high


@pytest.mark.parametrize("events", [0, 1, 7, 200, 399, 400])
def test_without_noise_intervals_are_those_of_the_binomial_deviance(events):
    said = pa.table({"said": ["no"] * (400 - events) + ["yes"] * events})
    randomiser = {"matrix": EXACT.tolist(), "values": ["no", "yes"]}
    randomiser["reports"] = ["no", "yes"]
    found = sp.regress(said, "said[yes] ~ 1", randomiser=randomiser)["Intercept"]
    low, high = deviance_limits(events, 400)
    assert found.interval == pytest.approx((low, high), rel=2e-3)
    if 0 < events < 400:
        assert found.value == pytest.approx(logit(events / 400), abs=1e-6)
    else:
        assert found.value == (-math.inf if events == 0 else math.inf)
        assert found.standard_error == math.inf


def test_a_share_of_zero_is_said_and_predicted():
    """Nobody with x = 0 is ill: the odds ratio has no finite estimate, but a lower
    limit.
    """
    x = np.repeat([0, 1], 500)
    ill = (x == 1) & (np.arange(1000) % 4 == 0)
    plan = plan_for(PAIRS, 40.0)
    reports = plan.perturb(table(x, ill), rng=1)
    beside = pa.table({"age": x.astype(float)})
    for formula, covariates in (("ill ~ x", None), ("ill ~ age", beside)):
        if covariates is None:
            formula = "ill ~ C(x)"
        found = plan.regress(reports, formula, covariates=covariates)
        slope = found[found.names[1]]
        assert slope.value == math.inf
        assert slope.interval[1] == math.inf
        assert 4.3 < slope.interval[0] < 4.6
        assert found.p_values[1] < 1e-6
        assert "no finite estimate of Intercept, " in found.notes[0]
        assert found.notes[0] in found.summary()
        assert "coefficients not finite" in repr(found)
        column = {"x": ["0", "1"]} if covariates is None else {"age": [0.0, 1.0]}
        shares = found.predict(column)
        assert shares.values == pytest.approx([0.0, 0.25], abs=1e-4)
        low, high = shares.intervals[0]
        assert low == 0.0
        # 1 - exp(-z^2 / 2 / n), the largest share whose deviance is z^2
        assert high == pytest.approx(-math.expm1(-1.921 / 500), rel=0.02)
        assert 0.2 < shares.intervals[1][0] < 0.25 < shares.intervals[1][1] < 0.3


def test_a_value_that_nobody_has_is_not_estimated():
    """The reports tell nothing of the coefficient of a value that is never reported."""
    x = np.repeat([0, 1], 500)
    plan = plan_for(PAIRS, 40.0)
    reports = plan.perturb(table(x, np.arange(1000) % 3 == 0), rng=1)
    found = plan.regress(reports, "ill ~ C(x)")
    assert math.isnan(found["x[T.2]"].value)
    assert found["x[T.2]"].interval == (-math.inf, math.inf)
    assert "tell nothing of x[T.2]" in found.notes[0]
    assert np.isfinite(found["x[T.1]"].interval).all()


def covered(kind, runs, seed, *, weighted=False):
    """Shares of collections whose intervals cover, and whose interval of the slope is
    above 0; a share of 1 in 50 against 3 in 10, as seen through noise.
    """
    rng = np.random.default_rng(seed)
    plan = forms_plan(BINARY, [product(ill=2.0, x=2.0)])
    truth = np.array([logit(0.02), logit(0.3) - logit(0.02)])
    hits = np.zeros(2)
    infinite = 0
    above = 0
    for _ in range(runs):
        x = rng.random(1500) < 0.3
        ill = rng.random(1500) < np.where(x, 0.3, 0.02)
        reports = plan.perturb(
            table(x.astype(int), ill), rng=int(rng.integers(1 << 40))
        )
        weights = rng.choice([0.5, 1.0, 3.0], 1500) if weighted else None
        if kind == "cells":
            found = plan.regress(reports, "ill ~ C(x)", weights=weights)
        else:
            beside = pa.table({"z": x.astype(float)})
            found = plan.regress(reports, "ill ~ z", covariates=beside, weights=weights)
        intervals = found.intervals[:2]
        hits += (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])
        infinite += np.isinf(found.values[:2]).any()
        above += intervals[1, 0] > 0
    return hits / runs, infinite / runs, above / runs


@pytest.mark.parametrize("kind", ["cells", "clear"])
def test_intervals_cover_near_separation(kind):
    """None of these collections raises, though many have no finite estimate."""
    hits, infinite, above = covered(kind, 40, 5)
    assert hits.min() >= 0.85
    assert 0 < infinite < 1
    assert above > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["cells", "clear"])
def test_intervals_cover_in_many_collections(kind, weighted):
    hits, infinite, above = covered(kind, 400, 6, weighted=weighted)
    assert (hits > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 400)).all()
    assert infinite > 0
    assert above > 0.8 - 0.2 * weighted
