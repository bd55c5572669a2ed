"""The values of one column and their codes, found on the way or given by a domain."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from seepage._numerics import Booleans, Integers
from seepage.data.domain import MISSING, OTHER, Attribute
from seepage.data.table.labels import Key, field_key, key_label, sort_key
from seepage.errors import TableError


class ManyNumbers(Exception):  # noqa: N818
    """A column has more numbers than there may be categories of numbers: it needs bins."""


class OutsideDomain(Exception):  # noqa: N818
    """A value has no code: it is not in the given domain, or outside the bins.

    Attributes
    ----------
    position
        Its place, counted from the batch's start.
    missing
        Whether it is a missing value.
    """

    def __init__(self, position: int = 0, *, missing: bool = False) -> None:
        super().__init__(position, missing)
        self.position = position
        self.missing = missing


def labels_of(markers: Iterable[str]) -> frozenset[str]:
    """Return the labels that stand for missing values, from what an option lists."""
    return frozenset({MISSING, *(key_label(field_key(marker)) for marker in markers)})


class FoundAlphabet:
    """Codes in the order in which the values are found.

    Parameters
    ----------
    name
        The column's name, for messages.
    few
        More numbers than this raise `ManyNumbers`, unless some value is no number; None for any.
    most
        More values than this raise an error.
    markers
        Labels that stand for a missing value.
    unbinned
        Why a column of numbers has no bins, and what helps, for messages.
    """

    given = False
    outside = None

    def __init__(
        self,
        name: str,
        *,
        few: int | None,
        most: int,
        markers: frozenset[str],
        unbinned: str | None = None,
    ) -> None:
        self._name = name
        self._unbinned = unbinned
        self._few = few
        self._most = most
        self._markers = markers
        self._codes: dict[str, int] = {}
        self._keys: list[Key] = []
        self._words = 0

    @property
    def size(self) -> int:
        """The number of values so far, the missing one included."""
        return len(self._codes)

    @property
    def missing(self) -> int | None:
        """The code of missing values, None before the first one."""
        return self._codes.get(MISSING)

    def code(self, key: Key) -> int:
        """Return the code of a value: the next one where it was not met before."""
        label = key_label(key)
        if label in self._markers:
            label, key = MISSING, None
        if label not in self._codes:
            self._codes[label] = len(self._codes)
            self._keys.append(key)
            self._words += isinstance(key, str)
            self._check_number()
        return self._codes[label]

    def admit_outside(self) -> int | None:
        """Return None: no value is outside."""
        return None

    def _check_number(self) -> None:
        values = self.size - (MISSING in self._codes)
        if self._few is not None and values > self._few and not self._words:
            raise ManyNumbers
        if values > self._most:
            raise TableError(
                f"column {self._name!r} has more than {self._most:,} values; {self._ways_out()}"
            )

    def _ways_out(self) -> str:
        ways = "drop it (drop) or raise the limit (max_values)"
        if self._unbinned is not None:
            return f"{self._unbinned} {ways}"
        return ways if self._words else f"bin it (bins), {ways}"

    def attribute(self, seen: Booleans | None = None) -> tuple[Attribute, Integers]:
        """Return the values (numbers, text, missing last) and their codes.

        `seen` says, where records with missing values were dropped, which codes are left.
        """
        found = list(enumerate(self._keys))
        if seen is not None:
            found = [(code, key) for code, key in found if key is not None and seen[code]]
        found.sort(key=lambda pair: sort_key(pair[1]))
        codes = np.array([code for code, _ in found], dtype=np.int64)
        return Attribute(self._name, tuple(key_label(key) for _, key in found)), codes


class GivenAlphabet:
    """The codes of a given attribute; a value outside it raises `OutsideDomain`.

    Where the attribute has the value "(other)", values outside have its code, and so have missing
    values unless they have a category of their own.

    Parameters
    ----------
    attribute
        The attribute of the domain.
    markers
        Labels that stand for a missing value.
    dropping
        Whether records with missing values are dropped: missing then needs no category, and has
        the code behind the last.  The next one is for values outside the domain, until it is
        known whether their records are dropped: see `seepage.data.table.column.complete_records`.
    pooling
        Whether "(other)" is for values outside.
    """

    given = True

    def __init__(
        self,
        attribute: Attribute,
        *,
        markers: frozenset[str],
        dropping: bool,
        pooling: bool = True,
    ) -> None:
        self.outside: int | None = None
        self._attribute = attribute
        self._markers = markers
        self._dropping = dropping
        self._codes = {value: code for code, value in enumerate(attribute.values)}
        self._other = self._codes.get(OTHER) if pooling else None
        if dropping:
            self._codes.setdefault(MISSING, attribute.size)

    @property
    def size(self) -> int:
        """The number of codes: of the values, and of what is in records to be dropped."""
        return self._attribute.size + (2 if self.outside is not None else 0)

    @property
    def missing(self) -> int | None:
        """The code of missing values, None where they are outside the domain."""
        return self._codes.get(MISSING)

    def code(self, key: Key) -> int:
        """Return the code of a value."""
        label = key_label(key)
        if label in self._markers:
            label = MISSING
        code = self._codes.get(label, self._other)
        if code is None:
            raise OutsideDomain(missing=label == MISSING)
        return code

    def admit_outside(self) -> int | None:
        """Return the code of values outside, None where they raise an error."""
        if self._dropping:
            self.outside = self._attribute.size + 1
        return self.outside

    def attribute(self, seen: Booleans | None = None) -> tuple[Attribute, Integers]:
        """Return the given attribute, and its codes as they are."""
        return self._attribute, np.arange(self._attribute.size, dtype=np.int64)


Alphabet: TypeAlias = FoundAlphabet | GivenAlphabet
"""The codes of a column's values."""
