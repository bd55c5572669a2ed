"""Write docs/reference/: every public name, a page per topic, from docstrings."""

import inspect
from pathlib import Path
from typing import NamedTuple

import seepage

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

MADE = """Made from the docstrings by `scripts/make_reference.py`; a test keeps it current."""


class Topic(NamedTuple):
    """A page: its file, its title, what it is about and the packages whose names it
    has.
    """

    stem: str
    title: str
    about: str
    packages: tuple[str, ...]


TOPICS = (
    Topic(
        "data",
        "Data",
        "What is known about people: tables, pair counts, records.",
        ("data",),
    ),
    Topic(
        "leakage",
        "Leakage",
        "What one report tells about another attribute, and a table's analysis as a whole.",
        ("analysis", "verdict", "leakage"),
    ),
    Topic(
        "totals", "Totals", "What all reports of a person tell together.", ("totals",)
    ),
    Topic(
        "plans",
        "Budgets and plans",
        "From limits to a collection that runs.",
        ("designs", "plan", "collection", "_results"),
    ),
    Topic(
        "mechanisms",
        "Mechanisms",
        "How a value becomes a report.",
        ("mechanisms", "auditing"),
    ),
    Topic(
        "study",
        "Study",
        "The paper as an object of study: statistical method, correlation measures, benchmarks.",
        ("study",),
    ),
    Topic(
        "charts-errors",
        "Charts and errors",
        "Files of charts, and the exceptions that are raised on purpose.",
        ("charts", "report", "errors"),
    ),
)


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    names = {
        topic: [name for name in _ordered() if _topic(name) is topic]
        for topic in TOPICS
    }
    made = {f"{topic.stem}.md": _page(topic, found) for topic, found in names.items()}
    return {"index.md": _index(names), **made}


def _ordered() -> list[str]:
    """Return public names: functions first, then classes, each by name."""
    return sorted(seepage._HOMES, key=lambda name: (not _is_call(name), name.lower()))


def _topic(name: str) -> Topic:
    package = seepage._HOMES[name].partition(".")[0]
    for topic in TOPICS:
        if package in topic.packages:
            return topic
    raise LookupError(f"no topic has the package {package} of {name}: add it to TOPICS")


def _index(names: dict[Topic, list[str]]) -> str:
    head = f"# All names\n\nEvery public name of `seepage`, by topic. {MADE}\n"
    parts = [head]
    for topic, found in names.items():
        parts.append(f"## {topic.title}\n\n{topic.about} [In full]({topic.stem}.md)\n")
        parts.append(_table(found, f"{topic.stem}.md"))
    return "\n".join(parts)


def _page(topic: Topic, names: list[str]) -> str:
    full = "\n\n".join(f"::: seepage.{name}" for name in names)
    return (
        f"# {topic.title}\n\n{topic.about} Each entry has formula, parameters, cost and an "
        f"example, as `help(seepage.NAME)` has. {MADE}\n\n{_table(names)}\n## In full\n\n{full}\n"
    )


def _table(names: list[str], page: str = "") -> str:
    return (
        "\n".join(
            ["| name | what it is |", "| --- | --- |", *(_row(n, page) for n in names)]
        )
        + "\n"
    )


def _row(name: str, page: str) -> str:
    doc = inspect.getdoc(getattr(seepage, name)) or ""
    first = " ".join(doc.partition("\n\n")[0].split())
    call = "(...)" if _is_call(name) else ""
    return f"| [`{name}{call}`]({page}#seepage.{name}) | {first} |"


def _is_call(name: str) -> bool:
    return inspect.isfunction(getattr(seepage, name))


if __name__ == "__main__":
    for old in FOLDER.glob("*.md"):
        old.unlink()
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
