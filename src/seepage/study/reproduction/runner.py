"""Running items one after the other, each kept when it is finished."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from seepage import _checks
from seepage.errors import InputError
from seepage.study.reproduction.item_files import (
    Kept,
    inputs_digest,
    keep,
    load,
    numbers,
    write_text,
)
from seepage.study.reproduction.items import ITEMS
from seepage.study.reproduction.paper_data import Data
from seepage.study.reproduction.reproduction_page import make_page

__all__ = ["reproduce"]

Progress = Callable[[int, int], None]
Telling = Callable[[Kept, bool], None]


def reproduce(
    names: Iterable[str] = (),
    folder: str | Path = "reproduction",
    *,
    again: bool = False,
    progress: Progress | None = None,
    tell: Telling | None = None,
) -> list[Kept]:
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
    done: list[Kept] = []
    for name, item in ITEMS.items():
        if name not in asked:
            continue
        digest = inputs_digest(item, data)
        kept = load(name, place)
        made = again or kept is None or kept.digest != digest
        if made:
            begin = time.perf_counter()
            kept = keep(item, item.find(data), digest, time.perf_counter() - begin, place)
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
    encoded = msgspec.json.format(msgspec.json.encode(numbers(kept)), indent=1)
    write_text(folder / "numbers.json", encoded.decode())
    write_text(folder / "index.html", make_page(kept, folder))
