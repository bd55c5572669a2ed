"""The paper's own calibration overshoots; a prior's budgets are judged on the real table."""

import numpy as np
import pytest

import seepage as sp
from seepage.data.datasets import make_survey
from seepage.data.records import Records
from seepage.designs.calibration import find_budgets
from seepage.study.reproduction.fig8_calibration import calibrate_as_the_paper, realised_totals


@pytest.fixture(scope="module")
def few():
    names = ["age", "employment", "income", "coffee", "screen", "sleep"]
    return Records.from_data(make_survey(4_000)).select(names)


def test_the_papers_algorithm_overshoots_by_up_to_two_steps(few):
    pairs = few.pairs()
    budget = calibrate_as_the_paper(pairs, 2.0)
    ours = find_budgets(pairs, 2.0, guarantee="independent").epsilons[0]

    def total(b):
        return (b + sp.leakage_matrix(pairs, b).values.sum(axis=1)).max()

    assert total(budget) > 2.0
    assert ours < budget <= ours + 0.02 + 1e-9
    assert (budget - 2.0 / 6) / 0.01 == pytest.approx(round((budget - 2.0 / 6) / 0.01), abs=1e-6)


def test_a_prior_is_judged_on_the_real_table(few):
    people = Records.from_data(make_survey(500, seed=8)).select(few.domain.names)
    prior = find_budgets(people.pairs(), 2.0, guarantee="independent")
    realised = realised_totals(prior, few.pairs())
    assert realised.values.max() != pytest.approx(2.0, abs=1e-6)
    names = {name: name.upper() for name in few.domain.names}
    renamed = realised_totals(
        prior, few.pairs().rename(names), {new: old for old, new in names.items()}
    )
    assert np.array_equal(renamed.values, realised.values)
    with pytest.raises(sp.InputError, match="no attribute for 'age'"):
        realised_totals(prior, few.pairs().select(["income", "sleep"]))
