"""Estimated joint tables: consistent, as integers too, and exact where there is no noise."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from plan_examples import DOMAIN, counts, people, plan_for
from seepage.collection import frequencies
from seepage.collection.frequencies import (
    _rounded_marginal,
    _rounded_table,
    rake,
)
from seepage.data.inputs import count_pairs
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.mechanisms import registered

tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=7),
    elements=st.sampled_from([0.0, 1e-9, 0.25, 0.5, 1.0, 1.7, 3.0, 1e3, 12345.678]),
)


def margins(table):
    """Margins with one sum that a table may be raked to."""
    total = max(1, round(float(table.sum())))
    heights = table.sum(axis=1) + 1
    return total * heights / heights.sum(), np.full(table.shape[1], total / table.shape[1])


def filled(table):
    """The table without empty rows and columns."""
    return np.where(np.outer(table.any(axis=1), table.any(axis=0)), table, 1.0)


@given(tables)
def test_raking_meets_the_margins(table):
    rows, columns = margins(table)
    found = rake(filled(table), rows, columns)
    assert found.min() >= 0
    scale = max(1.0, float(rows.sum()))
    assert np.abs(found.sum(axis=1) - rows).max() < 1e-6 * scale
    assert np.abs(found.sum(axis=0) - columns).max() < 1e-6 * scale


def test_raking_keeps_odds():
    table = np.array([[1.0, 2.0, 1.0], [4.0, 1.0, 3.0]])
    found = rake(table, np.array([60, 40]), np.array([30, 30, 40]))
    odds = [(t[0, 0] * t[1, 1]) / (t[0, 1] * t[1, 0]) for t in (table, found)]
    assert np.isclose(*odds)


@given(tables)
def test_rounded_tables_have_exactly_their_margins(table):
    margin = margins(table)
    rows, columns = (_rounded_marginal(part) for part in margin)
    fitted = rake(filled(table), *margin)
    found = _rounded_table(fitted, rows, columns)
    for rounded, part in zip((rows, columns), margin, strict=True):
        assert rounded.sum() == round(part.sum())
        assert np.abs(rounded - part).max() <= 1.0 + 1e-3
    assert np.array_equal(found.sum(axis=1), rows)
    assert np.array_equal(found.sum(axis=0), columns)
    assert found.min() >= 0
    assert np.abs(found - fitted).max() <= max(table.shape) + 1e-3


def test_a_table_of_integers_stays_as_it_is():
    table = np.random.default_rng(1).integers(0, 50, (6, 5))
    found = _rounded_table(table.astype(float), table.sum(axis=1), table.sum(axis=0))
    assert np.array_equal(found, table)


NOISY = {"she", "gauss", "blh", "olh", "oue", "hadamard", "basic-rappor"}
"""Noisy at every budget."""


@pytest.mark.parametrize("name", sorted(set(registered()) - NOISY))
def test_without_noise_the_counts_are_exact(name):
    table = people(3000)
    delta = 1e-3 if registered()[name].approximate else 0.0
    plan = plan_for(counts(), 600.0, name, delta=delta)
    found = plan.estimate_pairs(plan.perturb(table))
    assert found.pairs == count_pairs(table, domain=DOMAIN)


def test_estimated_counts_are_consistent_and_near(tmp_path):
    table = people(40_000)
    plan = plan_for(counts(), 3.0)
    found = plan.estimate_pairs(plan.perturb(table))
    truth = count_pairs(table, domain=DOMAIN)
    assert found.pairs.records == 40_000
    assert np.abs(found.pairs.counts - truth.counts).max() < 0.02 * 40_000
    for rows, columns in permutations(DOMAIN.names, 2):
        table = found.table(rows, columns)
        assert np.allclose(table.sum(axis=1), found.marginals[DOMAIN.index(rows)], atol=1e-5)
        assert np.abs(table - found.pairs.table(rows, columns)).max() <= max(table.shape)
    found.pairs.save(tmp_path / "estimated.pairs")
    assert PairCounts.load(tmp_path / "estimated.pairs") == found.pairs


def test_few_reports_and_much_noise_still_give_counts():
    plan = plan_for(counts(), 0.1)
    for rows in (1, 2, 7, 100):
        found = plan.estimate_pairs(plan.perturb(people(rows)))
        assert found.pairs.records == rows


def test_one_attribute_has_no_pairs():
    plan = plan_for(counts().select(["job"]), 2.0)
    found = plan.estimate_pairs(plan.perturb(people(100)))
    assert found.pairs.records == found.records == 100
    assert len(found.pairs.counts) == 0
    assert repr(found) == "EstimatedPairs(100 reports, 1 attributes)"


def test_tables_in_long_form():
    plan = plan_for(counts(), 2.0)
    found = plan.estimate_pairs(plan.perturb(people(500)))
    columns = found.to_arrow().to_pydict()
    assert len(columns["first"]) == len(counts().counts)
    row = columns["second"].index("age")
    assert (columns["first"][row], columns["first_value"][row]) == ("sex", "F")
    assert columns["second_value"][row] == "[18, 40)"
    assert columns["frequency"][row] == found.table("sex", "age")[0, 0] / 500


def test_too_many_values_are_rejected(monkeypatch):
    plan = plan_for(counts(), 1.0)
    monkeypatch.setattr(frequencies, "MAX_VALUES", 10)
    with pytest.raises(InputError, match="11 values in all, too many"):
        plan.estimate_pairs(plan.perturb(people(100)))
