"""Every table and figure of the paper, made one after the other and kept as files."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from seepage import _checks
from seepage._results import Progress, json_text
from seepage.errors import InputError
from seepage.study.reproduction import (
    beyond_the_paper,
    error_tables,
    fig4_leakage,
    fig5_correlation,
    fig6_fig7_benchmarks,
    fig8_calibration,
)
from seepage.study.reproduction.findings import PAPER, Finding, PaperItem, absent
from seepage.study.reproduction.item_files import (
    FinishedItem,
    inputs_digest,
    keep,
    load,
    numbers,
    write_text,
)
from seepage.study.reproduction.paper_data import Data
from seepage.study.reproduction.reproduction_page import make_page

__all__ = ["ITEMS", "Item", "reproduce"]

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
        "fig6": fig6_fig7_benchmarks.find_analysers,
        "fig7": fig6_fig7_benchmarks.find_mechanisms,
        "fig8": fig8_calibration.find,
        "observations": fig5_correlation.find_observations,
        "beyond": beyond_the_paper.find,
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
        digest = inputs_digest(name, item.paper, data)
        kept = load(name, place)
        made = again or kept is None or kept.digest != digest
        if made:
            begin = time.perf_counter()
            found = item.find(data)
            kept = keep(name, item.paper, found, digest, time.perf_counter() - begin, place)
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
    kept = [found for name in ITEMS if (found := load(name, folder)) is not None]
    write_text(folder / "numbers.json", json_text(numbers(kept)))
    papers = {name: item.paper for name, item in ITEMS.items()}
    write_text(folder / "index.html", make_page(papers, kept, folder))
