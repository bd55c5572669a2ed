"""The real datasets, and the pair counts of those that may be bundled."""

from importlib import resources
from pathlib import Path

from seepage import _checks
from seepage.data.datasets import loaders
from seepage.data.datasets.catalogue import DATASETS, Dataset, dataset
from seepage.data.datasets.survey import make_survey
from seepage.data.pairs import PairCounts
from seepage.errors import TableError

__all__ = [
    "BUNDLED",
    "DATASETS",
    "Dataset",
    "dataset",
    "load_pairs",
    "loaders",
    "make_survey",
]

BUNDLED = {"adult": "adult.parquet", "nist-acs": "nist_acs.parquet"}
"""Pair counts that come with the package, by name."""


def load_pairs(name: str | Path) -> PairCounts:
    """Return pair counts: bundled, of a dataset at hand, or of a file of pair counts.

    Parameters
    ----------
    name
        A bundled name such as `"adult"`, the name of a dataset at hand such as `"celeba"`, or the
        path of a Parquet file of pair counts.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.load_pairs("adult")
    PairCounts(48,842 records, 15 attributes)
    """
    from seepage.data.pairs import PairCounts

    if name in BUNDLED:
        bundled = resources.files(__name__) / "bundled" / BUNDLED[str(name)]
        with resources.as_file(bundled) as path:
            return PairCounts.load(path)
    if name in DATASETS:
        return DATASETS[str(name)].pairs()
    if not Path(name).is_file():
        known = {*BUNDLED, *DATASETS}
        hint = _checks.near_miss(name, known) or f"; known: {', '.join(sorted(known))}"
        raise TableError(f"there is no file and no dataset named {str(name)!r}{hint}")
    return PairCounts.load(name)
