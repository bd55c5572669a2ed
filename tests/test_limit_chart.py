"""The chart of people against the limit."""

import math
from itertools import pairwise

import pytest

from seepage.charts.limit_chart import limit_chart, powers, ticks_apart

LIMITS = [2.7, 4.5, 7.4, 20.0]

ROWS = [
    {"series": series, "odds": odds, "people": round(people / odds)}
    for series, people in (("This plan", 90_000), ("No privacy", 1_000))
    for odds in LIMITS
]


def test_axes_are_in_odds_and_people():
    drawn = limit_chart(ROWS, limits=LIMITS, width="3").to_dict()
    axes = drawn["encoding"]
    assert axes["x"]["axis"]["values"] == LIMITS
    assert "nats" not in str(drawn)
    for axis, key in (("x", "odds"), ("y", "people")):
        low, high = axes[axis]["scale"]["domain"]
        assert all(low <= row[key] <= high for row in ROWS)
        assert axes[axis]["scale"]["type"] == "log"
    assert "every share within 3 points" in drawn["title"]


@pytest.mark.parametrize("number", [1, 2, 20])
def test_labels_of_limits_do_not_collide(number):
    limits = [2.0 + 0.3 * index for index in range(number)]
    shown = ticks_apart(limits)
    assert shown[0] == limits[0]
    ratios = [later / earlier for earlier, later in pairwise(shown)]
    length = 1.25**2 * limits[-1] / limits[0]
    assert all(math.log(ratio) >= 0.07 * math.log(length) for ratio in ratios)


def test_ticks_of_people_are_within_the_axis():
    for low, high in [(1, 2), (900, 1_200), (1_000, 5_000_000)]:
        assert all(low <= number <= high for number in powers([low, high]))
    assert 1 <= len(powers([1_000, 5_000_000])) <= 8
