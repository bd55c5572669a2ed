"""Ways to spend a limit: their closed forms, and who wins."""

import itertools
import math

import numpy as np
import pytest

import seepage as sp
from seepage.data.datasets import make_survey
from seepage.data.records import Records
from seepage.designs.strategies import compare_strategies, fake_data_budget, simulated_error


@pytest.fixture(scope="module")
def few():
    names = ["age", "employment", "income", "coffee", "screen", "sleep"]
    return Records.from_data(make_survey(4_000)).select(names)


def test_fake_data_does_not_hide_records_that_differ_everywhere():
    """By enumeration: RS+FD at the amplified budget tells two records apart by e^eps'."""
    limit, count, k = 1.0, 2, 3
    budget = fake_data_budget(limit, count)
    channel = sp.GRR(k, budget).channel()

    def likelihood(record, reports):
        return sum(channel[record[j], reports[j]] / k ** (count - 1) for j in range(count)) / count

    reports = list(itertools.product(range(k), repeat=count))
    differ = max(math.log(likelihood((0, 0), y) / likelihood((1, 1), y)) for y in reports)
    assert differ == pytest.approx(budget)
    assert differ > limit + 0.4


def test_strategies_keep_their_closed_forms():
    """Over 24 collections of some 30 values the mean error is within a fifth of the claim."""
    pairs = sp.load_pairs("adult").select(["education", "occupation", "sex"])
    found = compare_strategies(pairs, 2.0, simulate=True)
    assert len(found.simulated) == len(found.strategies) == 6
    rng = np.random.default_rng(5)
    for strategy in found.strategies:
        mean = np.mean([simulated_error(pairs, strategy, rng) for _ in range(24)])
        assert 0.8 < mean / strategy.error < 1.25, strategy.name


def test_the_comparison_says_who_wins(few):
    found = compare_strategies(few.pairs(), 3.0)
    best = min(found.strategies, key=lambda one: one.error)
    assert best.name in found.verdict()
    assert found.to_dict()["strategies"][0]["certified"] is True
    assert not found.strategies[-1].certified


def test_a_comparison_of_any_table_in_one_line_and_as_a_frame():
    table = make_survey(500)
    found = compare_strategies(table, 3.0, columns=["age", "coffee"])
    again = compare_strategies(Records.from_data(table, columns=["age", "coffee"]), 3.0)
    assert [one.errors for one in found.strategies] == [one.errors for one in again.strategies]
    assert found.names == ("age", "coffee")
    assert repr(found).startswith("StrategyComparison(limit 3, least error ")
    frame = found.to_pandas()
    assert len(frame) == 12
    assert frame["error"].tolist() == [e for one in found.strategies for e in one.errors]
