"""The data of the items, each dataset read once, and the paper's estimates from them.

The paper does not say which columns and bins its tables rest on.  What is found by trying is
here, as the *near reading* of a dataset: a choice of columns and bins, out of a stated search,
whose Table II comes near the printed one; for CVD, where thousands do, one whose Table I does as
well.
"""

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.data.datasets import BUNDLED, dataset, load_pairs
from seepage.data.inputs import count_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.study.estimates import LeakageEstimates
from seepage.study.statistical import estimate_leakage
from seepage.totals import TotalLeakage, total_leakage

REPLICAS = 50
"""How often each record reports in a statistical estimate [paper, section III-B]."""

SEED = 2025
"""Seed of every random draw: the same run gives the same numbers."""

MECHANISMS = {
    "grr": "GRR",
    "rappor": "RAPPOR",
    "exp": "EXP",
    "oue": "OUE",
    "blh": "BLH",
    "olh": "OLH",
    "ss": "SS",
    "she": "SHE",
}
"""The paper's eight, in the order of its Table II."""


def ordered_pairs(matrix: Floats) -> Floats:
    """Return the entries of a matrix but for its diagonal."""
    return np.asarray(matrix[~np.eye(len(matrix), dtype=np.bool_)])


def estimated(data: Any, mechanism: Any, epsilon: float, **options: Any) -> LeakageEstimates:
    """Return the paper's statistical estimates, without surrogates unless options say so."""
    settings = {"replicas": REPLICAS, "surrogates": 0, "seed": SEED, **options}
    return estimate_leakage(data, epsilon, mechanism=mechanism, **settings)


def plug_in(pairs: PairCounts, mechanism: Any, epsilon: float, collection: int = 0) -> Floats:
    """Return the paper's statistical estimate of every leakage; the diagonal is NaN.

    Each `collection` is another draw of all reports.  Estimates of a mechanism by name are
    remembered, for several items need the same.
    """
    made = _remembered if isinstance(mechanism, str) else _plug_in
    return made(pairs, mechanism, epsilon, SEED + collection)


def _plug_in(pairs: PairCounts, mechanism: Any, epsilon: float, seed: int) -> Floats:
    return estimated(pairs, mechanism, epsilon, seed=seed).plug_in


_remembered = lru_cache(maxsize=512)(_plug_in)


def exact_and_summed(people: Records, epsilon: float) -> tuple[TotalLeakage, TotalLeakage]:
    """Return the exact totals of GRR reports, and the paper's sums of leakages."""
    exact = total_leakage(people, epsilon, mechanism="grr", guarantee="exact")
    return exact, total_leakage(people.pairs(), epsilon, mechanism="grr", guarantee="independent")


LABELS = {
    "celeba": "CelebA",
    "adult": "Adult",
    "cardio": "CVD",
    "diabetes130": "Diabetes 130",
    "nist-acs": "NIST ACS",
    "lfw": "LFW",
    "lfw-scores": "LFW scores",
}
"""The names on the page."""

STAND_INS = ("diabetes130", "nist-acs")
"""In the place of DSS, of which no copy was found; their results are not results on DSS."""

ALL = ("celeba", "adult", "cardio", *STAND_INS)

NEAR_ADULT = "Adult, near reading"

ADULT_NUMBERS = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)
RARE = 50
"""Records with a category seen fewer times are left out of the near reading of Adult."""

WEIGHT_BANDS = [0.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0, np.inf]
"""Edges, in kg, of the near reading of CVD."""


def is_stand_in(label: str) -> bool:
    """Return whether a label is that of a dataset in the place of DSS."""
    return label in {LABELS[name] for name in STAND_INS}


class Data:
    """The datasets at hand, each read at most once."""

    def __init__(self) -> None:
        self._pairs: dict[str, PairCounts] = {}

    def at_hand(self, name: str) -> bool:
        """Return whether the pair counts of a dataset can be had."""
        return name in BUNDLED or dataset(name).at_hand

    def records_at_hand(self, name: str) -> bool:
        """Return whether the records themselves can be read."""
        return dataset(name).at_hand

    def missing(self, *names: str) -> list[str]:
        """Return the labels of those datasets that are not at hand."""
        return [LABELS[name] for name in names if not self.at_hand(name)]

    def pairs(self, name: str) -> PairCounts:
        """Return the pair counts of a dataset with its documented columns and bins."""
        if name not in self._pairs:
            self._pairs[name] = load_pairs(name)
        return self._pairs[name]

    def some(self, *names: str) -> dict[str, PairCounts]:
        """Return the pair counts of those datasets that are at hand, by label."""
        return {LABELS[name]: self.pairs(name) for name in names if self.at_hand(name)}

    def every_table(self) -> dict[str, PairCounts]:
        """Return the pair counts of all datasets at hand, and the near reading of Adult."""
        near = {NEAR_ADULT: self.near_adult} if self.records_at_hand("adult") else {}
        return self.some(*ALL) | near

    def absent_labels(self, *names: str) -> list[str]:
        """Return the labels of datasets of the paper that are not at hand, DSS among them."""
        return [*self.missing(*(names or ALL)), "DSS"]

    @cached_property
    def celeba(self) -> Records:
        """The people of CelebA as distinct records."""
        return Records.from_data(dataset("celeba").read())

    @cached_property
    def near_adult(self) -> PairCounts:
        """Adult without education (education-num says the same) and native-country.

        Numbers in at most 5 quantile bins, records with a missing value or with a category of
        fewer than `RARE` records left out.
        """
        kept = common_records(_fewer_columns().drop_null(), ADULT_NUMBERS)
        return count_pairs(kept, bins=dict.fromkeys(ADULT_NUMBERS, "quantile:5"))

    @cached_property
    def incomplete_adult(self) -> PairCounts:
        """The columns of `near_adult` without missing values, incomplete records included.

        The bins are those of `near_adult`.
        """
        table = common_records(_fewer_columns(), ADULT_NUMBERS)
        known = [name for name in table.column_names if not table[name].null_count]
        inner = {name: self.near_adult.domain[name].edges[1:-1] for name in ADULT_NUMBERS}
        bins = {name: [-np.inf, *edges, np.inf] for name, edges in inner.items()}
        return count_pairs(table.select(known), bins=bins)

    @cached_property
    def near_cardio(self) -> PairCounts:
        """CVD's seven attributes, height, weight and systolic pressure.

        Height in 6 quantile bins, weight in bands of 20 kg, ap_hi in 2 quantile bins.  The
        lightest band, below 40 kg, has 52 records.
        """
        return self._binned_cardio(WEIGHT_BANDS)

    @cached_property
    def merged_cardio(self) -> PairCounts:
        """`near_cardio` with its outer bands of weight merged into their neighbours."""
        return self._binned_cardio([WEIGHT_BANDS[0], *WEIGHT_BANDS[2:-2], WEIGHT_BANDS[-1]])

    def _binned_cardio(self, weights: list[float]) -> PairCounts:
        bins = {"height": "quantile:6", "weight": weights, "ap_hi": "quantile:2"}
        columns = [*self.pairs("cardio").domain.names, *bins]
        return count_pairs(dataset("cardio").read(), columns=columns, bins=bins)


def _fewer_columns() -> Any:
    """Return the records of Adult without education and native-country."""
    return dataset("adult").read().drop_columns(["education", "native-country"])


def common_records(table: Any, numbers: tuple[str, ...], least: int = RARE) -> Any:
    """Return the records all of whose categories are seen at least so many times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    while True:
        kept = pa.array(np.ones(table.num_rows, dtype=np.bool_))
        for name in table.column_names:
            if name not in numbers:
                seen = pc.value_counts(table[name])
                often = seen.field("values").filter(pc.greater_equal(seen.field("counts"), least))
                kept = pc.and_(kept, pc.is_in(table[name], value_set=often))
        fewer = table.filter(kept)
        if fewer.num_rows == table.num_rows:
            return table
        table = fewer
