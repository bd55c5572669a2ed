"""Prices of changes are upper bounds of what a search for the changed design finds."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import seepage as sp
from searches import find_design
from seepage.designs.change_prices import ChangePrices

LIMIT = 2.0
OPTIONS = {"scope": "table", "shape": "never", "effort": 0.05}
SEARCH_GAP = 0.01
"""Relative excess that a search may have over the least error."""


@pytest.fixture(scope="module")
def people():
    """Coins of which some agree more often than not, and one question of many
    values.
    """
    rng = np.random.default_rng(4)
    first = rng.integers(0, 2, 2_000)
    second = np.where(rng.random(2_000) < 0.8, first, 1 - first)
    others = rng.integers(0, [2, 3, 4], (2_000, 3))
    names = ["a", "b", "c", "d", "e"]
    sizes = [2, 2, 2, 3, 4]
    domain = sp.Domain(
        [
            sp.Attribute(name, tuple(map(str, range(k))))
            for name, k in zip(names, sizes, strict=True)
        ]
    )
    return sp.Records(domain, np.column_stack([first, second, others]))


@pytest.fixture(scope="module")
def base(people):
    return find_design(people, LIMIT, left_out=["e"], **OPTIONS)


def mean_error(design, names):
    indices = [design.problem.domain.index(name) for name in names]
    return design.errors[indices].sum()


def test_the_price_of_dropping_a_question_bounds_what_a_search_finds(people, base):
    dropped = {c.attributes[0]: c.people for c in base.changes if c.kind == "drop"}
    assert set(dropped) == {"a", "b", "c", "d"}
    for name, factor in dropped.items():
        others = [other for other in dropped if other != name]
        found = find_design(people, LIMIT, left_out=["e", name], **OPTIONS)
        ratio = mean_error(found, others) / mean_error(base, others)
        assert ratio <= factor * (1 + SEARCH_GAP)
        assert factor <= 1


def test_the_price_of_adding_a_question_bounds_what_a_search_finds(people, base):
    (added,) = [change for change in base.changes if change.kind == "add"]
    assert added.attributes == ("e",)
    found = find_design(people, LIMIT, **OPTIONS)
    asked = ["a", "b", "c", "d"]
    ratio = mean_error(found, asked) / mean_error(base, asked)
    assert 1 < ratio <= added.people * (1 + SEARCH_GAP)


def test_the_price_of_fewer_questions_bounds_what_a_search_finds(people, base):
    factors = {c.questions: c.people for c in base.changes if c.kind == "largest"}
    sizes = [len(form.attributes) for form in base.forms]
    assert list(factors) == list(range(1, max(sizes)))
    for questions, factor in factors.items():
        found = find_design(people, LIMIT, left_out=["e"], largest=questions, **OPTIONS)
        assert found.error / base.error <= factor * (1 + SEARCH_GAP)
    assert sorted(factors.values(), reverse=True) == list(factors.values())


def test_separating_costs_something_only_for_pairs_asked_together(people, base):
    separated = [change for change in base.changes if change.kind == "never"]
    together = [{*form.attributes} for form in base.forms]
    assert separated
    for change in separated:
        assert any({*change.attributes} <= form for form in together)
        found = find_design(
            people, LIMIT, left_out=["e"], never=[change.attributes], **OPTIONS
        )
        assert found.error / base.error <= change.people * (1 + SEARCH_GAP)


def test_joint_tables_are_priced_for_the_pairs_that_no_form_asks_together(base):
    priced = {c.attributes: c.people for c in base.changes if c.kind == "together"}
    together = [{*form.attributes} for form in base.forms]
    asked = itertools.combinations(["a", "b", "c", "d"], 2)
    assert set(priced) == {
        pair for pair in asked if not any({*pair} <= form for form in together)
    }
    assert all(factor >= 0.99 for factor in priced.values())


def test_no_form_of_the_result_is_for_few_people(base):
    assert min(form.share for form in base.forms) >= 0.01


def test_changes_of_more_than_a_thousand_forms_have_prices(base):
    """Each has a smaller share than those that count as used of fewer forms."""
    copies = 3_000
    pool = SimpleNamespace(
        forms=list(base.forms) * copies,
        rows=np.tile(
            np.eye(len(base.forms), len(base.problem.importance)), (copies, 1)
        ),
        shares=np.full(len(base.forms) * copies, 1.0),
    )
    prices = ChangePrices(base.problem, pool)
    assert len(prices.used) == len(pool.forms)
