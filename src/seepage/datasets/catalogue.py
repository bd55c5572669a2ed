"""The datasets that `seepage` knows: what they are, where they come from, how they are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seepage import _checks
from seepage.datasets.files import PublishedFile, download_folder
from seepage.errors import TableError
from seepage.pairs import PairCounts

__all__ = ["DATASETS", "Dataset", "dataset"]


@dataclass(frozen=True)
class Dataset:
    """A published dataset.

    Parameters
    ----------
    name, title
        The short name, and one line on what it holds.
    files
        The published files.
    reader
        Reads them into a PyArrow table.
    licence, citation, address
        Under which terms, whom to cite, and the owner's page.
    archive
        Where the files may be downloaded from by a program; None where that is not allowed or
        not possible, and `by_hand` says what to do.
    by_hand
        How to obtain the files where they cannot be fetched.
    table
        How the columns become attributes: options of `count_pairs` (bins, columns).
    """

    name: str
    title: str
    files: tuple[PublishedFile, ...]
    reader: Callable[[], Any]
    licence: str
    citation: str
    address: str
    archive: str | None = None
    by_hand: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)

    @property
    def at_hand(self) -> bool:
        """Whether every file is there to be read."""
        return all(file.locate() is not None for file in self.files)

    def read(self) -> Any:
        """Return the records as a PyArrow table; a missing or altered file is refused."""
        missing = [file.path for file in self.files if file.locate() is None]
        if missing:
            way = f"`seepage datasets fetch {self.name}`" if self.archive else self.by_hand
            raise TableError(
                f"dataset {self.name!r} is not at hand: there is no "
                f"{download_folder() / missing[0]}; {way}"
            )
        return self.reader()

    def pairs(self) -> PairCounts:
        """Return the pair counts of the dataset with its documented columns and bins."""
        from seepage.counting import count_pairs

        return count_pairs(self.read(), **self.table)


DATASETS: dict[str, Dataset] = {}


def add(found: Dataset) -> Dataset:
    """Add a dataset under its name, which is taken only once."""
    if DATASETS.setdefault(found.name, found) is not found:
        raise TableError(f"a dataset named {found.name!r} is known already")
    return found


def dataset(name: str) -> Dataset:
    """Return a dataset by name.

    Examples
    --------
    >>> from seepage.datasets import dataset
    >>> dataset("celeba").licence
    'non-commercial research only; no redistribution'
    """
    return DATASETS[_checks.choice(name, "dataset", DATASETS)]
