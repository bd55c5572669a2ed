"""The paper's own calibration overshoots."""

import pytest

import seepage as sp
from seepage.data.datasets import make_survey
from seepage.data.records import Records
from seepage.study.reproduction.fig7_fig8_beyond import calibrate_as_the_paper


@pytest.fixture(scope="module")
def few():
    names = ["age", "employment", "income", "coffee", "screen", "sleep"]
    return Records.from_data(make_survey(4_000)).select(names)


def test_the_papers_algorithm_overshoots_by_up_to_two_steps(few):
    pairs = few.pairs()
    budget = calibrate_as_the_paper(pairs, 2.0)
    ours = sp.calibrate(pairs, 2.0, guarantee="sum").epsilons[0]

    def total(b):
        return (b + sp.leakage_matrix(pairs, b).values.sum(axis=1)).max()

    assert total(budget) > 2.0
    assert ours < budget <= ours + 0.02 + 1e-9
    assert (budget - 2.0 / 6) / 0.01 == pytest.approx(
        round((budget - 2.0 / 6) / 0.01), abs=1e-6
    )
