"""One self-contained page of all kept items: no scripts, nothing loaded from elsewhere."""

import base64
import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from itertools import groupby
from pathlib import Path
from string import Template

import msgspec

from seepage import __version__
from seepage.study.reproduction.findings import (
    VERDICTS,
    Comparison,
    FinishedItem,
    PaperItem,
    Verdict,
)

SAME = 1e-6
"""To what relative difference a number is that of the committed run."""

MOST_ROWS = 60
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
    return _template("page.html").substitute(
        style=_file("page.css"),
        provenance=escape(f"seepage {__version__}; {len(found)} of {len(items)} items made."),
        legend=_legend(),
        summary=_summary(items, found),
        missing=_missing(found.values()),
        sections="\n".join(
            _section(items[name], one, folder, known.get(name, {})) for name, one in found.items()
        ),
    )


def expected_numbers() -> dict[str, dict[str, float]]:
    """Return the numbers of the full run that is committed with the package."""
    numbers_of = msgspec.json.decode(_file("expected.json"), type=dict[str, dict[str, float]])
    return dict(numbers_of)


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


def _section(item: PaperItem, kept: FinishedItem, folder: Path, known: Mapping[str, float]) -> str:
    return _template("item.html").substitute(
        name=escape(kept.item),
        place=escape(item.place),
        title=escape(item.title),
        shows=escape(kept.shows),
        charts="\n".join(_figure(chart, item, folder) for chart in kept.charts),
        comparisons=_comparisons(kept.comparisons),
        notes=_notes(kept.notes) + _rows(kept, folder),
        footer=escape(_footer(kept, known)),
    )


def _figure(chart: str, item: PaperItem, folder: Path) -> str:
    picture = base64.b64encode((folder / f"{chart}.svg").read_bytes()).decode()
    words = escape(f"{item.place}: {item.title}", quote=True)
    return f'<figure><img alt="{words}" src="data:image/svg+xml;base64,{picture}"></figure>'


def _comparisons(comparisons: Iterable[Comparison]) -> str:
    parts = []
    for group, members in groupby(comparisons, key=lambda one: one.group):
        chosen = list(members)
        content = _comparison_table(chosen)
        if group:
            tally = escape(f"{group}: {_tally(chosen)}")
            compared = any(one.verdict not in ("ours", "no data") for one in chosen)
            unfolded = " open" if compared and len(chosen) <= OPEN_UP_TO else ""
            content = f"<details{unfolded}><summary>{tally}</summary>{content}</details>"
        parts.append(content)
    return "\n".join(parts)


def _comparison_table(comparisons: Iterable[Comparison]) -> str:
    head = (
        "<tr><th>Quantity</th><th>The paper</th><th class=number>Ours</th><th>Deviation</th>"
        "<th>Tolerance</th><th>Verdict</th></tr>"
    )
    lines = [
        f"<tr><td>{escape(one.what.removeprefix(f'{one.group}: '))}</td>"
        f"<td>{escape(one.paper)}</td><td class=number>{_number(one.ours)}</td>"
        f"<td>{escape(one.deviation)}</td><td>{escape(one.tolerance)}</td>"
        f'<td class="verdict {_class(one.verdict)}">{escape(WORDS[one.verdict])}</td></tr>'
        for one in comparisons
    ]
    return f"<div class=wide><table class=comparisons>{head}{''.join(lines)}</table></div>"


def _summary(items: Mapping[str, PaperItem], found: Mapping[str, FinishedItem]) -> str:
    head = "<tr><th>Item</th><th>What</th><th>Verdicts</th><th class=number>Seconds</th></tr>"
    lines = []
    for name, item in items.items():
        one = found.get(name)
        place, title = escape(item.place), escape(item.title)
        if one is None:
            lines.append(f"<tr><td>{place}</td><td>{title}</td><td>not made yet</td><td></td></tr>")
            continue
        lines.append(
            f'<tr><td><a href="#{escape(name)}">{place}</a></td><td>{title}</td>'
            f"<td>{_coloured_tally(one.comparisons)}</td>"
            f"<td class=number>{one.seconds:.1f}</td></tr>"
        )
    return f"<table>{head}{''.join(lines)}</table>"


def _coloured_tally(comparisons: Iterable[Comparison]) -> str:
    counts = Counter(one.verdict for one in comparisons)
    return ", ".join(
        f'<span class="verdict {_class(verdict)}">{counts[verdict]} {escape(WORDS[verdict])}</span>'
        for verdict in VERDICTS
        if counts[verdict]
    )


def _tally(comparisons: Iterable[Comparison]) -> str:
    counts = Counter(one.verdict for one in comparisons)
    return ", ".join(f"{counts[v]} {WORDS[v]}" for v in VERDICTS if counts[v])


def _legend() -> str:
    entries = "".join(
        f'<dt class="verdict {_class(verdict)}">{escape(WORDS[verdict])}</dt>'
        f"<dd>{escape(meaning)}</dd>"
        for verdict, meaning in VERDICTS.items()
    )
    return f"<dl class=legend>{entries}</dl>"


def _missing(found: Iterable[FinishedItem]) -> str:
    absent = {name for one in found for name, state in one.data.items() if state == "not at hand"}
    lines = [
        "No copy of DSS, the paper's fourth dataset, was found: what it shows of DSS is not "
        "compared. Diabetes 130 and NIST ACS stand in for it under their own names."
    ]
    if absent:
        lines.append(
            f"Not at hand in this run: {', '.join(sorted(absent))}; see `seepage datasets`."
        )
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _notes(notes: Iterable[str]) -> str:
    entries = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<h3>Explanation</h3><ul>{entries}</ul>" if entries else ""


def _rows(kept: FinishedItem, folder: Path) -> str:
    if not 0 < kept.rows <= MOST_ROWS:
        return ""
    with (folder / f"{kept.item}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in rows[0])
    lines = "".join(
        f"<tr>{''.join(f'<td class=number>{escape(_cell(c))}</td>' for c in row.values())}</tr>"
        for row in rows
    )
    return (
        f"<details><summary>The table ({kept.rows} rows)</summary>"
        f"<div class=wide><table><tr>{head}</tr>{lines}</table></div></details>"
    )


def _footer(kept: FinishedItem, known: Mapping[str, float]) -> str:
    data = ", ".join(f"{name} ({state})" for name, state in kept.data.items()) or "none"
    table = f"table: {kept.item}.csv ({kept.rows:,} rows); " if kept.rows else ""
    same = _committed(kept.numbers, known)
    return f"Data: {data}; {table}{same}; inputs {kept.digest[:12]}."


def _committed(found: Mapping[str, float], known: Mapping[str, float]) -> str:
    """Return in words how an item's numbers compare with those of the committed run."""
    shared, other = len(found.keys() & known.keys()), differences(found, known)
    words = f"{shared - len(other)} of {len(known)} numbers as in the committed run"
    return f"{words}, different: {', '.join(map(repr, other))}" if other else words


def _number(value: float | None) -> str:
    return "" if value is None else escape(f"{value:.4g}")


def _cell(text: str) -> str:
    """Return a cell of a table with a long number shortened."""
    try:
        number = float(text)
    except ValueError:
        return text
    return text if len(text) <= 6 else f"{number:.4g}"


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _template(name: str) -> Template:
    return Template(_file(name))


def _file(name: str) -> str:
    return (resources.files("seepage.study.reproduction") / name).read_text(encoding="utf-8")
