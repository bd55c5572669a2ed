"""The real datasets (`catalogue.toml`): their files, downloads and tables; bundled pair
counts.
"""

import gzip
import hashlib
import io
import os
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from seepage import _checks
from seepage._results import Progress, whole_file
from seepage.data.datasets.survey import make_survey
from seepage.data.pairs import PairCounts
from seepage.errors import TableError

__all__ = ["BUNDLED", "DATASETS", "Dataset", "dataset", "load_pairs", "make_survey"]

FOLDER = resources.files("seepage.data.datasets")

BUNDLED = {"adult": "adult.parquet", "nist-acs": "nist_acs.parquet"}
"""Files of the pair counts bundled with the package, by dataset name."""

FOLDER_VARIABLE = "SEEPAGE_DATA"
"""Environment variable with the folder of the published files."""

TIMEOUT = 60
"""Timeout of a download, in seconds without a response."""


@dataclass(frozen=True)
class PublishedFile:
    """A file as published by its owner, plain or gzipped, in `download_folder()`.

    Parameters
    ----------
    path
        Its path relative to that folder, without `.gz`.
    sha256
        The checksum of the uncompressed content.
    """

    path: str
    sha256: str

    def locate(self) -> Path:
        """Return the local path of the file, plain or gzipped; that of a plain one if
        missing.
        """
        plain, packed = (download_folder() / (self.path + end) for end in ("", ".gz"))
        return packed if packed.is_file() and not plain.is_file() else plain

    def read(self) -> bytes:
        """Return the uncompressed content; a missing, damaged or altered file raises."""
        path = self.locate()
        try:
            content = path.read_bytes()
            if path.suffix == ".gz":
                content = gzip.decompress(content)
        except (gzip.BadGzipFile, EOFError, zlib.error) as reason:
            what = "is truncated, damaged or not a gzip file"
            raise TableError(f"{path.name} {what}: {reason}") from None
        except OSError as reason:
            raise TableError(f"{path} cannot be read: {reason.strerror}") from None
        self.check(content, path.name)
        return content

    def check(self, content: bytes, name: str) -> None:
        """Raise a TableError if the checksum of the content is not that of the
        published file.
        """
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise TableError(
                f"{name} is not the published file: its sha256 must be {self.sha256}, got {digest}"
            )


def download_folder() -> Path:
    """Return the folder of the published files: `SEEPAGE_DATA`, or the user's cache
    folder.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(FOLDER_VARIABLE) or cache / "seepage")


@dataclass(frozen=True)
class Dataset:
    """A published dataset.

    Parameters
    ----------
    name, title
        Short name, and a description in one line.
    files
        The published files.
    reader
        Function that reads the files into a PyArrow table.
    licence, citation, address
        Terms of use, reference, and the owner's page.
    archive
        URL of a zip archive of the files; None if automatic download is not allowed or
        possible.
    by_hand
        Instructions to obtain the files if `archive` is None.
    table
        Default table options of `count_pairs`: columns, bins.
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
    def missing(self) -> list[PublishedFile]:
        """The files that are not in `download_folder()`."""
        return [file for file in self.files if not file.locate().is_file()]

    @property
    def at_hand(self) -> bool:
        """Whether all files are in `download_folder()`."""
        return not self.missing

    def read(self) -> Any:
        """Return the records as a PyArrow table; a missing or altered file raises."""
        if self.missing:
            way = (
                f"`seepage datasets fetch {self.name}`"
                if self.archive
                else self.by_hand
            )
            raise TableError(
                f"dataset {self.name!r} is not at hand: there is no {self.missing[0].locate()}; "
                f"{way}"
            )
        return self.reader()

    def pairs(self) -> PairCounts:
        """Return the pair counts of the dataset with its default columns and bins."""
        from seepage.data.inputs import count_pairs

        return count_pairs(self.read(), **self.table)


def fetch(dataset: Dataset, progress: Progress | None = None) -> list[Path]:
    """Download the missing files of a dataset to `download_folder()`; return the paths
    of all.

    A file is kept only if its checksum is that of the published file.  A dataset
    without an `archive` raises a TableError with the instructions `by_hand`.

    Parameters
    ----------
    dataset
        The dataset.
    progress
        Called with the number of bytes received and their total, None if unknown.
    """
    missing = dataset.missing
    if missing:
        if dataset.archive is None:
            raise TableError(
                f"dataset {dataset.name!r} cannot be downloaded automatically "
                f"(licence: {dataset.licence}); {dataset.by_hand}; see {dataset.address}"
            )
        archive = _download(dataset, dataset.archive, progress)
        for file in missing:
            _extract(archive, file)
    return [file.locate() for file in dataset.files]


class _ProgressBar:
    """Adapter of a progress callback to the progress bar that Pooch expects."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.total: int | None = None
        self.done = 0

    def update(self, received: int) -> None:
        """Add bytes received, and report the progress."""
        self.done += received
        self.progress(self.done, self.total)

    def reset(self) -> None:
        """Restart at 0; Pooch calls it before the final update."""
        self.done = 0

    def close(self) -> None:
        """Do nothing; required by Pooch."""


def _download(dataset: Dataset, address: str, progress: Progress | None) -> io.BytesIO:
    """Return the archive of a dataset."""
    _checks.need("pooch", "pooch", "a download")
    import pooch
    from requests.exceptions import RequestException

    bar = _ProgressBar(progress) if progress is not None else False
    archive = io.BytesIO()
    try:
        pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)(address, archive, None)
    except (RequestException, OSError, ValueError) as problem:
        folder = (download_folder() / dataset.files[0].path).parent
        raise TableError(
            f"cannot download {address}: {_reason(problem)}; try again later, or take the files "
            f"from {dataset.address} and put them into {folder}"
        ) from None
    return archive


def _reason(problem: Exception) -> str:
    """Return a short reason why a download failed, without the address."""
    from requests import exceptions

    if isinstance(problem, exceptions.Timeout):
        return f"no answer within {TIMEOUT} s"
    if isinstance(problem, exceptions.HTTPError) and problem.response is not None:
        return f"the server answers {problem.response.status_code}"
    if isinstance(problem, exceptions.ConnectionError):
        return "no connection"
    return " ".join(str(problem).split())


def _extract(archive: io.BytesIO, file: PublishedFile) -> None:
    """Extract one file from a zip archive into `download_folder()`, its checksum
    verified.
    """
    name = Path(file.path).name
    try:
        with zipfile.ZipFile(archive) as members:
            member = next((m for m in members.namelist() if Path(m).name == name), None)
            if member is None:
                raise TableError(f"the downloaded archive does not contain {name}")
            content = members.read(member)
    except (zipfile.BadZipFile, zlib.error):
        raise TableError(
            "the downloaded archive is truncated or not a zip file"
        ) from None
    file.check(content, name)
    final = download_folder() / file.path
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise TableError(f"cannot write {str(final)!r}: {reason.strerror}") from None
    with whole_file(final) as output:
        output.write(content)


def _adult_text(data: bytes, test: bytes) -> bytes:
    """Join both files, without the first line of `adult.test` and the full stops at its
    ends.
    """
    return (data + test.split(b"\n", 1)[1].replace(b".\n", b"\n")).replace(b", ", b",")


def _celeba_text(content: bytes) -> bytes:
    """Leave out the number of records, name the first column, and separate by one
    blank.
    """
    _, header, body = content.split(b"\r\n", 2)
    return b" ".join([b"image", *header.split()]) + b"\n" + body.replace(b"  ", b" ")


def _scores_text(content: bytes) -> bytes:
    """Leave out a comment line, and the field that only the header has."""
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
    """Return published files as a PyArrow table.

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
    """Return the dataset of a table of the catalogue."""
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
    """Return a dataset by name.

    Examples
    --------
    >>> from seepage.data.datasets import dataset
    >>> dataset("celeba").licence
    'non-commercial research only; no redistribution'
    """
    return DATASETS[_checks.choice(name, "dataset", DATASETS)]


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
    _checks.input_path(name, "name")
    if name in BUNDLED:
        with resources.as_file(FOLDER / "bundled" / BUNDLED[str(name)]) as path:
            return PairCounts.load(path)
    if name in DATASETS:
        return DATASETS[str(name)].pairs()
    if not Path(name).is_file():
        known = {*BUNDLED, *DATASETS}
        hint = _checks.near_miss(name, known) or f"; known: {', '.join(sorted(known))}"
        raise TableError(f"there is no file and no dataset named {str(name)!r}{hint}")
    return PairCounts.load(name)
