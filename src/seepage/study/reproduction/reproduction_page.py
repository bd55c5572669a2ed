"""One self-contained HTML page of all finished items, without scripts or external resources."""

import base64
import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from seepage import __version__
from seepage._pages import render_page
from seepage.study.reproduction.findings import (
    VERDICTS,
    Comparison,
    FinishedItem,
    PaperItem,
    Verdict,
)

SAME = 1e-6
"""Relative tolerance within which a number equals that of the committed run."""

MAX_ROWS = 60
"""Maximum number of rows of a table on the page; longer ones are in their files only."""

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
        "The paper, reproduced",
        styles=["reproduction"],
        images="data:",
        version=__version__,
        verdicts=VERDICTS,
        papers=items,
        sections={item.item: _section(item, folder, expected.get(item.item, {})) for item in made},
        missing=sorted({name for name, state in states if state == "not at hand"}),
        rounded=_rounded,
    )


def expected_numbers() -> dict[str, dict[str, float]]:
    """Return the numbers of the full run that is committed with the package."""
    return msgspec.json.decode(_file("expected.json"), type=dict[str, dict[str, float]])


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
        "table": _data_table(item, folder),
        "footer": _footer(item, expected),
    }


def _group(name: str, members: list[Comparison]) -> dict[str, Any]:
    """Return comparisons under one heading; open if some were compared and there are few."""
    compared = any(member.verdict not in ("ours", "no data") for member in members)
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


def _data_table(item: FinishedItem, folder: Path) -> list[list[str]]:
    """Return the item's table with its titles; [] if it is empty or longer than `MAX_ROWS`."""
    if not 0 < item.rows <= MAX_ROWS:
        return []
    with (folder / f"{item.item}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


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


def _rounded(text: str) -> str:
    """Return a number of more than 6 characters with 4 digits; other texts unchanged."""
    try:
        return text if len(text) <= 6 else f"{float(text):.4g}"
    except ValueError:
        return text


def _file(name: str) -> str:
    return (resources.files("seepage.study.reproduction") / name).read_text(encoding="utf-8")
