"""Types of NumPy arrays that the package passes around."""

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


Integers: TypeAlias = NDArray[np.int64]


Booleans: TypeAlias = NDArray[np.bool_]


Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Codes of the values of a column, uint8 or uint16."""


Number = TypeVar("Number", float, Floats)
