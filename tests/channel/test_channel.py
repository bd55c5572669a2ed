"""A channel is checked when made, and raises if its axes do not match."""

from fractions import Fraction

import numpy as np
import pytest

from seepage import Channel
from seepage._core.errors import ChannelError
from seepage.channel.channel import as_matrix
from strategies import attribute

NOT_TEXT = "channel must be a matrix of probabilities"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([["a", "b"]], NOT_TEXT),
        ([["0.5", "0.5"]], NOT_TEXT),
        ([[1 + 0j]], NOT_TEXT),
        (np.array([[1 + 1j]]), NOT_TEXT),
        ([[0.5, 0.5], [1.0]], NOT_TEXT),
        (
            [],
            "channel must be a matrix with at least one row and column, got shape (0,)",
        ),
        (
            [[]],
            "channel must be a matrix with at least one row and column, got shape (1, "
            "0)",
        ),
        (
            [0.5, 0.5],
            "channel must be a matrix with at least one row and column, got shape (2,)",
        ),
        ([[0.5, np.nan]], "channel must hold probabilities of at least 0, got nan"),
        ([[1.5, -0.5]], "channel must hold probabilities of at least 0, got -0.5"),
        ([[np.inf, 0.0]], "channel must hold probabilities of at least 0, got inf"),
        ([[np.inf, -np.inf]], "channel must hold probabilities of at least 0, got inf"),
        ([[1e308, 1e308]], "each row of channel must sum to 1, but row 0 sums to inf"),
        (
            [[0.5, 0.5], [0.5, 0.4]],
            "each row of channel must sum to 1, but row 1 sums to 0.9",
        ),
        (
            [[0.75, 0.5], [0.25, 0.5]],
            "each row of channel must sum to 1, but row 0 sums to 1.25; it looks "
            "transposed",
        ),
        (
            [[1.0, 2e-9]],
            "each row of channel must sum to 1, but row 0 sums to 1.000000002",
        ),
    ],
)
def test_a_matrix_that_is_no_channel_raises_in_one_line(given, message):
    with pytest.raises(ChannelError) as raised:
        as_matrix(given)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "given",
    [
        [[1]],
        [[True, False]],
        [[Fraction(1, 2), Fraction(1, 2)]],
        np.float32([[0.5, 0.5]]),
    ],
)
def test_any_array_of_probabilities_becomes_a_copied_matrix(given):
    matrix = as_matrix(given)
    assert matrix.dtype == np.float64
    assert not matrix.flags.writeable
    assert matrix.sum() == 1


def test_a_later_change_of_the_array_does_not_reach_the_channel():
    array = np.array([[0.5, 0.5]])
    channel = Channel(array, attribute("t", 1), attribute("s", 2))
    array[:] = [[1.0, 0.0]]
    assert channel.matrix.tolist() == [[0.5, 0.5]]
    with pytest.raises(ValueError, match="read-only"):
        channel.matrix[0, 0] = 1.0


def test_the_shape_must_fit_the_axes():
    with pytest.raises(ChannelError) as raised:
        Channel([[0.5, 0.5]], attribute("sex", 2), attribute("work", 2))
    assert (
        str(raised.value)
        == "the channel of 'work' given 'sex' must be 2 x 2, got 1 x 2"
    )
    with pytest.raises(
        ChannelError, match="each row of the channel of 'work' given 'sex'"
    ):
        Channel([[0.5, 0.4]], attribute("sex", 1), attribute("work", 2))
    assert (
        repr(Channel([[0.5, 0.5]], attribute("a", 1), attribute("b", 2)))
        == "Channel(b given a, 1 x 2)"
    )
