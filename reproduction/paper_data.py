"""The datasets of the reproduction, each read once, and the paper's estimates from
them.

The paper does not state the columns and bins of its tables.  The *near reading* of a
dataset is a choice of columns and bins, found by a documented search, whose Table II is
close to the printed one; for CVD, where thousands are, one whose Table I is close as
well.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property, lru_cache
from itertools import permutations
from typing import Any

import numpy as np

from seepage._core.arrays import Floats
from seepage.benchmarks.correlation import Metric, correlation_matrix
from seepage.benchmarks.statistical.estimate_leakage import (
    estimate_leakage,
    make_task,
    mechanisms_of,
    plug_in_estimate,
)
from seepage.benchmarks.statistical.estimates import EstimateSettings, LeakageEstimates
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.datasets.catalogue import BUNDLED, dataset, load_pairs
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.base import Mechanism
from seepage.tables.read import count_pairs
from seepage.totals.total import total_leakage
from seepage.totals.total_result import TotalLeakage

REPLICAS = 50
"""Reports per record in a statistical estimate [paper, section III-B]."""


SEED = 2025
"""Seed of all simulations, so that reruns give the same numbers."""


MECHANISMS = {
    name: name.upper()
    for name in ("grr", "rappor", "exp", "oue", "blh", "olh", "ss", "she")
}
"""The names of the paper's eight mechanisms on the page, in the order of its Table
II."""


def ordered_pairs(matrix: Floats) -> Floats:
    """Return the off-diagonal entries of a matrix, row-major."""
    return np.asarray(matrix[~np.eye(len(matrix), dtype=np.bool_)])


def grr_leakages(pairs: PairCounts, epsilon: float = 1.0) -> Floats:
    """Return the leakages of GRR between all ordered pairs of attributes."""
    return ordered_pairs(leakage_matrix(pairs, epsilon, mechanism="grr").values)


def correlations(pairs: PairCounts, metric: Metric) -> Floats:
    """Return a measure of correlation of all ordered pairs of attributes."""
    return ordered_pairs(correlation_matrix(pairs, metric).values)


def estimated(
    data: Any, mechanism: Any, epsilon: float, **options: Any
) -> LeakageEstimates:
    """Return the paper's statistical estimates, by default without surrogates."""
    settings = {"replicas": REPLICAS, "surrogates": 0, "rng": SEED, **options}
    return estimate_leakage(data, epsilon, mechanism=mechanism, **settings)


@lru_cache(maxsize=512)
def plug_in(
    pairs: PairCounts,
    mechanism: str | tuple[Mechanism, ...],
    epsilon: float,
    collection: int = 0,
) -> Floats:
    """Return the matrix of the paper's plug-in estimates; the diagonal is NaN.

    As `estimate_leakage`, without the intervals, which take most of its time.  Each
    `collection` is an independent draw of all reports.  Estimates are cached, since
    several items use them.
    """
    settings = EstimateSettings(replicas=REPLICAS, rng=SEED + collection)
    mechanisms = mechanisms_of(pairs.domain, epsilon, mechanism)
    count = len(pairs.domain)
    found = np.full((count, count), np.nan)
    for key in permutations(range(count), 2):
        task = make_task(pairs, mechanisms, key)
        found[key] = plug_in_estimate(task, task.collect(settings))[0]
    return found


def exact_and_summed(
    people: Records, epsilon: float
) -> tuple[TotalLeakage, TotalLeakage]:
    """Return the exact totals of GRR reports, and the paper's sums of leakages."""
    exact = total_leakage(people, epsilon, mechanism="grr", guarantee="exact")
    return exact, total_leakage(
        people.pairs(), epsilon, mechanism="grr", guarantee="sum"
    )


LABELS = {
    "celeba": "CelebA",
    "adult": "Adult",
    "cardio": "CVD",
    "diabetes130": "Diabetes 130",
    "nist-acs": "NIST ACS",
    "lfw": "LFW",
}
"""The names of the datasets on the page."""


STAND_INS = ("diabetes130", "nist-acs")
"""Substitutes for DSS, of which no copy was found; their results are not results on
DSS."""


ALL = ("celeba", "adult", "cardio", *STAND_INS)
"""The datasets of the paper's tables, with substitutes for DSS."""


NEAR_ADULT = "Adult, near reading"


ADULT_NUMBERS = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)
"""The numeric columns of Adult."""


RARE = 50
"""Minimum number of records of each category in the near reading of Adult."""


WEIGHT_BANDS = [0.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0, np.inf]
"""Bin edges of weight in the near reading of CVD, in kg."""


PRESENT = "at hand"


ABSENT = "not at hand"


PAPERS = ("celeba", "adult", "cardio")
"""The paper's datasets at hand."""


def standing(label: str) -> dict[str, str]:
    """Return what speaks against calling agreement on a dataset a confirmation, if
    anything.
    """
    if label in {LABELS[name] for name in STAND_INS}:
        return {"untestable": "a stand-in for DSS, of which no copy was found"}
    if "near reading" in label:
        return {
            "chosen": "columns and bins chosen to come near Table II",
            "unknown": "the paper does not list its columns and bins",
        }
    if "documented" in label:
        return {
            "chosen": "the documented columns; the paper does not list its own",
            "unknown": "the paper does not list its columns and bins",
        }
    if label.startswith(("Adult", "CVD")) or label == LABELS["lfw"]:
        return {"unknown": "the paper does not list its columns and bins"}
    return {}


def other_datasets(numbers: Mapping[str, float], label: str) -> list[float]:
    """Return the numbers of tables of other datasets than that of a label.

    Examples
    --------
    >>> other_datasets({"CVD": 1.0, "Adult": 2.0, "Adult, near reading": 3.0}, "Adult")
    [1.0]
    """
    dataset = label.partition(",")[0]
    return [
        number
        for other, number in numbers.items()
        if other.partition(",")[0] != dataset
    ]


def presence(name: str) -> str:
    """Return whether a dataset is present on this machine, or its pair counts are
    bundled.
    """
    if dataset(name).at_hand:
        return PRESENT
    return "pair counts bundled" if name in BUNDLED else ABSENT


def missing(names: Iterable[str]) -> list[str]:
    """Return the labels of the datasets of which not even pair counts are at hand."""
    return [LABELS[name] for name in names if presence(name) == ABSENT]


class Data:
    """The datasets present on this machine, each read at most once."""

    def __init__(self, load: Callable[[str], PairCounts] = load_pairs) -> None:
        self.pairs = cache(load)
        """From the name of a dataset to its pair counts, with its documented columns
        and bins."""

    def some(self, *names: str) -> dict[str, PairCounts]:
        """Return the pair counts of those of the datasets that are present, by
        label.
        """
        return {
            LABELS[name]: self.pairs(name) for name in names if presence(name) != ABSENT
        }

    def every_table(self) -> dict[str, PairCounts]:
        """Return the pair counts of all datasets present, and the near reading of
        Adult.
        """
        near = {NEAR_ADULT: self.near_adult} if presence("adult") == PRESENT else {}
        return self.some(*ALL) | near

    @cached_property
    def celeba(self) -> Records:
        """The records of CelebA."""
        return Records.from_data(dataset("celeba").read())

    @cached_property
    def near_adult(self) -> PairCounts:
        """Adult without education (equivalent to education-num) and native-country.

        Numbers in at most 5 quantile bins; without records that have a missing value or
        a category of fewer than `RARE` records.
        """
        columns = dataset("adult").read().drop_columns(["education", "native-country"])
        table = common_records(columns.drop_null(), ADULT_NUMBERS)
        return count_pairs(table, bins=dict.fromkeys(ADULT_NUMBERS, "quantile:5"))

    @cached_property
    def near_cardio(self) -> PairCounts:
        """CVD's seven attributes, height, weight and systolic pressure.

        Height in 6 quantile bins, weight in bands of 20 kg, ap_hi in 2 quantile bins.
        The lightest band, below 40 kg, has 52 records.
        """
        bins: Any = {
            "height": "quantile:6",
            "weight": WEIGHT_BANDS,
            "ap_hi": "quantile:2",
        }
        columns = [*self.pairs("cardio").domain.names, *bins]
        return count_pairs(dataset("cardio").read(), columns=columns, bins=bins)


def common_records(table: Any, numbers: tuple[str, ...], min_count: int = RARE) -> Any:
    """Return the records without rare categories: each has `min_count` records of the
    result.

    Numeric columns, `numbers`, are not looked at.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    while True:
        mask = pa.array(np.ones(table.num_rows, dtype=np.bool_))
        for name in table.column_names:
            if name not in numbers:
                counts = pc.value_counts(table[name])
                is_common = pc.greater_equal(counts.field("counts"), min_count)
                common = counts.field("values").filter(is_common)
                mask = pc.and_(mask, pc.is_in(table[name], value_set=common))
        filtered = table.filter(mask)
        if filtered.num_rows == table.num_rows:
            return table
        table = filtered
