"""Write docs/reference/: every public name, a page per heading of the stub."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import seepage

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

MADE = (
    "Made from the docstrings by `scripts/make_reference.py`; a test keeps it current."
)


HEADING = re.compile(r"^# ([A-Z][^:\n]*): (.+)$", re.MULTILINE)
"""A heading of the stub: the title of its page, and what its names are about."""

NAME = re.compile(r"^(?:from \S+ import|   ) \w+ as (\w+)", re.MULTILINE)
"""A public name of the stub."""


class Topic(NamedTuple):
    """A page: its title, what it is about, and its names, functions first."""

    title: str
    about: str
    names: tuple[str, ...]

    @property
    def file(self) -> str:
        """The file name of the page."""
        return f"{self.title.split()[-1].lower()}.md"


def topics() -> list[Topic]:
    """Return the headings of the stub, in its order."""
    stub = Path(seepage.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    headings = list(HEADING.finditer(stub))
    ends = [heading.start() for heading in headings[1:]] + [len(stub)]
    return [
        Topic(heading[1], f"{heading[2][0].upper()}{heading[2][1:]}.", _ordered(part))
        for heading, end in zip(headings, ends, strict=True)
        for part in [stub[heading.end() : end]]
    ]


def _ordered(part: str) -> tuple[str, ...]:
    """Return the names of a part of the stub: functions, then classes, each by name."""
    names = NAME.findall(part)
    return tuple(sorted(names, key=lambda name: (not _is_call(name), name.lower())))


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    written = {topic.file: _page(topic) for topic in topics()}
    return {"index.md": _index(topics()), **written}


def _index(listed: list[Topic]) -> str:
    head = f"# All names\n\nEvery public name of `seepage`, by topic. {MADE}\n"
    parts = [head]
    for topic in listed:
        parts.append(f"## {topic.title}\n\n{topic.about} [In full]({topic.file})\n")
        parts.append(_table(topic.names, topic.file))
    return "\n".join(parts)


def _page(topic: Topic) -> str:
    full = "\n\n".join(f"::: seepage.{name}" for name in topic.names)
    return (
        f"# {topic.title}\n\n{topic.about} Each entry has formula, parameters, cost "
        f"and an example, as `help(seepage.NAME)` has. {MADE}\n\n"
        f"{_table(topic.names)}\n## In full\n\n{full}\n"
    )


def _table(names: Sequence[str], page: str = "") -> str:
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
    texts = pages()
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
