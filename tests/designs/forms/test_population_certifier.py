"""Forms for people: what is promised holds for those whom nobody looked at."""

import itertools
import math

import numpy as np
import pytest

import seepage as sp
from seepage.designs.forms.form_totals import ExactForms
from seepage.designs.forms.population_certifier import PopulationForms
from seepage.errors import InputError

SIZES = (2, 3, 2, 2)
CELLS = np.array(list(itertools.product(*map(range, SIZES))))


def records(weights):
    domain = sp.Domain(
        [sp.Attribute(f"a{k}", tuple(map(str, range(size)))) for k, size in enumerate(SIZES)]
    )
    kept = weights > 0
    return sp.Records(domain, CELLS[kept], weights[kept])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("epsilons", [(0.5, 0.5), (0.3, 0.9)])
def test_limits_tend_to_the_totals_of_the_table(epsilons, compiled):
    weights = np.random.default_rng(1).integers(1, 50, len(CELLS))
    gaps = []
    for times in (10, 1000, 10**5):
        data = records(weights * times)
        scorer, exact = PopulationForms(data, compiled=compiled), ExactForms(data)
        found = scorer.totals(scorer.table((0, 1)), np.array(epsilons))
        gaps.append(found - exact.totals(exact.table((0, 1)), np.array(epsilons)))
    assert (np.diff(gaps, axis=0) <= 1e-9).all()
    assert (np.array(gaps) >= -1e-12).all()
    assert gaps[-1].max() < 0.02


def test_levels_count_what_may_be_chosen():
    data = records(np.full(len(CELLS), 10))
    every = PopulationForms(data, 0.9, largest=2)  # forms of 1 or 2 questions, and that of all
    pairs = sum(a * b for a, b in itertools.combinations(SIZES, 2))
    assert every.level(2) == pytest.approx(math.log(3 * 2 * 9 * pairs / 0.1))
    with pytest.raises(InputError, match="at most 2 attributes"):
        every.level(3)
    assert every.level(4) == pytest.approx(math.log(3 * 2 * 9 * math.prod(SIZES) / 0.1))
    few = PopulationForms(data, 0.9, asked=[0, 1], largest=5)
    assert few.level(2) == pytest.approx(math.log(2 * 2 * 9 * 6 / 0.1))
