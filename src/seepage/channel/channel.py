"""`Channel`: a row-stochastic matrix from the values of one attribute to those of
another.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seepage._core import checks
from seepage._core.errors import ChannelError
from seepage.channel.domain import Attribute

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from seepage._core.arrays import Floats


@dataclass(frozen=True, eq=False)
class Channel:
    """P(output given input) as a row-stochastic matrix with named axes.

    Functions of a channel and the mechanism of its output compare these axes, so that a
    transposed or swapped matrix raises a ChannelError instead of giving a wrong number.

    Parameters
    ----------
    matrix
        The probabilities, shape (inputs, outputs); each row sums to 1.
    given
        The attribute of the input, one value per row.
    output
        The attribute of the output, one value per column.
    unseen
        Values of the input that never occurred and therefore have no row.

    Examples
    --------
    >>> sex = Attribute("sex", ("Female", "Male"))
    >>> smoker = Attribute("smoker", ("no", "yes"))
    >>> Channel([[0.9, 0.1], [0.8, 0.2]], given=sex, output=smoker)
    Channel(smoker given sex, 2 x 2)
    """

    matrix: "Floats"
    given: Attribute
    output: Attribute
    unseen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the channel's matrix and the lengths of its names."""
        checks.instance(self.given, "given", Attribute, "an Attribute")
        checks.instance(self.output, "output", Attribute, "an Attribute")
        name = f"the channel of {self.output.name!r} given {self.given.name!r}"
        matrix = as_matrix(self.matrix, name)
        if matrix.shape != (self.given.size, self.output.size):
            raise ChannelError(
                f"{name} must be {self.given.size} x {self.output.size}, "
                f"got {matrix.shape[0]} x {matrix.shape[1]}",
                parameter=name,
            )
        object.__setattr__(self, "matrix", matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of values of the attribute given in a channel, and of the output."""
        return self.given.size, self.output.size

    def __repr__(self) -> str:
        """Return the channel in one line: P(output given attribute)."""
        rows, columns = self.shape
        return (
            f"Channel({self.output.name} given {self.given.name}, {rows} x {columns})"
        )


def as_matrix(channel: "Channel | ArrayLike", name: str = "channel") -> "Floats":
    """Return the read-only float64 matrix of a channel, or of an array with rows that
    sum to 1.
    """
    if isinstance(channel, Channel):
        return channel.matrix
    return checks.stochastic(channel, name)
