"""Random sampling with fake data: its closed form, and what its amplification does not promise."""

import itertools
import math

import numpy as np
import pytest

import seepage as sp
from seepage.designs.strategies import (
    fake_data_budget,
    fake_data_error,
    sampling_with_fake_data,
)


def test_fake_data_does_not_hide_records_that_differ_in_every_attribute():
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


def estimated_with_fakes(name, margin, budget, count, rng):
    """Return the frequencies of one collection: a share 1/d of the reports is true, the rest fakes.

    People are drawn from the population, as the closed form has it.
    """
    made, number = sp.mechanism(name, len(margin), budget), margin.sum()
    codes = rng.choice(len(margin), number, p=margin / number)
    true, other = made.support
    honest = rng.random(number) < 1 / count
    tally = made.tally(made.perturb(codes[honest], rng))
    fakes = number - int(honest.sum())
    if name == "grr":
        fake = 1 / made.k
        tally = tally + rng.multinomial(fakes, np.full(made.k, fake))
    else:
        fake = other
        tally = tally + rng.binomial(fakes, fake, made.k)
    expected = (other + (count - 1) * fake) / count
    return count * (tally / number - expected) / (true - other)


@pytest.mark.parametrize("amplified", [False, True])
def test_fake_data_has_the_closed_form_variance(amplified):
    """Over 60 collections of 24 values the mean error is within a sixth of the claim."""
    pairs = sp.load_pairs("adult").select(["education", "occupation", "sex"])
    claim = sampling_with_fake_data(pairs, 2.0, amplified=amplified)
    rng = np.random.default_rng(5)
    errors = []
    for index, margin in enumerate(pairs.marginals):
        _, name = fake_data_error(pairs, index, claim.record)
        found = [estimated_with_fakes(name, margin, claim.record, 3, rng) for _ in range(60)]
        errors.append(((np.array(found) - margin / margin.sum()) ** 2).sum(axis=1).mean())
    ratio = np.mean(errors) / claim.error
    assert 5 / 6 < ratio < 7 / 6
    assert not 5 / 6 < ratio * 0.7 < 7 / 6
    assert not 5 / 6 < ratio * 1.4 < 7 / 6
