"""The largest budget within limits: as the root search, with an error that says why."""

import pytest

import seepage as sp
from seepage.calibration.largest_budget import largest_budget


def test_the_largest_budget_is_never_above_its_limit():
    budget = largest_budget(lambda budget: 2 * budget - 1, maximum=4.0)
    assert 0.5 - 1e-9 <= budget <= 0.5
    assert largest_budget(lambda budget: budget - 5, maximum=4.0) == 4.0


def test_public_attributes_above_a_limit_leave_no_budget():
    with pytest.raises(sp.InputError, match=r"no budget fits: .* by 0\.25;"):
        largest_budget(lambda budget: budget + 0.25, maximum=1.0)
