"""How the paper may have read its data for Tables I and II, and errors of estimates from each."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from seepage._numerics import Floats
from seepage.charts.scatter import agreement_chart
from seepage.data.pairs import PairCounts
from seepage.study.reproduction.paper_data import STAND_INS, Data, plug_in

__all__ = [
    "COLLECTIONS",
    "EPSILONS",
    "SEARCHED",
    "Errors",
    "Reading",
    "error_chart",
    "nmse",
    "readings",
]

EPSILONS = (1.0, 3.0)

COLLECTIONS = 8
"""Draws of all reports behind a mean error, where a rare value makes single ones differ widely."""

SEARCHED = (
    "The paper does not list the columns and bins of its tables, so scripts/search_readings.py "
    "tries many. What is called a near reading here was chosen because it comes near Table II; "
    "that Table II comes out of it is therefore no confirmation.",
    "Adult: 2,720 combinations, 2,312 of them different, of: 2 to 10 quantile bins or 3 to 10 bins "
    "of equal width for all numbers; with and without fnlwgt, education, education-num and "
    "native-country; missing values as a category, or records with one left out; records with a "
    "category of fewer than 50, 100, 200 or 500 records left out or kept. 9 of the different ones "
    "meet all sixteen errors of Table II within 15 %. The near reading here is one of them: 5 "
    "quantile bins, without education (education-num says the same) and native-country, records "
    "with missing values and categories of fewer than 50 records left out. The nearest of all, "
    "within 7.4 %, has 4 quantile bins and no fnlwgt.",
    "CVD: 384 million different tables. Beside the seven attributes, each of the five numbers is "
    "left out or in 2 to 12 bins by quantiles, of equal width or by k-means, or in round and "
    "clinical bands, an edge belonging to the bin above or to that below. 19,175 of them meet the "
    "twelve errors of Table II for RAPPOR, EXP, OUE, BLH, OLH and SHE within 5 %, and those of GRR "
    "and SS at epsilon 1 within 15 %; Table II cannot tell these apart. The near reading here is "
    "one of the simplest of them, of those that come near Table I as well: height in 6 quantile "
    "bins, weight in bands of 20 kg, ap_hi in 2 quantile bins.",
)
"""Notes of both tables: what was tried to find out how the paper read its data."""


class Errors(NamedTuple):
    """The NMSE of estimates over several collections, and how many estimates are infinite."""

    mean: float
    lowest: float
    highest: float
    infinite: int


class Reading(NamedTuple):
    """A table as the paper may have read it.

    Parameters
    ----------
    label
        What it is called on the page: the dataset, then the reading.
    paper
        Under which name the paper prints numbers beside it; empty for none.
    pairs
        Its pair counts.
    collections
        How many draws of all reports the errors are means of.
    wider
        Counts of some of the columns with more records: estimates of pairs among those come from
        here, while the theory is that of `pairs`.
    """

    label: str
    paper: str
    pairs: PairCounts
    collections: int = 1
    wider: PairCounts | None = None

    def estimates(self, mechanism: Any, epsilon: float) -> Iterator[Floats]:
        """Yield the estimates of each collection."""
        for collection in range(self.collections):
            found = plug_in(self.pairs, mechanism, epsilon, collection)
            if self.wider is not None:
                among = [self.pairs.domain.index(name) for name in self.wider.domain.names]
                found = found.copy()
                found[np.ix_(among, among)] = plug_in(self.wider, mechanism, epsilon, collection)
            yield found

    def errors(self, mechanism: Any, epsilon: float, theory: Floats) -> Errors:
        """Return how far estimates are from a theory."""
        found = [nmse(one, theory) for one in self.estimates(mechanism, epsilon)]
        values = [value for value, _ in found]
        infinite = max(count for _, count in found)
        return Errors(float(np.mean(values)), min(values), max(values), infinite)


def readings(data: Data) -> list[Reading]:
    """Return the readings of both tables, of the datasets at hand."""
    found = [Reading(label, label, pairs) for label, pairs in data.some("celeba").items()]
    if data.records_at_hand("adult"):
        found.append(Reading("Adult, near reading", "Adult", data.near_adult, COLLECTIONS))
    if data.records_at_hand("cardio"):
        found.append(Reading("CVD, near reading", "CVD", data.near_cardio, COLLECTIONS))
    for label, pairs in data.some("adult", "cardio").items():
        found.append(Reading(f"{label}, documented columns", label, pairs))
    return found + [Reading(label, "", pairs) for label, pairs in data.some(*STAND_INS).items()]


def nmse(estimates: Floats, theory: Floats) -> tuple[float, int]:
    """Return sum (L~ - L*)^2 / sum (L*)^2 over ordered pairs, and how many estimates are infinite.

    Infinite ones, of a report never seen under some target value, are left out of both sums; a
    table without a single one of them must have left such values out.
    """
    others = ~np.eye(len(theory), dtype=np.bool_)
    finite = others & np.isfinite(estimates)
    error = ((estimates[finite] - theory[finite]) ** 2).sum() / (theory[finite] ** 2).sum()
    return float(error), int((others & ~finite).sum())


def error_chart(rows: list[dict[str, Any]]) -> Any:
    """Return printed errors against ours, the near readings and the documented columns."""
    points = [
        {
            "panel": panel,
            "series": row["data"].partition(",")[0],
            "kind": row["mechanism"],
            "label": f"epsilon {row['epsilon']}",
            "x": row["paper"],
            "y": row["nmse"],
        }
        for panel in ("Near reading", "Documented columns")
        for row in rows
        if row["paper"] is not None
        and row["data"].partition(", ")[2] in ("", panel[0].lower() + panel[1:])
    ]
    return agreement_chart(points, "NMSE printed in the paper", "NMSE, ours")
