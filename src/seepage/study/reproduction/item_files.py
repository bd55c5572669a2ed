"""Finished items as files in a folder, each with a digest of all that went into it."""

import csv
import hashlib
import io
import math
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seepage._files import whole_file
from seepage._version import __version__
from seepage.charts import save_chart
from seepage.data.datasets import BUNDLED, dataset
from seepage.study.reproduction.findings import Comparison, Finding, Row
from seepage.study.reproduction.items import Item
from seepage.study.reproduction.paper_data import LABELS, Data

__all__ = ["Kept", "inputs_digest", "keep", "load", "numbers", "table", "write_text"]

PICTURES = ("svg", "png")


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


def inputs_digest(item: Item, data: Data) -> str:
    """Return the digest of an item's inputs: the data at hand, the code and NumPy's version."""
    parts = [item.name, _code_digest(), np.__version__]
    for name in item.data:
        place = "bundled" if name in BUNDLED else ""
        files = [file.sha256 for file in dataset(name).files] if data.records_at_hand(name) else []
        parts.append(f"{name} {place} {files}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _code_digest() -> str:
    """Return the digest of the package: whatever it computes may depend on any part of it."""
    content = hashlib.sha256(__version__.encode())
    root = Path(str(resources.files("seepage")))
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.parquet")]):
        content.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return content.hexdigest()


def keep(item: Item, finding: Finding, digest: str, seconds: float, folder: Path) -> Kept:
    """Write an item's table, charts and, last of all, its JSON; return what was kept.

    What an earlier run left of the item is removed first.
    """
    for old in [*folder.glob(f"{item.name}.*"), *folder.glob(f"{item.name}-?.*")]:
        old.unlink()
    charts = []
    for letter, chart in finding.charts.items():
        name = f"{item.name}-{letter}" if letter else item.name
        charts.append(name)
        for kind in PICTURES:
            save_chart(chart, folder / f"{name}.{kind}")
    if finding.rows:
        write_text(folder / f"{item.name}.csv", _csv(finding.rows))
    kept = Kept(
        item=item.name,
        digest=digest,
        version=__version__,
        seconds=round(seconds, 1),
        data={LABELS[name]: _state(name) for name in item.data},
        shows=finding.shows,
        comparisons=[_exact(one) for one in finding.comparisons],
        notes=list(finding.notes),
        charts=charts,
        rows=len(finding.rows),
    )
    encoded = msgspec.json.format(msgspec.json.encode(kept), indent=1)
    write_text(folder / f"{item.name}.json", encoded.decode())
    return kept


def load(name: str, folder: Path) -> Kept | None:
    """Return a kept item whose files are all there; None if there is none."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Kept)
    except msgspec.MsgspecError:
        return None
    return kept if all((folder / file).is_file() for file in kept.files) else None


def table(name: str, folder: Path) -> list[dict[str, str]]:
    """Return the rows of an item's CSV file."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def numbers(kept: Iterable[Kept]) -> dict[str, dict[str, float]]:
    """Return every number of ours by item and name: what a later run is compared with."""
    return {
        one.item: {c.what: c.ours for c in one.comparisons if c.ours is not None} for one in kept
    }


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode())


def _csv(rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer: Any = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return text.getvalue()


def _state(name: str) -> str:
    if dataset(name).at_hand:
        return "at hand"
    return "pair counts bundled" if name in BUNDLED else "not at hand"


def _exact(one: Comparison) -> Comparison:
    """Return a comparison whose number JSON can hold; refuse what is none."""
    assert one.ours is None or math.isfinite(one.ours), one.what
    return one
