"""Finished items as files in a folder, each with a digest of all that went into it."""

import csv
import hashlib
import math
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec
import numpy as np

from seepage._files import whole_file
from seepage._results import csv_text, json_text
from seepage._version import __version__
from seepage.charts import save_chart
from seepage.data.datasets import BUNDLED, dataset
from seepage.study.reproduction.findings import Comparison, Finding, PaperItem
from seepage.study.reproduction.paper_data import LABELS, Data

__all__ = ["FinishedItem", "inputs_digest", "keep", "load", "numbers", "table", "write_text"]

PICTURES = ("svg", "png")


class FinishedItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finished item, as its JSON file has it; its table and charts are files of their own."""

    item: str
    digest: str
    version: str
    seconds: float
    data: dict[str, str]
    shows: str
    comparisons: list[Comparison]
    notes: list[str]
    charts: list[str]
    rows: int

    @property
    def files(self) -> list[str]:
        """The names of the item's other files."""
        pictures = [f"{chart}.{kind}" for chart in self.charts for kind in PICTURES]
        return [*pictures, *([f"{self.item}.csv"] if self.rows else [])]


def inputs_digest(name: str, item: PaperItem, data: Data) -> str:
    """Return the digest of an item's inputs: the data at hand, the code and NumPy's version."""
    parts = [name, _code_digest(), np.__version__]
    for used in item.data:
        place = "bundled" if used in BUNDLED else ""
        files = [file.sha256 for file in dataset(used).files] if data.records_at_hand(used) else []
        parts.append(f"{used} {place} {files}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _code_digest() -> str:
    """Return the digest of the package: whatever it computes may depend on any part of it."""
    content = hashlib.sha256(__version__.encode())
    root = Path(str(resources.files("seepage")))
    for path in sorted(root.rglob("*.*")):
        if path.suffix in (".py", ".parquet", ".toml"):
            content.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return content.hexdigest()


def keep(
    name: str, item: PaperItem, finding: Finding, digest: str, seconds: float, folder: Path
) -> FinishedItem:
    """Write an item's table, charts and, last of all, its JSON; return what was kept.

    What an earlier run left of the item is removed first.
    """
    for old in [*folder.glob(f"{name}.*"), *folder.glob(f"{name}-?.*")]:
        old.unlink()
    charts = {f"{name}-{key}" if key else name: chart for key, chart in finding.charts.items()}
    for title, chart in charts.items():
        for kind in PICTURES:
            save_chart(chart, folder / f"{title}.{kind}")
    if finding.rows:
        columns = {key: [row[key] for row in finding.rows] for key in finding.rows[0]}
        write_text(folder / f"{name}.csv", csv_text(columns))
    assert all(one.ours is None or math.isfinite(one.ours) for one in finding.comparisons)
    kept = FinishedItem(
        item=name,
        digest=digest,
        version=__version__,
        seconds=round(seconds, 1),
        data={LABELS[used]: _state(used) for used in item.data},
        shows=item.shows,
        comparisons=list(finding.comparisons),
        notes=[note.format(**finding.words) for note in item.notes] if finding.rows else [],
        charts=list(charts),
        rows=len(finding.rows),
    )
    write_text(folder / f"{name}.json", json_text(msgspec.to_builtins(kept)))
    return kept


def load(name: str, folder: Path) -> FinishedItem | None:
    """Return a kept item whose files are all there; None if there is none."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=FinishedItem)
    except msgspec.MsgspecError:
        return None
    return kept if all((folder / file).is_file() for file in kept.files) else None


def table(name: str, folder: Path) -> list[dict[str, str]]:
    """Return the rows of an item's CSV file."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def numbers(kept: Iterable[FinishedItem]) -> dict[str, dict[str, float]]:
    """Return every number of ours by item and name: what a later run is compared with."""
    return {
        one.item: {c.what: c.ours for c in one.comparisons if c.ours is not None} for one in kept
    }


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode())


def _state(name: str) -> str:
    if dataset(name).at_hand:
        return "at hand"
    return "pair counts bundled" if name in BUNDLED else "not at hand"
