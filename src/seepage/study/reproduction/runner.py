"""`reproduce`: compute the tables and figures of the paper, save them as files and one page."""

import base64
import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seepage import __version__, _checks
from seepage._files import write_text
from seepage._pages import render_page
from seepage._results import Progress, csv_text, json_text
from seepage.charts.chart_files import save_chart
from seepage.data.datasets import BUNDLED, dataset
from seepage.errors import InputError, Setting
from seepage.study.reproduction import fig4_fig5_leakage, fig7_fig8_beyond, tables_fig6
from seepage.study.reproduction.findings import (
    CONTRADICTIONS,
    PAPER,
    PICTURES,
    VERDICTS,
    Comparison,
    Finding,
    FinishedItem,
    PaperItem,
    Verdict,
    not_compared,
)
from seepage.study.reproduction.paper_data import LABELS, Data

ItemCallback = Callable[[FinishedItem, bool], None]


@dataclass(frozen=True)
class Item:
    """A table or figure, or a group of statements, with the function that computes it.

    Parameters
    ----------
    paper
        What the paper shows.
    make
        Computes the results from the datasets.
    """

    paper: PaperItem
    make: Callable[[Data, Finding], None]

    def compute(self, data: Data) -> Finding:
        """Return the results; without comparisons if a required dataset is missing."""
        found = Finding(self.paper)
        missing = data.missing(*self.paper.needs)
        if missing:
            reason = f"{' and '.join(missing)} not at hand"
            found.comparisons.append(not_compared("Everything", self.paper.place, reason))
        else:
            self.make(data, found)
        return found


_MAKERS = {**vars(fig4_fig5_leakage), **vars(tables_fig6), **vars(fig7_fig8_beyond)}

ITEMS = {name: Item(paper, _MAKERS[name]) for name, paper in PAPER.items()}
"""The items by name, in the order of the paper; the function of each has its name."""


def reproduce(
    names: Iterable[str] = (),
    folder: str | Path = "reproduction",
    *,
    again: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    on_item: ItemCallback | None = None,
) -> list[FinishedItem]:
    """Reproduce items of the paper into a folder: tables, charts, and one page for all.

    Items that are in the folder already, from the same data and the same code, are not computed
    again.  After each item its files and the page are complete, so a run may be interrupted at any
    time and continued by the same call.

    Parameters
    ----------
    names
        Items by name, see `ITEMS`; all by default.
    folder
        The output folder; created if it does not exist.
    again
        Compute finished items again.
    force
        Write into a folder that holds files of something else, and replace those of the same name.
    progress
        Called with the number of items done and of all items requested.
    on_item
        Called with each item, and whether it was computed in this run.

    Returns
    -------
    list
        The requested items, in the order of `ITEMS`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [item] = reproduce(["example"], folder)
    >>> sorted({comparison.verdict for comparison in item.comparisons})
    ['confirmed', 'consistent', 'ours']
    """
    requested = {_checks.choice(name, "item", ITEMS) for name in names} or set(ITEMS)
    output = Path(folder)
    if not force:
        _check_folder(output)
    _created(output)
    _write_summary(output)
    data = Data()
    done: list[FinishedItem] = []
    for name in (name for name in ITEMS if name in requested):
        item = ITEMS[name]
        digest = _inputs_digest(name, item.paper)
        finished = _load(name, output)
        computed = again or finished is None or finished.digest != digest
        if computed:
            start = time.perf_counter()
            finding = item.compute(data)
            seconds = time.perf_counter() - start
            finished = _save(name, item.paper, finding, digest, seconds, output)
        assert finished is not None
        done.append(finished)
        if computed or len(done) == len(requested):
            _write_summary(output)
        if on_item is not None:
            on_item(finished, computed)
        if progress is not None:
            progress(len(done), len(requested))
    return done


def _check_folder(folder: Path) -> None:
    """Raise unless a folder is new, empty or of an earlier run, which begins with its page."""
    page = folder / "index.html"
    if page.is_file():
        ours = TITLE.encode() in page.read_bytes()
    else:
        ours = not folder.is_dir() or not any(folder.iterdir())
    if not ours:
        raise InputError(
            f"the folder {str(folder)!r} holds other files than those of an earlier run; choose a "
            "new one, or write into it (",
            Setting("force"),
            ")",
        )


def _created(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"cannot make the folder {str(folder)!r}: {problem.strerror}") from None


def _write_summary(folder: Path) -> None:
    """Write the page and the numbers of all finished items in the folder."""
    finished = [item for name in ITEMS if (item := _load(name, folder)) is not None]
    write_text(folder / "numbers.json", json_text({item.item: item.numbers for item in finished}))
    papers = {name: item.paper for name, item in ITEMS.items()}
    write_text(folder / "index.html", make_page(papers, finished, folder))


def _inputs_digest(name: str, item: PaperItem) -> str:
    """Return the digest of an item's inputs: the datasets, the code and NumPy's version."""
    parts = [name, _code_digest(), np.__version__]
    for used in item.data:
        files = [file.sha256 for file in dataset(used).files] if dataset(used).at_hand else []
        parts.append(f"{used} {_state(used)} {files}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _code_digest() -> str:
    """Return the digest of the whole package: results may depend on any part of it."""
    content = hashlib.sha256(__version__.encode())
    root = Path(str(resources.files("seepage")))
    for path in sorted(root.rglob("*.*")):
        if path.suffix in (".py", ".parquet", ".toml"):
            content.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return content.hexdigest()


def _save(
    name: str, item: PaperItem, finding: Finding, digest: str, seconds: float, folder: Path
) -> FinishedItem:
    """Write an item's table and charts, then its JSON file; return the content of the latter.

    The item's files of earlier runs are removed first.
    """
    for ending in ("json", "csv", *PICTURES):
        for old in [folder / f"{name}.{ending}", *folder.glob(f"{name}-?.{ending}")]:
            old.unlink(missing_ok=True)
    charts = {f"{name}-{key}" if key else name: chart for key, chart in finding.charts.items()}
    for title, chart in charts.items():
        for kind in PICTURES:
            save_chart(chart, folder / f"{title}.{kind}")
    if finding.rows:
        columns = {key: [row[key] for row in finding.rows] for key in finding.rows[0]}
        write_text(folder / f"{name}.csv", csv_text(columns))
    numbers = {comparison.what: comparison.ours for comparison in finding.comparisons}
    assert len(numbers) == len(finding.comparisons)
    assert all(number is None or math.isfinite(number) for number in numbers.values())
    finished = FinishedItem(
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
    write_text(folder / f"{name}.json", json_text(msgspec.to_builtins(finished)))
    return finished


def _load(name: str, folder: Path) -> FinishedItem | None:
    """Return a finished item from the folder; None if any of its files is missing or damaged."""
    try:
        content = (folder / f"{name}.json").read_bytes()
        finished = msgspec.json.decode(content, type=FinishedItem)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return finished if all((folder / file).is_file() for file in finished.files) else None


def _state(name: str) -> str:
    if dataset(name).at_hand:
        return "at hand"
    return "pair counts bundled" if name in BUNDLED else "not at hand"


# The page: self-contained, without scripts or external resources ---------------------------------

TITLE = "The paper, reproduced"

SAME = 1e-6
"""Relative tolerance within which a number equals that of the committed run."""

MAX_OPEN = 24
"""Maximum number of comparisons of a group that is open initially."""


def make_page(
    items: Mapping[str, PaperItem], finished: Iterable[FinishedItem], folder: Path
) -> str:
    """Return the page of all finished items; all texts are escaped."""
    expected, made = expected_numbers(), list(finished)
    states = [state for item in made for state in item.data.items()]
    return render_page(
        "reproduction.html",
        TITLE,
        styles=["reproduction"],
        images="data:",
        version=__version__,
        verdicts=VERDICTS,
        counts=Counter(one.verdict for item in made for one in item.comparisons),
        contradictions=CONTRADICTIONS,
        papers=items,
        sections={item.item: _section(item, folder, expected.get(item.item, {})) for item in made},
        missing=sorted({name for name, state in states if state == "not at hand"}),
    )


def expected_numbers() -> dict[str, dict[str, float]]:
    """Return the numbers of the full run that is committed with the package."""
    content = Path(__file__).with_name("expected.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, dict[str, float]])


def differences(numbers: Mapping[str, float], expected: Mapping[str, float]) -> list[str]:
    """Return the common names whose numbers differ from those of the committed run.

    Examples
    --------
    >>> differences({"a": 1.0, "b": 2.0}, {"a": 1.0 + 1e-9, "b": 2.1})
    ['b']
    """
    return [
        name
        for name, value in numbers.items()
        if name in expected and abs(value - expected[name]) > SAME * max(abs(expected[name]), SAME)
    ]


def _section(item: FinishedItem, folder: Path, expected: Mapping[str, float]) -> dict[str, Any]:
    """Return an item with its pictures as base64, its comparisons by group, and its table."""
    groups = groupby(item.comparisons, key=lambda comparison: comparison.group)
    return {
        "item": item,
        "counts": _verdict_counts(item.comparisons),
        "pictures": [
            base64.b64encode((folder / f"{chart}.svg").read_bytes()).decode()
            for chart in item.charts
        ],
        "groups": [_group(name, list(members)) for name, members in groups],
        "footer": _footer(item, expected),
    }


def _group(name: str, members: list[Comparison]) -> dict[str, Any]:
    """Return comparisons under one heading; open if some were compared and there are few."""
    compared = any(member.verdict not in ("ours", "not testable") for member in members)
    return {
        "name": name,
        "rows": members,
        "counts": _verdict_counts(members),
        "open": compared and len(members) <= MAX_OPEN,
    }


def _verdict_counts(comparisons: Iterable[Comparison]) -> dict[Verdict, int]:
    """Return the number of comparisons with each verdict, positive numbers only."""
    counts = Counter(comparison.verdict for comparison in comparisons)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def _footer(item: FinishedItem, expected: Mapping[str, float]) -> str:
    """Return the datasets used, and the agreement with the numbers of the committed run."""
    data = ", ".join(f"{name} ({state})" for name, state in item.data.items()) or "none"
    table = f"table: {item.item}.csv ({item.rows:,} rows); " if item.rows else ""
    numbers = item.numbers
    shared, different = len(numbers.keys() & expected.keys()), differences(numbers, expected)
    same = f"{shared - len(different)} of {len(expected)} numbers as in the committed run"
    if different:
        same += f", different: {', '.join(map(repr, different))}"
    return f"Data: {data}; {table}{same}; inputs {item.digest[:12]}."
