"""One self-contained HTML page of all finished items, without scripts or external resources."""

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
from markupsafe import Markup

from seepage import __version__
from seepage._pages import element, joined
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
    by_name = {item.item: item for item in finished}
    expected = expected_numbers()
    meanings = [
        (_verdict("dt", name), element("dd", meaning)) for name, (_, meaning) in VERDICTS.items()
    ]
    return _filled(
        "page.html",
        style=Markup(_file("page.css")),
        provenance=f"seepage {__version__}; {len(by_name)} of {len(items)} items made.",
        legend=element("dl", *meanings, class_="legend"),
        summary=_summary(items, by_name),
        missing=_missing_data(by_name.values()),
        sections=joined(
            _section(items[name], item, folder, expected.get(name, {}))
            for name, item in by_name.items()
        ),
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


def _section(
    paper: PaperItem, item: FinishedItem, folder: Path, expected: Mapping[str, float]
) -> Markup:
    notes = [element("li", note) for note in item.notes]
    explanation = [element("h3", "Explanation"), element("ul", notes)] if notes else []
    return _filled(
        "item.html",
        name=item.item,
        place=paper.place,
        title=paper.title,
        shows=item.shows,
        charts=joined(_figure(chart, paper, folder) for chart in item.charts),
        comparisons=_comparisons(item.comparisons),
        notes=joined(explanation, _data_table(item, folder)),
        footer=_footer(item, expected),
    )


def _figure(chart: str, paper: PaperItem, folder: Path) -> Markup:
    picture = base64.b64encode((folder / f"{chart}.svg").read_bytes()).decode()
    description = escape(f"{paper.place}: {paper.title}")
    return element(
        "figure", Markup(f'<img alt="{description}" src="data:image/svg+xml;base64,{picture}">')
    )


def _table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int], **more: str
) -> Markup:
    """Return an HTML table; `numbers` are the indices of numeric columns."""
    classes = ["number" if index in set(numbers) else None for index in range(len(titles))]

    def table_row(tag: str, cells: Sequence[str]) -> Markup:
        pairs = zip(cells, classes, strict=True)
        return element("tr", [element(tag, cell, class_=name) for cell, name in pairs])

    return element("table", table_row("th", titles), [table_row("td", row) for row in rows], **more)


def _comparisons(comparisons: Iterable[Comparison]) -> Markup:
    titles = ("Quantity", "The paper", "Ours", "Deviation", "Tolerance", "Verdict")
    parts = []
    for group, members in groupby(comparisons, key=lambda comparison: comparison.group):
        in_group = list(members)
        rows = [
            (
                comparison.what.removeprefix(f"{group}: "),
                comparison.paper,
                "" if comparison.ours is None else f"{comparison.ours:.4g}",
                comparison.deviation,
                comparison.tolerance,
                _verdict("span", comparison.verdict),
            )
            for comparison in in_group
        ]
        content = element("div", _table(titles, rows, [2], class_="comparisons"), class_="wide")
        if group:
            counts = _verdict_counts(in_group).items()
            tally = ", ".join(f"{count} {VERDICTS[verdict][0]}" for verdict, count in counts)
            compared = any(item.verdict not in ("ours", "no data") for item in in_group)
            is_open = "" if compared and len(in_group) <= MAX_OPEN else None
            summary = element("summary", f"{group}: {tally}")
            content = element("details", summary, content, open=is_open)
        parts.append(content)
    return joined(parts)


def _summary(papers: Mapping[str, PaperItem], finished: Mapping[str, FinishedItem]) -> Markup:
    rows: list[Sequence[str]] = []
    for name, paper in papers.items():
        item = finished.get(name)
        if item is None:
            rows.append((paper.place, paper.title, "not made yet", ""))
            continue
        counts = [
            _verdict("span", verdict, f"{count} ")
            for verdict, count in _verdict_counts(item.comparisons).items()
        ]
        tally = Markup(", ".join(counts))
        link = element("a", paper.place, href=f"#{name}")
        rows.append((link, paper.title, tally, f"{item.seconds:.1f}"))
    return _table(("Item", "What", "Verdicts", "Seconds"), rows, [3])


def _verdict_counts(comparisons: Iterable[Comparison]) -> dict[Verdict, int]:
    """Return the number of comparisons with each verdict, positive numbers only."""
    counts = Counter(comparison.verdict for comparison in comparisons)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def _missing_data(finished: Iterable[FinishedItem]) -> Markup:
    states = [state for item in finished for state in item.data.items()]
    missing = {name for name, state in states if state == "not at hand"}
    lines = [
        "No copy of DSS, the paper's fourth dataset, was found: what it shows of DSS is not "
        "compared. Diabetes 130 and NIST ACS stand in for it under their own names."
    ]
    if missing:
        lines.append(
            f"Not at hand in this run: {', '.join(sorted(missing))}; see `seepage datasets`."
        )
    return joined(element("p", line) for line in lines)


def _data_table(item: FinishedItem, folder: Path) -> Markup:
    """Return the item's table, folded; nothing if it is empty or has more than `MAX_ROWS` rows."""
    if not 0 < item.rows <= MAX_ROWS:
        return Markup("")
    with (folder / f"{item.item}.csv").open(encoding="utf-8", newline="") as file:
        titles, *rows = csv.reader(file)
    cells = [[_rounded(text) for text in row] for row in rows]
    table = _table([title.replace("_", " ") for title in titles], cells, range(len(titles)))
    summary = element("summary", f"The table ({item.rows} rows)")
    return element("details", summary, element("div", table, class_="wide"))


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


def _verdict(tag: str, verdict: Verdict, before: str = "") -> Markup:
    css_class = f"verdict {verdict.replace(' ', '-')}"
    return element(tag, before + VERDICTS[verdict][0], class_=css_class)


def _filled(template: str, **parts: str) -> Markup:
    """Return a template file with its placeholders replaced, texts escaped."""
    return Markup(Template(_file(template)).substitute({k: joined(v) for k, v in parts.items()}))


def _file(name: str) -> str:
    return (resources.files("seepage.study.reproduction") / name).read_text(encoding="utf-8")
