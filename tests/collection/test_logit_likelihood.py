"""The likelihood of logit coefficients at parameters far from its maximum."""

import numpy as np
import pytest

from seepage.collection.logit_likelihood import FormReports, LogitLikelihood


@pytest.fixture
def likelihood():
    """Two combinations of covariates; four cells each, two with and two without the
    event.
    """
    generator = np.random.default_rng(1)
    form = FormReports(
        factors=[generator.uniform(0.1, 1.0, (5, 8))],
        weights=np.arange(1.0, 6.0),
        squares=np.arange(1.0, 6.0),
        covariates=np.repeat([0, 1], 4),
        event=np.tile([False, False, True, True], 2),
    )
    return LogitLikelihood(np.array([[1.0, -1.0], [1.0, 1.0]]), [form])


def test_a_factor_common_to_a_group_changes_nothing(likelihood):
    """q of the cells of a group are given up to a factor, however large or small."""
    parameters = likelihood.start()
    parameters[-8:] = np.linspace(-1, 1, 8)
    expected = likelihood.derivatives(parameters)
    for shift in (-3.6e6, -800.0, 5.0, 800.0):
        shifted = parameters.copy()
        shifted[-8:-6] += shift
        found = likelihood.derivatives(shifted)
        assert found.value == pytest.approx(expected.value, abs=1e-7)
        assert found.gradient == pytest.approx(expected.gradient, abs=1e-7)


def test_a_cell_that_nobody_has_leaves_the_others_of_its_group(likelihood):
    parameters = likelihood.start()
    parameters[-8] = -3.6e6
    found = likelihood.derivatives(parameters)
    assert np.isfinite(found.value)
    assert np.isfinite(found.gradient).all()
    assert found.gradient[-8] == 0
