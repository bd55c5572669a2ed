"""Estimated pair counts: consistent, and exact where there is no noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from plan_examples import DOMAIN, counts, people, plan_for
from seepage.collection import frequencies
from seepage.collection.frequencies import _marginal, _table, rake
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
    total = round(margin[0].sum())
    rows, columns = (_marginal(part / total, total) for part in margin)
    given = filled(table) / filled(table).sum()
    found = _table(given.ravel(), rows, columns)
    for rounded, part in zip((rows, columns), margin, strict=True):
        assert rounded.sum() == total
        kept = part > 0.5 + 1e-6
        assert np.abs(rounded - part)[kept].max(initial=0.0) <= 1.0 + part[~kept].sum() + 1e-3
    assert np.array_equal(found.sum(axis=1), rows)
    assert np.array_equal(found.sum(axis=0), columns)
    assert found.min() >= 0
    fitted = rake(total * given, rows, columns)
    assert np.abs(found - fitted).max() <= max(table.shape) + 1e-3


def test_a_table_of_integers_stays_as_it_is():
    table = np.random.default_rng(1).integers(0, 50, (6, 5))
    found = _table((table / table.sum()).ravel(), table.sum(axis=1), table.sum(axis=0))
    assert np.array_equal(found, table)


NOISY = {"she", "gauss", "blh", "olh", "oue", "hadamard", "basic-rappor"}
"""Noisy at every budget."""


@pytest.mark.parametrize("name", sorted(set(registered()) - NOISY))
def test_without_noise_the_counts_are_exact(name):
    table = people(3000)
    delta = 1e-3 if registered()[name].approximate else 0.0
    plan = plan_for(counts(), 600.0, name, delta=delta)
    found = plan.estimate_pairs(plan.perturb(table))
    assert found == count_pairs(table, domain=DOMAIN)


def test_estimated_counts_are_consistent_and_near(tmp_path):
    table = people(40_000)
    plan = plan_for(counts(), 3.0)
    found = plan.estimate_pairs(plan.perturb(table))
    truth = count_pairs(table, domain=DOMAIN)
    assert found.records == 40_000
    assert np.abs(found.counts - truth.counts).max() < 0.02 * 40_000
    found.save(tmp_path / "estimated.pairs")
    assert PairCounts.load(tmp_path / "estimated.pairs") == found


def test_few_reports_and_much_noise_still_give_counts():
    plan = plan_for(counts(), 0.1)
    for rows in (1, 2, 7, 100):
        found = plan.estimate_pairs(plan.perturb(people(rows)))
        assert found.records == rows


def test_one_attribute_has_no_pairs():
    plan = plan_for(counts().select(["job"]), 2.0)
    found = plan.estimate_pairs(plan.perturb(people(100)))
    assert found.records == 100
    assert len(found.counts) == 0


def test_too_many_values_are_rejected(monkeypatch):
    plan = plan_for(counts(), 1.0)
    monkeypatch.setattr(frequencies, "MAX_VALUES", 10)
    with pytest.raises(InputError, match="11 values in all, too many"):
        plan.estimate_pairs(plan.perturb(people(100)))
