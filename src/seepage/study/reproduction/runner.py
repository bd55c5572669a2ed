"""Every table and figure of the paper, made one after the other and kept as files."""

import hashlib
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec
import numpy as np

from seepage import __version__, _checks
from seepage._files import whole_file
from seepage._results import Progress, csv_text, json_text
from seepage.charts.chart_files import save_chart
from seepage.data.datasets import BUNDLED, dataset
from seepage.errors import InputError
from seepage.study.reproduction import (
    error_tables,
    fig4_leakage,
    fig5_correlation,
    fig6_fig7_and_beyond,
    fig8_calibration,
)
from seepage.study.reproduction.findings import (
    PAPER,
    PICTURES,
    Finding,
    FinishedItem,
    PaperItem,
    absent,
)
from seepage.study.reproduction.paper_data import LABELS, Data
from seepage.study.reproduction.reproduction_page import make_page

Telling = Callable[[FinishedItem, bool], None]


@dataclass(frozen=True)
class Item:
    """A table or figure, or a group of statements, and how it is found.

    Parameters
    ----------
    paper
        What the paper shows.
    make
        Makes it from the data that it needs.
    """

    paper: PaperItem
    make: Callable[[Data, PaperItem], Finding]

    def find(self, data: Data) -> Finding:
        """Return what is found, or that the data without which there is nothing are missing."""
        missing = data.missing(*self.paper.needs)
        if missing:
            why = f"{' and '.join(missing)} not at hand"
            return Finding([], [absent("Everything", self.paper.place, why)])
        return self.make(data, self.paper)


ITEMS: dict[str, Item] = {
    name: Item(PAPER[name], make)
    for name, make in {
        "fig4a": fig4_leakage.find_mechanisms,
        "fig4b": fig4_leakage.find_over_budgets,
        "fig4c": fig4_leakage.find_heat_map,
        "fig4d": fig4_leakage.find_histogram,
        "fig5": fig5_correlation.find,
        "example": fig5_correlation.find_example,
        "table1": error_tables.find_table_one,
        "table2": error_tables.find_table_two,
        "fig6": fig6_fig7_and_beyond.find_analysers,
        "fig7": fig6_fig7_and_beyond.find_mechanisms,
        "fig8": fig8_calibration.find,
        "observations": fig5_correlation.find_observations,
        "beyond": fig6_fig7_and_beyond.find_beyond,
    }.items()
}
"""Every item by its name."""


def reproduce(
    names: Iterable[str] = (),
    folder: str | Path = "reproduction",
    *,
    again: bool = False,
    progress: Progress | None = None,
    tell: Telling | None = None,
) -> list[FinishedItem]:
    """Reproduce items of the paper into a folder: tables, charts, and one page for all.

    An item that the folder has already, from the same data and the same code, is kept.  After
    each item its files and the page are complete, so a run may be stopped at any time and
    continued by the same call.

    Parameters
    ----------
    names
        Items by name, see `ITEMS`; all by default.
    folder
        Where to write; made if it does not exist.
    again
        Make items that are kept already once more.
    progress
        Called with the number of items done and of those asked for.
    tell
        Called with each item, and whether it was made now.

    Returns
    -------
    list
        The items asked for, in the registry's order.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [item] = reproduce(["example"], folder)
    >>> sorted({one.verdict for one in item.comparisons})
    ['agrees', 'ours']
    """
    asked = {_checks.choice(name, "item", ITEMS) for name in names} or set(ITEMS)
    place = _made(Path(folder))
    data = Data()
    done: list[FinishedItem] = []
    for name in (name for name in ITEMS if name in asked):
        item = ITEMS[name]
        digest = _inputs_digest(name, item.paper)
        kept = _load(name, place)
        made = again or kept is None or kept.digest != digest
        if made:
            begin = time.perf_counter()
            found = item.find(data)
            kept = _keep(name, item.paper, found, digest, time.perf_counter() - begin, place)
        assert kept is not None
        done.append(kept)
        if made or len(done) == len(asked):
            _finish(place)
        if tell is not None:
            tell(kept, made)
        if progress is not None:
            progress(len(done), len(asked))
    return done


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"cannot make the folder {str(folder)!r}: {problem.strerror}") from None
    return folder


def _finish(folder: Path) -> None:
    """Write the page and the numbers of every item that the folder has."""
    kept = [found for name in ITEMS if (found := _load(name, folder)) is not None]
    _write(folder / "numbers.json", json_text({one.item: one.numbers for one in kept}))
    papers = {name: item.paper for name, item in ITEMS.items()}
    _write(folder / "index.html", make_page(papers, kept, folder))


def _inputs_digest(name: str, item: PaperItem) -> str:
    """Return the digest of an item's inputs: the data at hand, the code and NumPy's version."""
    parts = [name, _code_digest(), np.__version__]
    for used in item.data:
        files = [file.sha256 for file in dataset(used).files] if dataset(used).at_hand else []
        parts.append(f"{used} {_state(used)} {files}")
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


def _keep(
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
        _write(folder / f"{name}.csv", csv_text(columns))
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
    _write(folder / f"{name}.json", json_text(msgspec.to_builtins(kept)))
    return kept


def _load(name: str, folder: Path) -> FinishedItem | None:
    """Return a kept item whose files are all there; None if there is none."""
    try:
        content = (folder / f"{name}.json").read_bytes()
        kept = msgspec.json.decode(content, type=FinishedItem)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return kept if all((folder / file).is_file() for file in kept.files) else None


def _write(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode())


def _state(name: str) -> str:
    if dataset(name).at_hand:
        return "at hand"
    return "pair counts bundled" if name in BUNDLED else "not at hand"
