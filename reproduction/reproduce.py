"""`reproduce`: compute the tables and figures of the paper, save them as files and one
page.
"""

import base64
import math
import time
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from reproduction.beyond import beyond
from reproduction.deltas import deltas
from reproduction.fig4_leakage import fig4a, fig4b, fig4c, fig4d, significance
from reproduction.fig5_correlation import fig5, observations
from reproduction.fig6_analysers import fig6
from reproduction.fig7_utility import fig7
from reproduction.fig8_budgets import fig8
from reproduction.findings import (
    CONTRADICTIONS,
    PAPER,
    VERDICTS,
    Comparison,
    Finding,
    verdict_counts,
)
from reproduction.paper_data import LABELS, STAND_INS, Data, missing, presence
from reproduction.paper_tables import table1, table2
from reproduction.worked_example import example
from seepage import __version__
from seepage._core import checks
from seepage._core.errors import InputError, Setting
from seepage._core.files import write_folder, write_text
from seepage._core.progress import Progress
from seepage._core.results import csv_text, json_text
from seepage.charts.chart_files import save_chart
from seepage.pages.render import render_page

TITLE = "The paper, reproduced"


TEMPLATES = Path(__file__).parent / "templates"


MAX_OPEN = 24
"""Maximum number of comparisons of a group that is open initially."""


ITEMS: dict[str, Callable[[Data, Finding], None]] = {
    "fig4a": fig4a,
    "fig4b": fig4b,
    "fig4c": fig4c,
    "fig4d": fig4d,
    "significance": significance,
    "fig5": fig5,
    "example": example,
    "table1": table1,
    "table2": table2,
    "fig6": fig6,
    "fig7": fig7,
    "fig8": fig8,
    "deltas": deltas,
    "observations": observations,
    "beyond": beyond,
}
"""The functions of the items by name, in the order of the paper."""


def compute(name: str, data: Data) -> Finding:
    """Return the results of an item; without comparisons if a required dataset is
    missing.
    """
    found = Finding(name, PAPER[name])
    start = time.perf_counter()
    if needed := missing(found.paper.needs):
        reason = f"{' and '.join(needed)} not at hand"
        found.not_compared("Everything", found.paper.place, reason)
    else:
        ITEMS[name](data, found)
        papers = [name for name in found.paper.data if name not in STAND_INS]
        found.not_compared_on([*missing(papers), "DSS"])
    found.seconds = time.perf_counter() - start
    assert len({one.what for one in found.comparisons}) == len(found.comparisons)
    assert all(map(math.isfinite, found.numbers.values()))
    return found


def reproduce(
    names: Iterable[str] = (),
    folder: str | Path = "build/reproduction",
    *,
    force: bool = False,
    progress: Progress | None = None,
    on_item: Callable[[Finding], None] | None = None,
) -> list[Finding]:
    """Reproduce items of the paper into a folder: tables, charts, and one page for all.

    After each item its files and the page are complete, so that a run may be stopped at
    any time.

    Parameters
    ----------
    names
        Items by name, see `ITEMS`; all by default.
    folder
        The output folder; created if it does not exist.
    force
        Write into a folder that holds files of something else, and replace those of the
        same name.
    progress
        Called with the number of items done and of all items requested.
    on_item
        Called with each item.

    Returns
    -------
    list
        The requested items, in the order of `ITEMS`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [item] = reproduce(["example"], folder)
    >>> item.verdicts
    {'confirmed': 11, 'consistent': 3, 'ours': 1}
    """
    requested = {checks.choice(name, "item", ITEMS) for name in names} or set(ITEMS)
    output = Path(folder)
    if not force:
        _check_folder(output)
    data = Data()
    done = list[Finding]()
    write_folder(
        output, {"index.html": make_page(done, output).encode()}, TITLE, force=True
    )
    for name in (name for name in ITEMS if name in requested):
        done.append(compute(name, data))
        _save(done[-1], output)
        numbers = {item.item: item.numbers for item in done}
        write_text(output / "numbers.json", json_text(numbers))
        write_text(output / "index.html", make_page(done, output))
        if on_item is not None:
            on_item(done[-1])
        if progress is not None:
            progress(len(done), len(requested))
    return done


def _check_folder(folder: Path) -> None:
    """Raise unless a folder is new, empty or of an earlier run, which begins with its
    page.
    """
    page = folder / "index.html"
    if page.is_file():
        ours = TITLE.encode() in page.read_bytes()
    else:
        ours = not folder.is_dir() or not any(folder.iterdir())
    if not ours:
        raise InputError(
            f"the folder {str(folder)!r} holds other files than those of an earlier "
            "run; choose a new one, or write into it (",
            Setting("force"),
            ")",
        )


def _save(item: Finding, folder: Path) -> None:
    """Write an item's charts and its table."""
    for title, chart in item.pictures.items():
        for kind in ("svg", "png"):
            save_chart(chart, folder / f"{title}.{kind}")
    if item.rows:
        columns = {key: [row[key] for row in item.rows] for key in item.rows[0]}
        write_text(folder / f"{item.item}.csv", csv_text(columns))


def make_page(items: list[Finding], folder: Path) -> str:
    """Return the page of the items, self-contained and without scripts; all texts are
    escaped.
    """
    used = {name for item in items for name in item.paper.data}
    return render_page(
        "reproduction.html",
        TITLE,
        styles=["reproduction"],
        images="data:",
        folder=str(TEMPLATES),
        version=__version__,
        verdicts=VERDICTS,
        counts=dict.fromkeys(VERDICTS, 0)
        | verdict_counts(one for item in items for one in item.comparisons),
        contradictions=CONTRADICTIONS,
        papers=PAPER,
        sections={item.item: _section(item, folder) for item in items},
        missing=sorted(missing(used)),
    )


def _section(item: Finding, folder: Path) -> dict[str, Any]:
    """Return an item with its pictures as base64, its comparisons by group, and its
    data.
    """
    groups = groupby(item.comparisons, key=lambda comparison: comparison.group)
    pictures = [(folder / f"{title}.svg").read_bytes() for title in item.pictures]
    data = (
        ", ".join(f"{LABELS[name]} ({presence(name)})" for name in item.paper.data)
        or "none"
    )
    table = f"; table: {item.item}.csv ({len(item.rows):,} rows)" if item.rows else ""
    return {
        "item": item,
        "pictures": [base64.b64encode(picture).decode() for picture in pictures],
        "groups": [_group(name, list(members)) for name, members in groups],
        "footer": f"Data: {data}{table}.",
    }


def _group(name: str, members: list[Comparison]) -> dict[str, Any]:
    """Return comparisons under one heading; open if some were compared and there are
    few.
    """
    counts = verdict_counts(members)
    compared = counts.keys() - {"ours", "not testable"}
    is_open = bool(compared) and len(members) <= MAX_OPEN
    return {"name": name, "rows": members, "counts": counts, "open": is_open}
