"""Plans at the very limit of what a sample certifies, and how often they violate it.

Three questions about a person and any number of further attributes that depend on the
answers.  The truth is computed from the population without the package.
"""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom

import seepage as sp
from seepage.calibration.largest_budget import largest_budget
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.confidence.total_limits import form_total_limits
from seepage.designs.shaped.admissible_reports import AnswerCounts
from seepage.designs.shaped.population_leakages import kept_share

ANSWERS = np.array(list(product(range(2), repeat=3)))
LIMIT = 0.5
MAXIMUM = 4.0

samples = pytest.mark.parametrize(
    "draws", [60, pytest.param(400, marks=pytest.mark.slow)]
)


def most(draws):
    """Return as many violations as a rate of 5 % exceeds with probability 1e-3."""
    return int(binom.ppf(1 - 1e-3, draws, 0.05))


class Population:
    """Shares of the answers, and P(attribute = 1 given the answers) of each target."""

    def __init__(self, shares, chances):
        self.shares = np.asarray(shares)
        self.chances = np.asarray(chances)
        self.starts = 2 * np.arange(len(self.chances))

    def joint(self):
        """Return P(answers, value), one column per value of each target."""
        ones = self.shares[:, None] * self.chances.T
        zeros = self.shares[:, None] - ones
        return np.stack([zeros, ones], axis=2).reshape(len(self.shares), -1)

    def sample(self, rng, people):
        """Return counts like `joint`."""
        cells = rng.multinomial(people, self.shares)
        ones = rng.binomial(cells[:, None], self.chances.T)
        zeros = cells[:, None] - ones
        return np.stack([zeros, ones], axis=2).reshape(len(self.shares), -1)

    def totals(self, budgets, axes=(0, 1, 2)):
        """Return the true total about each target of the reports of some questions."""
        differ = ANSWERS[:, None, :] != ANSWERS[None, :, :]
        weights = np.exp(-(differ[..., axes] * budgets).sum(axis=2))
        joint = self.joint()
        means = np.log(weights @ joint / joint.sum(axis=0))
        zeros, ones = means[:, ::2], means[:, 1::2]
        return np.abs(ones - zeros).max(axis=0)


def population(targets, rare=0.5, seed=0):
    """Attributes that depend on the answers by as much as their limit allows and
    less.
    """
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([8.0] * 8)
    slopes = rng.normal(size=(targets, 3)) / 2
    slopes[0] = [0.9, 0.8, 0.7]
    odds = math.log(rare / (1 - rare)) + slopes @ (ANSWERS - 0.5).T
    return Population(shares, 1 / (1 + np.exp(-odds)))


def exclusive_or():
    chances = 0.15 + 0.7 * (ANSWERS.sum(axis=1) % 2)
    return Population(np.full(8, 1 / 8), chances[None])


POPULATIONS = {
    "one": population(1),
    "ten": population(10, seed=1),
    "forty": population(40, seed=2),
    "rare": population(10, rare=0.03, seed=3),
    "xor": exclusive_or(),
}


def limits_of(counts, starts, budgets, level, axes=(0, 1, 2)):
    """Return upper limits of the totals about the targets, none of which is asked."""
    others = tuple(set(range(3)) - set(axes))
    table = counts.reshape(2, 2, 2, -1).sum(axis=others).reshape(2 ** len(axes), -1)
    people = counts.sum(axis=0)
    asked = [len(starts)] * len(axes)  # the answers themselves are no targets here
    width = np.append(starts, counts.shape[1])
    padded = np.hstack([table, np.zeros((len(table), 2))])
    return form_total_limits(
        padded,
        np.append(people, [0, 0]),
        width,
        asked,
        np.asarray(budgets, dtype=float),
        c=level,
        sizes=[2] * len(axes),
    )[:-1]


def certified_budget(counts, starts, level, axes=(0, 1, 2)):
    """Return the largest equal budget whose limits pass."""

    def excess(budget):
        budgets = np.full(len(axes), budget)
        return float(limits_of(counts, starts, budgets, level, axes).max() - LIMIT)

    return largest_budget(excess, MAXIMUM, 1e-3)


def true_budget(people):
    return largest_budget(
        lambda budget: float(people.totals(np.full(3, budget)).max() - LIMIT), MAXIMUM
    )


@samples
@pytest.mark.parametrize("name", POPULATIONS)
def test_one_family_of_budgets_violates_rarely(name, draws):
    people = POPULATIONS[name]
    rng = np.random.default_rng(1)
    largest = true_budget(people)
    assert largest < MAXIMUM
    level = level_of_maxima(1, 0.95)
    found = np.array(
        [
            certified_budget(people.sample(rng, 3000), people.starts, level)
            for _ in range(draws)
        ]
    )
    assert int((found > largest).sum()) <= most(draws)
    assert found.mean() > 0.6 * largest, "plans near the limit are issued"


def test_the_test_can_fail():
    """The largest budgets within the sample's own totals mislead far more often."""
    people = POPULATIONS["one"]
    rng = np.random.default_rng(1)
    largest = true_budget(people)
    wrong = 0
    for _ in range(60):
        counts = people.sample(rng, 3000)
        cells = counts[:, 0] + counts[:, 1]
        sampled = Population(cells / 3000, (counts[:, 1] / cells)[None])
        wrong += true_budget(sampled) > largest
    assert wrong > most(60)


@samples
def test_any_choice_among_a_pool_of_forms_violates_rarely(draws):
    """Any of the seven forms of three questions may be chosen: none violates."""
    people = POPULATIONS["ten"]
    rng = np.random.default_rng(2)
    forms = [axes for size in (1, 2, 3) for axes in combinations(range(3), size)]
    level = level_of_maxima(len(forms), 0.95)
    wrong = 0
    for _ in range(draws):
        counts = people.sample(rng, 3000)
        budgets = [
            certified_budget(counts, people.starts, level, axes) for axes in forms
        ]
        totals = [
            people.totals(np.full(len(axes), budget), list(axes)).max()
            for axes, budget in zip(forms, budgets, strict=True)
        ]
        wrong += max(totals) > LIMIT
    assert wrong <= most(draws)


@samples
def test_a_list_with_failures_violates_rarely(draws):
    """Plans that do not grow, all of them wrong by a hair, until the third failure."""
    people = POPULATIONS["ten"]
    rng = np.random.default_rng(3)
    level = level_of_maxima(3, 0.95)
    directions = rng.dirichlet([3.0] * 3, size=8)
    plans = []
    for direction in directions:
        scale = largest_budget(
            lambda t, direction=direction: float(
                people.totals(t * direction).max() - LIMIT
            ),
            12.0,
        )
        plans.append(1.001 * scale * direction)
    wrong = 0
    for _ in range(draws):
        counts = people.sample(rng, 3000)
        limits = [limits_of(counts, people.starts, budgets, level) for budgets in plans]
        passed = [one.max() <= LIMIT for one in limits]
        third_failure = [k for k, held in enumerate(passed) if not held][2]
        wrong += any(passed[:third_failure])
    assert wrong <= most(draws)


@samples
def test_shaped_reports_mixed_with_the_neutral_one_violate_rarely(draws):
    """The largest kept share is one family: any likelihoods of a report."""
    people = POPULATIONS["ten"]
    rng = np.random.default_rng(4)
    reports = np.exp(rng.normal(size=(6, 8)))
    names = [f"t{k}" for k in range(10)]
    limits = dict.fromkeys(names, LIMIT / 4)
    level = level_of_maxima(1, 0.95)
    joint = people.joint()
    means = reports @ joint / joint.sum(axis=0)
    wrong = 0
    kept = []
    for _ in range(draws):
        counts = people.sample(rng, 3000)
        by_value = counts.reshape(8, 10, 2).transpose(1, 2, 0)
        table = AnswerCounts(
            ("a", "b", "c"),
            (2, 2, 2),
            counts[:, :2].sum(axis=1),
            dict(zip(names, by_value, strict=True)),
        )
        kept.append(kept_share(reports, table, limits, level))
        mixed = np.log(kept[-1] * means + 1 - kept[-1])
        wrong += np.abs(mixed[:, 1::2] - mixed[:, ::2]).max() > LIMIT / 4
    assert wrong <= most(draws)
    assert 0.01 < np.mean(kept) < 1.0


def test_the_truth_is_that_of_the_table():
    """The oracle of this file agrees with the totals of the package."""
    people = population(2, seed=5)
    domain = Domain([Attribute(name, ("0", "1")) for name in "abctu"])
    counts = np.round(people.shares * 1e6)
    rows = []
    weights = []
    for answers, number, chances in zip(ANSWERS, counts, people.chances.T, strict=True):
        for values in product(range(2), repeat=2):
            share = np.prod(
                [p if v else 1 - p for p, v in zip(chances, values, strict=True)]
            )
            rows.append([*answers, *values])
            weights.append(round(number * share))
    records = Records(domain, rows, weights)
    found = sp.total_leakage(
        records, 0.7, mechanism="grr", guarantee="exact", sources=["a", "b", "c"]
    )
    assert found.values[3:] == pytest.approx(people.totals(np.full(3, 0.7)), abs=1e-4)
