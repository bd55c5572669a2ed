"""The real datasets (`catalogue.toml`): their files and tables; bundled pair counts."""

import io
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from seepage._core import checks
from seepage._core.errors import TableError
from seepage.channel.pairs import PairCounts
from seepage.datasets.published_file import Dataset, PublishedFile
from seepage.datasets.survey import make_survey

__all__ = ["BUNDLED", "DATASETS", "Dataset", "dataset", "load_pairs", "make_survey"]


FOLDER = resources.files("seepage.datasets")
"""The folder of the bundled pair counts."""


BUNDLED = {"adult": "adult.parquet", "nist-acs": "nist_acs.parquet"}
"""Files of the pair counts bundled with the package, by dataset name."""


def _adult_text(data: bytes, test: bytes) -> bytes:
    """Return the text of the catalogue's adult dataset: both files joined, without the
    first line of `adult.test` and the full stops at its ends.
    """
    return (data + test.split(b"\n", 1)[1].replace(b".\n", b"\n")).replace(b", ", b",")


def _celeba_text(content: bytes) -> bytes:
    """Return the text of the catalogue's CelebA dataset: without the number of records,
    the first column named, and separated by one blank.
    """
    _, header, body = content.split(b"\r\n", 2)
    return b" ".join([b"image", *header.split()]) + b"\n" + body.replace(b"  ", b" ")


def _scores_text(content: bytes) -> bytes:
    """Return the text of the catalogue's dataset of scores, without a comment line and
    the field that only the header has.
    """
    return content.split(b"\n", 1)[1].split(b"\t", 1)[1]


TEXT_OF: dict[str, Callable[..., bytes]] = {
    "adult": _adult_text,
    "celeba": _celeba_text,
    "lfw-scores": _scores_text,
}
"""Functions from the contents of published files to delimited text, where they are
not."""


def read_files(
    files: Sequence[PublishedFile],
    text_of: Callable[..., bytes],
    *,
    read: Mapping[str, Any] = {},
    parse: Mapping[str, Any] = {},
    convert: Mapping[str, Any] = {},
    drop: Sequence[str] = (),
) -> Any:
    """Return the published files of a dataset of the catalogue as a PyArrow table.

    Parameters
    ----------
    files, text_of
        The files, and the function from their contents to delimited text.
    read, parse, convert
        Options of `pyarrow.csv`: of `ReadOptions`, `ParseOptions` and `ConvertOptions`.
    drop
        Columns to leave out.
    """
    from pyarrow import csv

    text = io.BytesIO(text_of(*(file.read() for file in files)))
    options = (
        csv.ReadOptions(**read),
        csv.ParseOptions(**parse),
        csv.ConvertOptions(**convert),
    )
    return csv.read_csv(text, *options).drop_columns(list(drop))


def _known_dataset(
    name: str, files: dict[str, str] | None = None, csv: Any = None, **entries: Any
) -> Dataset:
    """Return a dataset of the catalogue with the options of its table."""
    published = tuple(PublishedFile(*entry) for entry in (files or {}).items())
    read = partial(read_files, published, TEXT_OF.get(name, bytes), **csv or {})
    return Dataset(
        name, files=published, reader=read if published else make_survey, **entries
    )


DATASETS: dict[str, Dataset] = {
    name: _known_dataset(name, **entries)
    for name, entries in tomllib.loads(
        (FOLDER / "catalogue.toml").read_text("utf-8")
    ).items()
}
"""All datasets by name."""


def dataset(name: str) -> Dataset:
    """Return a dataset of the catalogue by name.

    Examples
    --------
    >>> from seepage.datasets.catalogue import dataset
    >>> dataset("celeba").licence
    'non-commercial research only; no redistribution'
    """
    return DATASETS[checks.choice(name, "dataset", DATASETS)]


def load_pairs(name: str | Path) -> PairCounts:
    """Return the pair counts of a dataset, or of a file of pair counts.

    Parameters
    ----------
    name
        A dataset whose counts are bundled, such as `"adult"`, or whose files are in
        `SEEPAGE_DATA`, such as `"celeba"`; or the path of a Parquet file of pair
        counts.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.load_pairs("adult")
    PairCounts(48,842 records, 15 attributes)
    """
    checks.input_path(name, "name")
    if name in BUNDLED:
        with resources.as_file(FOLDER / "bundled" / BUNDLED[str(name)]) as path:
            return PairCounts.load(path)
    if name in DATASETS:
        return DATASETS[str(name)].pairs()
    if not Path(name).is_file():
        known = {*BUNDLED, *DATASETS}
        hint = checks.near_miss(name, known) or f"; known: {', '.join(sorted(known))}"
        raise TableError(f"there is no file and no dataset named {str(name)!r}{hint}")
    return PairCounts.load(name)
