"""Totals of some sources, L(Z -> X_k), against the joint channel by enumeration."""

import math
from functools import reduce

import numpy as np
import pytest

import seepage as sp
from seepage._core.errors import DomainError
from seepage.datasets.survey import survey_joint

NAMES = ["employment", "coffee", "screen", "sleep"]
CASES = [
    (None, True),
    (["coffee"], True),
    (["employment", "screen"], True),
    (None, False),
    (["coffee", "screen"], False),
    ([], True),
]


@pytest.fixture(scope="module")
def people():
    survey = sp.make_survey(3_000, rng=5)
    return sp.Records.from_data(survey, domain=survey_joint().domain).select(NAMES)


def joint_leakage(people, epsilon, sources, k):
    """Return ln max over reports y and x, x' of P(y | x) / P(y | x') of GRR reports."""
    sizes = [people.domain[name].size for name in sources]
    matrices = [sp.GRR(size, epsilon).channel() for size in sizes]
    transition = reduce(np.kron, matrices, np.ones((1, 1)))
    cells = np.zeros(len(people.codes), dtype=int)
    for name, size in zip(sources, sizes, strict=True):
        cells = cells * size + people.column(name)
    rows = np.zeros((people.domain.sizes[k], math.prod(sizes)))
    np.add.at(rows, (people.column(k), cells), people.weights)
    rows = rows[rows.sum(axis=1) > 0]
    reports = rows / rows.sum(axis=1, keepdims=True) @ transition
    return float(np.log(reports.max(axis=0) / reports.min(axis=0)).max())


@pytest.mark.parametrize(("sources", "own"), CASES)
def test_exact_totals_of_sources_are_those_of_the_joint_channel(people, sources, own):
    total = sp.total_leakage(
        people, 1.0, mechanism="grr", guarantee="exact", sources=sources, own=own
    )
    for k, name in enumerate(NAMES):
        seen = NAMES if sources is None else sources
        if not own:
            seen = [other for other in seen if other != name]
        truth = joint_leakage(people, 1.0, seen, k)
        assert total[name] == pytest.approx(truth, abs=1e-9)
    assert total.own == own
    assert total.sources == (None if sources is None else tuple(sources))


@pytest.mark.parametrize(("sources", "own"), CASES[1:-1])
def test_every_guarantee_is_at_least_the_exact_total_of_the_sources(
    people, sources, own
):
    options = {"mechanism": "grr", "sources": sources, "own": own}
    exact = sp.total_leakage(people, 1.0, guarantee="exact", **options).values
    whole = sp.total_leakage(people, 1.0, mechanism="grr", guarantee="exact").values
    assert (exact <= whole + 1e-9).all()
    for guarantee in ("worst", "merged"):
        other = sp.total_leakage(people, 1.0, guarantee=guarantee, **options)
        assert (other.values >= exact - 1e-9).all()
    witness = sp.total_leakage(people, 1.0, guarantee="witness", **options)
    assert (witness.values <= exact + 1e-9).all()
    assert sp.total_leakage(people, 1.0, **options).guarantee == "exact"  # auto
    population = sp.total_leakage(
        people, 1.0, guarantee="exact", scope="population", **options
    )
    assert (population.values >= exact - 1e-9).all()
    assert population.confidence == 0.95


def test_sums_of_sources_leave_out_the_others(people):
    pairs = people.pairs()
    matrix = sp.leakage_matrix(pairs, 1.0, mechanism="grr")
    total = sp.total_leakage(
        pairs, 1.0, mechanism="grr", guarantee="sum", sources=["coffee"], own=False
    )
    column = matrix.values[:, matrix.domain.index("coffee")]
    assert total.values == pytest.approx(column)
    worst = sp.total_leakage(pairs, 1.0, guarantee="worst", own=False)
    assert worst.values == pytest.approx(np.full(4, 3.0))


def test_deltas_of_sources_add_up_without_the_own_report(people):
    total = sp.total_leakage(
        people,
        1.0,
        mechanism="approximate-grr",
        delta=0.01,
        guarantee="worst",
        sources=["coffee", "screen"],
        own=False,
    )
    assert total.deltas == pytest.approx([0.02, 0.01, 0.01, 0.02])


def test_an_unknown_source_raises(people):
    with pytest.raises(DomainError):
        sp.total_leakage(people, 1.0, guarantee="worst", sources=["tea"])
