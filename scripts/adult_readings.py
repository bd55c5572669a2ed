"""The search over readings of Adult: numbers binned alike, some columns and records
left out.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from reading_grid import leakages
from reproduction.findings import PAPER
from reproduction.paper_data import ADULT_NUMBERS, MECHANISMS, common_records
from reproduction.paper_tables import EPSILONS, nmse
from seepage._core.arrays import Floats
from seepage.channel.domain import MISSING
from seepage.datasets.catalogue import dataset
from seepage.tables.read import count_pairs

__all__ = ["Tried", "errors_of", "print_adult_search", "tried"]

RULES = [
    *(f"quantile:{bins}" for bins in range(2, 11)),
    *(f"width:{bins}" for bins in range(3, 11)),
]
LEFT_OUT = [(), ("education",), ("native-country",), ("education", "native-country")]
NUMBERS_LEFT_OUT = [(), ("fnlwgt",), ("education-num",), ("fnlwgt", "education-num")]
RAREST = (0, 50, 100, 200, 500)
NEAR = 0.15
"""How near each error must come to the printed one."""


class Tried(NamedTuple):
    """A reading, and its sixteen errors in the order of Table II, epsilon 1 first."""

    label: str
    errors: Floats

    @property
    def deviation(self) -> float:
        """The largest relative deviation from the printed errors."""
        printed = np.array(
            [PAPER["table2"].table[f"Adult, {epsilon:g}"] for epsilon in EPSILONS]
        ).ravel()
        return float(np.abs(self.errors / printed - 1).max())


def tried() -> Iterator[Tried]:
    """Yield every reading once, as often as a combination leads to it."""
    records = dataset("adult").read()
    for missing, columns in product(("left out", "a category"), LEFT_OUT):
        table = records.drop_columns(list(columns)) if columns else records
        table = table.drop_null() if missing == "left out" else _filled(table)
        known: dict[int, list[Tried]] = {}
        for least in RAREST:
            kept = common_records(table, ADULT_NUMBERS, least)
            label = f"missing {missing}, without {columns}, records seen {least} times"
            if kept.num_rows not in known:
                known[kept.num_rows] = list(_binned(kept, label))
            yield from known[kept.num_rows]


def _filled(table: Any) -> Any:
    """Return the table with missing values as a category."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.table(
        {
            name: pc.fill_null(table[name], MISSING)
            if table[name].null_count
            else table[name]
            for name in table.column_names
        }
    )


def _binned(table: Any, label: str) -> Iterator[Tried]:
    """Yield the readings of some records: every rule of binning, with and without some
    numbers.
    """
    for rule in RULES:
        pairs = count_pairs(table, bins=dict.fromkeys(ADULT_NUMBERS, rule))
        for numbers in NUMBERS_LEFT_OUT:
            chosen = [name for name in pairs.domain.names if name not in numbers]
            yield Tried(f"{rule}, without {numbers}, {label}", errors_of(pairs, chosen))


def errors_of(pairs: Any, chosen: list[str]) -> Floats:
    """Return the errors of Table II without noise, of some of the columns."""
    places = [pairs.domain.index(name) for name in chosen]
    own = np.ix_(places, places)
    return np.array(
        [
            nmse(leakages(pairs, epsilon, name)[own], leakages(pairs, epsilon)[own])[0]
            for epsilon in EPSILONS
            for name in MECHANISMS
        ]
    )


def print_adult_search() -> None:
    """Print how many readings were tried, and those that meet Table II."""
    found = list(tried())
    different = list({one.errors.tobytes(): one for one in found}.values())
    near = sorted(
        (one for one in different if one.deviation <= NEAR),
        key=lambda one: one.deviation,
    )
    print(
        f"Adult: {len(found):,} readings tried, {len(different):,} different, "
        f"{len(near)} meet all sixteen errors of Table II within {NEAR:.0%}; largest "
        "deviation of each:"
    )
    for one in near:
        print(f"{one.deviation:.1%}: {one.label}")
    print()
