"""The largest budget within limits: as the root search, with an error that says why."""

import pytest

import seepage as sp
from seepage.calibration.largest_budget import bisected_budget, largest_budget


def test_the_largest_budget_is_never_above_its_limit():
    budget = largest_budget(lambda budget: 2 * budget - 1, maximum=4.0)
    assert 0.5 - 1e-9 <= budget <= 0.5
    assert largest_budget(lambda budget: budget - 5, maximum=4.0) == 4.0


def test_public_attributes_above_a_limit_leave_no_budget():
    with pytest.raises(sp.InputError, match=r"no budget fits: .* by 0\.25;"):
        largest_budget(lambda budget: budget + 0.25, maximum=1.0)


def test_a_plain_bisection_tests_points_that_only_outcomes_decide():
    """Steep or flat, the tests are the same, and their number is that of the steps."""
    tested = {}
    for slope in (0.1, 50.0):
        points = []

        def excess(budget, slope=slope, points=points):
            points.append(budget)
            return slope * (budget - 0.8)

        found = bisected_budget(excess, maximum=4.0, steps=6)
        assert 0.8 - 4 / 2**6 <= found <= 0.8
        tested[slope] = points
    assert tested[0.1] == tested[50.0]
    assert len(tested[0.1]) == 1 + 6  # the budget 0 too


def test_a_bisection_raises_as_the_root_search_does():
    with pytest.raises(sp.InputError, match=r"no budget fits: .* by 0\.25;"):
        bisected_budget(lambda budget: budget + 0.25, maximum=1.0, steps=3)
