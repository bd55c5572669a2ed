"""The documentation runs: code, commands and links of every page."""

import doctest
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

import seepage as sp
from pictures import script
from seepage.benchmarks.analyser_registry import ANALYSERS
from seepage.cli import group, main
from seepage.mechanisms.mechanism_registry import MECHANISMS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PICTURES = script("make_pictures")
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
OURS = [page for page in PAGES if page.name != "README.md"]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

on_every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: _stem(page))
on_our_pages = pytest.mark.parametrize("page", OURS, ids=lambda page: _stem(page))


def _stem(page: Path) -> str:
    return "-".join(
        page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT)
        .with_suffix("")
        .parts
    )


class Block(NamedTuple):
    """A fenced block: its language, its text and the line where it begins."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        yield Block(found[1], found[2], text.count("\n", 0, found.start()) + 2)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output that is shown under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield command.partition("  #")[0].strip(), shown


@on_every_page
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """Code and console blocks of a page run from top to bottom, in one namespace and
    folder.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("SEEPAGE_DATA", raising=False)
    monkeypatch.setattr(MECHANISMS, "_items", dict(MECHANISMS))
    monkeypatch.setattr(ANALYSERS, "_items", dict(ANALYSERS))
    names: dict[str, Any] = {"__name__": f"docs_{page.stem.replace('-', '_')}"}
    for block in blocks(page):
        if block.language == "python":
            lines = "\n" * (block.line - 1) + block.text
            exec(compile(lines, str(page), "exec"), names)
        elif block.language == "pycon":
            _run_examples(block, page, names)
        elif block.language == "console":
            for command, shown in commands(block.text):
                _run_command(command, shown, capsys)


def _run_examples(block: Block, page: Path, names: dict[str, Any]) -> None:
    example = doctest.DocTestParser().get_doctest(
        block.text, names, page.name, str(page), block.line - 1
    )
    assert example.examples, f"{page.name}:{block.line} is marked pycon but has no >>>"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(example, out=report.append, clear_globs=False)
    names.update(example.globs)
    assert not runner.failures, "".join(report)


def _run_command(command: str, shown: str, capsys: Any) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        targets = re.findall(
            r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE
        )
        assert set(words[1:]) <= {*targets, "docs"}
        return
    assert words[0] == "seepage", f"{command!r} is not ours: use a sh block"
    capsys.readouterr()
    main(words[1:])
    printed = capsys.readouterr().out
    if shown.strip():
        same = doctest.OutputChecker().check_output(shown, printed, FLAGS)
        assert same, f"{command}\nshown:\n{shown}\nprinted:\n{printed}"


UNTYPED = """# mypy: allow-untyped-defs, allow-untyped-calls, allow-redefinition
# mypy: disable-error-code="union-attr"
"""
"""Examples have no annotations, and the optional parts of their results are there."""

WRONG = """import seepage as sp
sp.design("adult", limt=2.0)
sp.leakage_matrix("adult", 1.0).nothing
"""


def test_examples_have_the_types_that_the_package_states(tmp_path: Path) -> None:
    """All Python of the pages in one run of mypy, and two errors that it must find."""
    for page in PAGES:
        code = "\n".join(_code(page))
        name = f"page_{_stem(page).replace('-', '_')}.py".lower()
        (tmp_path / name).write_text(UNTYPED + code, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--no-error-summary",
            *map(str, tmp_path.glob("*.py")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    found = re.findall(r"(\w+)\.py:(\d+): error: (.*)", done.stdout)
    assert [(name, line) for name, line, _ in found] == [
        ("wrong", "2"),
        ("wrong", "3"),
    ], found


def _code(page: Path) -> Iterator[str]:
    for block in blocks(page):
        if block.language in ("python", "py"):
            yield block.text
        elif block.language == "pycon":
            yield from (
                one.source for one in doctest.DocTestParser().get_examples(block.text)
            )


@on_every_page
def test_commands_parse(page: Path) -> None:
    """Commands of sh blocks need files that are not here, so they are parsed only."""
    for block in blocks(page):
        if block.language == "sh":
            for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["seepage"]:
                    bare = re.sub(r"'[^']*'|\"[^\"]*\"|#.*", "", line)
                    assert "*" not in bare, f"{line}: the shell would expand the glob"
                    _parse(group, words)


def _parse(command: click.Command, words: list[str]) -> None:
    if isinstance(command, click.Group) and len(words) > 1:
        inner = command.get_command(click.Context(command), words[1])
        assert inner is not None, f"there is no command {' '.join(words[:2])}"
        _parse(inner, words[1:])
    else:
        command.make_context(words[0], words[1:])


OTHERS = {"--strict", "--full", "--help"}
"""Options of mypy and the benchmarks, and the one that every command has."""


@on_every_page
def test_options_and_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert (
        set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= _options(group) | OTHERS
    )
    assert [
        name for name in re.findall(r"\bsp\.(\w+)", text) if not hasattr(sp, name)
    ] == []


def _options(command: click.Command) -> set[str]:
    context = click.Context(command)
    inner = command.list_commands(context) if isinstance(command, click.Group) else []
    commands = (command.get_command(context, name) for name in inner)
    own = {option for parameter in command.params for option in parameter.opts}
    return own.union(*(_options(one) for one in commands if one))


@on_every_page
def test_links_resolve(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            assert not page.is_relative_to(DOCS) or link.startswith("https://")
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if target.parent.name == "pictures":
            assert target.name in {*PICTURES.CHARTS, *PICTURES.PAGES}
            continue
        assert target.is_file(), f"{page.name} links to {link}, which does not exist"
        if anchor:
            assert anchor in _anchors(target), (
                f"{page.name}: {path} has no heading #{anchor}"
            )


def _anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    names = re.findall(r"^::: (seepage\.\w+)$", text, re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain} | set(names)


WORDS = re.compile(
    r"\b(refuses?|refusals?|whole numbers?|row a record|for ever|reads? too high|"
    r"right only if|in clear)\b",
    re.IGNORECASE,
)
"""Words that the field does not use: raise, integer, per record, limit, biased upward,
valid."""


def test_the_words_are_those_of_the_field() -> None:
    files = [*PAGES, *(ROOT / "src").rglob("*.py")]
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in files
        for match in WORDS.finditer(file.read_text(encoding="utf-8"))
        if file.name != "missing_texts.py"  # the words of surveys
    ]
    assert not found


TEN_MINUTES = 2_200
"""Words, those of code included."""


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not page.name.startswith("theory")],
    ids=lambda page: _stem(page),
)
def test_no_page_for_users_takes_longer_than_ten_minutes(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").split()) <= TEN_MINUTES


@on_our_pages
def test_every_page_is_in_the_navigation(page: Path) -> None:
    listed = re.findall(
        r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE
    )
    assert page.relative_to(DOCS).as_posix() in listed


@on_our_pages
def test_shows_code_or_words_only(page: Path) -> None:
    """A block without a known language would run nowhere."""
    found = {block.language for block in blocks(page)}
    known = {"python", "pycon", "console", "sh", "text", "json", "toml", "js"}
    real = (
        {"py"} if page.name == "analysis.md" else set()
    )  # run by test_analysis_page.py
    assert found <= known | real


def test_the_mechanism_of_the_guide_keeps_the_contract(tmp_path: Path) -> None:
    """As the guide says: in a file of one's own, the contract tests run over it."""
    guide = blocks(ROOT / "docs" / "researcher.md")
    example = next(block for block in guide if "sp.register(" in block.text)
    (tmp_path / "half.py").write_text(example.text, encoding="utf-8")
    contract = sorted(map(str, ROOT.glob("tests/mechanisms/test_contract*.py")))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "half", *contract, "-k", "half"],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 100


@pytest.mark.slow  # the build of the documentation draws them too
def test_pictures_are_drawn(tmp_path: Path) -> None:
    """The build's pictures are whole, and none of them reaches for the network."""
    module = PICTURES
    module.make_pictures(tmp_path)
    for name in module.CHARTS:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert len(text) > 5_000
    for name in module.PAGES:
        assert (
            (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")
        )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built documentation: that of `make docs` if it is current, or one made
    here.
    """
    pytest.importorskip("zensical")
    made = ROOT / "build" / "site"
    sources = [
        path for top in ("docs", "scripts", "src") for path in (ROOT / top).rglob("*.*")
    ]
    changed = max(
        path.stat().st_mtime
        for path in [ROOT / "mkdocs.yml", *sources]
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    )
    pages = [
        made / path.relative_to(DOCS).with_suffix(".html")
        for path in DOCS.rglob("*.md")
    ]
    if all(page.is_file() and page.stat().st_mtime > changed for page in pages):
        return made
    folder = tmp_path_factory.mktemp("site")
    for top in ("docs", "scripts", "src"):
        shutil.copytree(ROOT / top, folder / top)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "site"


def test_the_site_is_whole(site: Path) -> None:
    """Every page is built with its headings, code and pictures, and fetches nothing."""
    for page in sorted(DOCS.rglob("*.md")):
        path = page.relative_to(DOCS).with_suffix(".html")
        built = (site / path).read_text(encoding="utf-8")
        for anchor in _anchors(page):
            assert f'id="{anchor}"' in built, f"{path} has no #{anchor}"
        assert built.count("<pre") >= len(list(blocks(page)))
        assert not re.findall(
            r"<(?:script|img|link)\b[^>]*(?:src|href)=\"?https?:", built
        )


class Prose(HTMLParser):
    """The text of a built page outside headings, code and links, and where it links a
    word.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.linked: dict[str, int] = {}
        article = page[page.index("<article") : page.index("</article>")]
        self.feed(re.sub(r"<(?:img|br|hr|input)\b[^>]*>", " ", article))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.text += "\1"
        link = dict(attrs).get("href") or ""
        if "glossary" in (dict(attrs).get("class") or ""):
            assert link not in self.linked, f"{link} twice"
            self.linked[link.partition("#")[2]] = len(self.text)

    def handle_endtag(self, tag: str) -> None:
        self.text += "\1"
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        kept = not {"a", "code", "pre", "h1", "h2", "h3"} & set(self.open)
        self.text += data if kept else "\0" * len(data)


def test_words_are_linked_to_the_glossary_where_they_first_occur(site: Path) -> None:
    links = script("glossary_links")
    glossary = (site / "glossary.html").read_text(encoding="utf-8")
    words = links.words((DOCS / "glossary.md").read_text(encoding="utf-8"))
    assert len(words) > 40
    for word in words:
        assert f'id="{links.anchor(word)}"' in glossary
    for page in sorted(set(DOCS.glob("*.md")) - {DOCS / "glossary.md"}):
        prose = Prose(
            (site / page.with_suffix(".html").name).read_text(encoding="utf-8")
        )
        assert len(prose.linked) > 3, page.name
        for word in words:
            place = prose.linked.get(links.anchor(word))
            earlier = prose.text if place is None else prose.text[:place]
            for longer in words:
                if word in longer and word != longer:
                    earlier = re.sub(
                        rf"{re.escape(longer)}s?", "", earlier, flags=re.IGNORECASE
                    )
            pattern = rf"(?<![\w\0-]){re.escape(word)}s?(?![\w\0-])"
            assert not re.search(pattern, earlier, re.IGNORECASE), (page.name, word)


def test_the_guide_for_data_teams_lists_every_table_option() -> None:
    page = (DOCS / "data-team.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:`--|\|)", page, re.MULTILINE)
    keywords = set(sp.TableKeywords.__annotations__)
    assert set(rows) == keywords - {"engine", "progress"}


PARTS = [
    "Algorithm 1",
    "Algorithm 2",
    "Algorithm 3",
    "Table I",
    "Table II",
    "Fig. 4",
    "Fig. 5",
    "Fig. 6",
    "Fig. 7",
    "Fig. 8",
    "II-A",
    "II-D",
    "III-A",
    "III-B",
    "III-D",
    "IV-A",
    "IV-B",
    "IV-C",
    "IV-D",
    "V-A",
    "V-B",
    "V-C",
    "Appendix A",
    "Appendix B",
    "OB1 to OB3",
]
"""The parts of the paper that compute something."""


def test_the_page_of_the_paper_names_what_exists_and_leaves_nothing_out() -> None:
    rows = re.findall(
        r"^\| (.+?) \| (.+) \| (`.+`) \|$", (DOCS / "paper.md").read_text(), re.M
    )
    parts = " ".join(part for part, _, _ in rows)
    assert [
        part for part in PARTS if not re.search(rf"{re.escape(part)}\b", parts)
    ] == []
    for _, _, places in rows:
        for place in re.findall(r"`([\w.]+)`", places):
            assert pkgutil.resolve_name(_importable(place)) is not None, place
    from reproduction.reproduce import ITEMS

    named = " ".join(places for _, _, places in rows)
    assert [
        name for name in ITEMS if name != "beyond" and f".{name}`" not in named
    ] == []


def _importable(place: str) -> str:
    """Return a name as `module:attribute`, from which `pkgutil` resolves it."""
    if place.startswith("sp."):
        return f"seepage:{place[3:]}"
    module, _, name = place.rpartition(".")
    return f"{module}:{name}"
