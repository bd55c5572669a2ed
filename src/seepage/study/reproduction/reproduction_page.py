"""One self-contained page of all kept items: no scripts, nothing loaded from elsewhere."""

import base64
import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from itertools import groupby
from pathlib import Path
from string import Template

import msgspec

from seepage import __version__
from seepage._pages import Markup, element, joined
from seepage.study.reproduction.findings import (
    VERDICTS,
    Comparison,
    FinishedItem,
    PaperItem,
    Verdict,
)

SAME = 1e-6
"""To what relative difference a number is that of the committed run."""

MAX_ROWS = 60
"""A longer table is not on the page, only in its file."""

OPEN_UP_TO = 24
"""A group of more comparisons is folded, and one that compares nothing."""

WORDS: dict[Verdict, str] = {
    "agrees": "✓ agrees",
    "explained": "△ deviates, explained",
    "deviates": "✗ deviates",
    "no data": "– no data",
    "ours": "ours",
}


def make_page(items: Mapping[str, PaperItem], kept: Iterable[FinishedItem], folder: Path) -> str:
    """Return the page of all kept items; everything that is not ours is escaped."""
    found = {one.item: one for one in kept}
    known = expected_numbers()
    meanings = [(_verdict("dt", name), element("dd", text)) for name, text in VERDICTS.items()]
    return _filled(
        "page.html",
        style=Markup(_file("page.css")),
        provenance=f"seepage {__version__}; {len(found)} of {len(items)} items made.",
        legend=element("dl", *meanings, class_="legend"),
        summary=_summary(items, found),
        missing=_missing(found.values()),
        sections=joined(
            _section(items[name], one, folder, known.get(name, {})) for name, one in found.items()
        ),
    )


def expected_numbers() -> dict[str, dict[str, float]]:
    """Return the numbers of the full run that is committed with the package."""
    return msgspec.json.decode(_file("expected.json"), type=dict[str, dict[str, float]])


def differences(found: Mapping[str, float], expected: Mapping[str, float]) -> list[str]:
    """Return the names, of those in both, whose numbers are not those of the committed run.

    Examples
    --------
    >>> differences({"a": 1.0, "b": 2.0}, {"a": 1.0 + 1e-9, "b": 2.1})
    ['b']
    """
    return [
        name
        for name, value in found.items()
        if name in expected and abs(value - expected[name]) > SAME * max(abs(expected[name]), SAME)
    ]


def _section(
    item: PaperItem, kept: FinishedItem, folder: Path, known: Mapping[str, float]
) -> Markup:
    notes = [element("li", note) for note in kept.notes]
    explanation = [element("h3", "Explanation"), element("ul", notes)] if notes else []
    return _filled(
        "item.html",
        name=kept.item,
        place=item.place,
        title=item.title,
        shows=kept.shows,
        charts=joined(_figure(chart, item, folder) for chart in kept.charts),
        comparisons=_comparisons(kept.comparisons),
        notes=joined(explanation, _rows(kept, folder)),
        footer=_footer(kept, known),
    )


def _figure(chart: str, item: PaperItem, folder: Path) -> Markup:
    picture = base64.b64encode((folder / f"{chart}.svg").read_bytes()).decode()
    words = escape(f"{item.place}: {item.title}")
    return element(
        "figure", Markup(f'<img alt="{words}" src="data:image/svg+xml;base64,{picture}">')
    )


def _table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int], **more: str
) -> Markup:
    """Return a table, some columns of which hold numbers."""
    sides = ["number" if place in set(numbers) else None for place in range(len(titles))]

    def line(tag: str, cells: Sequence[str]) -> Markup:
        pairs = zip(cells, sides, strict=True)
        return element("tr", [element(tag, cell, class_=side) for cell, side in pairs])

    return element("table", line("th", titles), [line("td", row) for row in rows], **more)


def _comparisons(comparisons: Iterable[Comparison]) -> Markup:
    titles = ("Quantity", "The paper", "Ours", "Deviation", "Tolerance", "Verdict")
    parts = []
    for group, members in groupby(comparisons, key=lambda one: one.group):
        chosen = list(members)
        rows = [
            (
                one.what.removeprefix(f"{group}: "),
                one.paper,
                "" if one.ours is None else f"{one.ours:.4g}",
                one.deviation,
                one.tolerance,
                _verdict("span", one.verdict),
            )
            for one in chosen
        ]
        content = element("div", _table(titles, rows, [2], class_="comparisons"), class_="wide")
        if group:
            tally = ", ".join(f"{count} {WORDS[one]}" for one, count in _tally(chosen).items())
            compared = any(one.verdict not in ("ours", "no data") for one in chosen)
            unfolded = "" if compared and len(chosen) <= OPEN_UP_TO else None
            summary = element("summary", f"{group}: {tally}")
            content = element("details", summary, content, open=unfolded)
        parts.append(content)
    return joined(parts)


def _summary(items: Mapping[str, PaperItem], found: Mapping[str, FinishedItem]) -> Markup:
    rows: list[Sequence[str]] = []
    for name, item in items.items():
        one = found.get(name)
        if one is None:
            rows.append((item.place, item.title, "not made yet", ""))
            continue
        counts = [
            _verdict("span", verdict, f"{count} ")
            for verdict, count in _tally(one.comparisons).items()
        ]
        tally = Markup(", ".join(counts))
        link = element("a", item.place, href=f"#{name}")
        rows.append((link, item.title, tally, f"{one.seconds:.1f}"))
    return _table(("Item", "What", "Verdicts", "Seconds"), rows, [3])


def _tally(comparisons: Iterable[Comparison]) -> dict[Verdict, int]:
    """Return how often each verdict occurs, without those that do not."""
    counts = Counter(one.verdict for one in comparisons)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def _missing(found: Iterable[FinishedItem]) -> Markup:
    absent = {name for one in found for name, state in one.data.items() if state == "not at hand"}
    lines = [
        "No copy of DSS, the paper's fourth dataset, was found: what it shows of DSS is not "
        "compared. Diabetes 130 and NIST ACS stand in for it under their own names."
    ]
    if absent:
        lines.append(
            f"Not at hand in this run: {', '.join(sorted(absent))}; see `seepage datasets`."
        )
    return joined(element("p", line) for line in lines)


def _rows(kept: FinishedItem, folder: Path) -> Markup:
    if not 0 < kept.rows <= MAX_ROWS:
        return Markup("")
    with (folder / f"{kept.item}.csv").open(encoding="utf-8", newline="") as file:
        titles, *rows = csv.reader(file)
    cells = [[_cell(text) for text in row] for row in rows]
    table = _table([title.replace("_", " ") for title in titles], cells, range(len(titles)))
    summary = element("summary", f"The table ({kept.rows} rows)")
    return element("details", summary, element("div", table, class_="wide"))


def _footer(kept: FinishedItem, known: Mapping[str, float]) -> str:
    """Return the data, and how the numbers compare with those of the committed run."""
    data = ", ".join(f"{name} ({state})" for name, state in kept.data.items()) or "none"
    table = f"table: {kept.item}.csv ({kept.rows:,} rows); " if kept.rows else ""
    numbers = kept.numbers
    shared, other = len(numbers.keys() & known.keys()), differences(numbers, known)
    same = f"{shared - len(other)} of {len(known)} numbers as in the committed run"
    if other:
        same += f", different: {', '.join(map(repr, other))}"
    return f"Data: {data}; {table}{same}; inputs {kept.digest[:12]}."


def _cell(text: str) -> str:
    """Return a cell of a table with a long number shortened."""
    try:
        return text if len(text) <= 6 else f"{float(text):.4g}"
    except ValueError:
        return text


def _verdict(tag: str, verdict: Verdict, before: str = "") -> Markup:
    return element(tag, before + WORDS[verdict], class_=f"verdict {verdict.replace(' ', '-')}")


def _filled(template: str, **parts: str) -> Markup:
    """Return a template with its parts, texts escaped."""
    return Markup(Template(_file(template)).substitute({k: joined(v) for k, v in parts.items()}))


def _file(name: str) -> str:
    return (resources.files("seepage.study.reproduction") / name).read_text(encoding="utf-8")
