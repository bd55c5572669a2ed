"""The real datasets, and the pair counts of those that may be bundled."""

from importlib.resources import as_file, files
from pathlib import Path

from seepage import _checks
from seepage.errors import TableError
from seepage.pairs import PairCounts

__all__ = ["BUNDLED", "load_pairs"]

BUNDLED = {"adult": "adult.parquet"}
"""Pair counts that come with the package, by name."""


def load_pairs(name: str | Path) -> PairCounts:
    """Return bundled pair counts by name, or those of a file that `save_pairs` wrote.

    Parameters
    ----------
    name
        `"adult"`, or the path of a Parquet file of pair counts.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.load_pairs("adult")
    PairCounts(48,842 records, 15 attributes)
    """
    from seepage.pairs_io import load_pairs_file

    if name in BUNDLED:
        with as_file(files(__name__) / "bundled" / BUNDLED[str(name)]) as path:
            return load_pairs_file(path)
    if not Path(name).is_file():
        hint = _checks.near_miss(name, BUNDLED) or f"; bundled: {', '.join(BUNDLED)}"
        raise TableError(f"there is no file and no bundled pair counts named {str(name)!r}{hint}")
    return load_pairs_file(name)
