"""Every number that the documentation quotes has a command, test or constant that gives
it.

A page's own code and console blocks run as tests, so what they print needs nothing
more. For all other numbers `quoted_numbers.toml` names the source, which is one of

- `python -m benchmarks MODULE`, with `--full` where it takes long: the module measures
  it.  `make bench` saves what it prints in `benchmarks/results.md`; a slow test then
  finds the numbers of a phrase among those of its module there, rounded;
- `seepage ...`: a command that is run here and prints it;
- `module:NAME`, a constant or, with an argument in parentheses, its default, here and
  there divided by a unit;
- `tests/...::name`, the test that compares it with its truth;
- `a name`: a standard, a year, a version, something to choose; it measures nothing.
"""

import ast
import inspect
import math
import pkgutil
import re
import shlex
import tomllib

import pytest

from benchmarks.__main__ import FULL, SKIPPED
from command import run
from pictures import ROOT
from seepage.counting.spark.shards import MAX_BYTES

USER_PAGES = (
    "index should-i-use-this tour gallery app engineer analysis researcher data-team "
    "client audit files speed"
)
PAGES = [
    "README.md",
    "paper/paper.md",
    *(f"docs/{name}.md" for name in USER_PAGES.split()),
]
SOURCES = tomllib.loads(
    (ROOT / "tests" / "quoted_numbers.toml").read_text(encoding="utf-8")
)
RESULTS = ROOT / "benchmarks" / "results.md"
FENCE = re.compile(r"^```(\w*).*?^```\s*$", re.MULTILINE | re.DOTALL)
RUN = ("", "python", "pycon", "console")
UNREAD = re.compile(
    r"`[^`\n]*`"  # code: names, options and what is typed
    r"|\]\([^)]*\)"  # targets of links
    r"|<!--.*?-->|^---\n.*?^---\n"  # comments, the header of a draft
    r"|\[@\w+\]"
    r"|^\d+\. |^#+ \d+\. "  # numbers of steps
    r"|(?:\d+)?\^-?\d+"  # powers
    r"|\b(?:Algorithm|Table|section) \d+"
    r"|\bSHA-256\b|\b[A-Z]\w*-\d+\b",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.,^-])\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?![\w]*\d)")


def blanked(match):
    return re.sub(r"[^\n]", " ", match[0])


def prose(text):
    """Return a page with everything else than prose blanked, at the same places."""
    return UNREAD.sub(blanked, FENCE.sub(blanked, text))


def printed(text):
    """Return the blocks of a page that are run, or that show what others printed."""
    return "\n".join(m[0] for m in FENCE.finditer(text) if m[1] in RUN)


def phrase_pattern(phrase):
    """Return what finds a phrase, however its lines are broken; `...` at its end is the
    rest of the line.
    """
    words = re.escape(phrase.removesuffix("...")).replace(r"\ ", r"\s+")
    return re.compile(words + (r"[^\n]*" if phrase.endswith("...") else ""))


def values(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("page", PAGES)
def test_every_number_has_a_source(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    sources = SOURCES.get(page, {})
    spans = []
    for phrase in sources:
        found = [match.span() for match in phrase_pattern(phrase).finditer(text)]
        assert found, f"{page} no longer says {phrase!r}: change quoted_numbers.toml"
        spans += found
    shown = set(NUMBER.findall(printed(text)))
    without = [
        f"{number[0]}: ...{text[max(0, number.start() - 50) : number.end() + 30]!r}"
        for number in NUMBER.finditer(prose(text))
        if number[0] not in shown
        and not any(a <= number.start() and number.end() <= b for a, b in spans)
    ]
    hint = "name their sources in tests/quoted_numbers.toml:"
    assert not without, "\n".join([hint, *without])


def test_every_page_with_sources_is_looked_at():
    assert set(SOURCES) <= set(PAGES)


ENTRIES = [
    pytest.param(page, phrase, source, id=f"{page}: {phrase}")
    for page, sources in SOURCES.items()
    for phrase, source in sources.items()
]


@pytest.mark.parametrize(("page", "phrase", "source"), ENTRIES)
def test_the_source_gives_the_number(page, phrase, source, tmp_path):
    quoted = numbers_of(page, phrase)
    kind, _, rest = source.partition(" ")
    if kind == "python":
        module, is_full = benchmark_of(source)
        code = (ROOT / "benchmarks" / f"{module}.py").read_text(encoding="utf-8")
        names = {n.name for n in ast.parse(code).body if isinstance(n, ast.FunctionDef)}
        assert ("full" if is_full else "main") in names
    elif kind == "seepage":
        shown = values(run(*shlex.split(rest), cwd=tmp_path).stdout)
        assert set(quoted) <= set(shown)
    elif kind.startswith("tests/"):
        file, _, name = kind.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    elif source != "a name":
        assert set(quoted) == {constant(kind, rest)}


def constant(name, unit):
    """Return a constant or a default in a unit: `module:NAME / 2**30`,
    `module:f(x)`.
    """
    name, _, argument = name.partition("(")
    value = pkgutil.resolve_name(name)
    if argument:
        value = inspect.signature(value).parameters[argument.rstrip(")")].default
    return float(f"{eval(f'value {unit}', {'value': value}):.12g}")


def numbers_of(page, phrase):
    matches = phrase_pattern(phrase).findall((ROOT / page).read_text(encoding="utf-8"))
    quoted = [value for match in matches for value in values(prose(match))]
    assert quoted, f"{phrase!r} has no number"
    return quoted


def benchmark_of(source):
    """Return the module of a benchmark, and whether it measures with `--full` only."""
    module, *full = source.removeprefix("python -m benchmarks ").split()
    return module, bool(full)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "phrase", "source"),
    [entry for entry in ENTRIES if entry.values[2].startswith("python ")],
)
def test_the_last_benchmarks_printed_the_number(page, phrase, source):
    """Measured anew on each machine, so that no default test depends on them."""
    module, is_full = benchmark_of(source)
    printed_before = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    sections = {
        section.split("\n")[0].strip(): section
        for section in re.split(r"^## ", printed_before, flags=re.M)
    }
    section = sections.get(module, SKIPPED)
    if SKIPPED in section or (is_full and FULL not in section):
        pytest.skip("not among what was measured last")
    measured = values(section)
    quoted = numbers_of(page, phrase)
    assert [q for q in quoted if not any(rounds_to(m, q) for m in measured)] == []


def rounds_to(measured, quoted):
    """Say whether a number is another one in two digits or more, also in minutes or
    hours, GB or millions.
    """
    return any(
        float(f"{measured * unit:.{digits}g}") == quoted
        for unit in (1, 1 / 60, 1 / 3600, 1e-3, 1e-6, 1e3)
        for digits in (2, 3, 4, 5)
    )


def test_a_number_without_a_source_is_found():
    text = "It takes 36 us, `--limit 2`, see [x](y-3.md); 2^64 and 1,000 people."
    assert NUMBER.findall(prose(text)) == ["36", "1,000"]
    assert values("0.67 ms, 3,667 x and 1e-6") == [0.67, 3667, 1e-6]
    assert rounds_to(0.6689, 0.67)
    assert not rounds_to(0.65, 0.67)


def test_the_app_looks_at_one_nat():
    from seepage.app.leak_work import EPSILON

    assert f"{2.718281828459045**EPSILON:.1f}" == "2.7"


def test_the_extrapolation_is_in_proportion():
    """Of docs/speed.md, from the two rates that it quotes: records, and pairs of
    columns.
    """
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    [rate] = re.findall(r"per second and core, ([\d.]+) million with Spark", page)
    [wide] = re.findall(r"the ([\d.]+) s for 100,000 x 1,000", page)
    narrow = 1e9 / (float(rate) * 1e6)
    assert f"| 10^9 x 40 binary | {narrow / 60:.1f} core-minutes |" in page
    assert f"| {narrow / 100:.1f} s | less than starting the job |" in page
    hours, minutes = narrow * 1e3 / 3600, narrow * 10 / 60
    assert (
        f"| {hours:.0f} core-hours | {minutes:.0f} min | {minutes / 10:.1f} min" in page
    )
    wider = float(wide) * 10 * 100
    assert (
        f"| {wider / 60:.0f} core-minutes | {wider / 100:.0f} s | {wider / 1000:.1f}"
        in page
    )
    hours = wider * 1000 / 3600
    assert (
        f"| {hours:.0f} core-hours | {hours / 100:.1f} h | {hours * 60 / 1000:.0f} min"
        in page
    )


def test_a_sample_is_enough_for_a_leakage():
    """The relative standard error of a cell of a sample, as docs/speed.md says."""
    cell, records = 1e-4, 1e8
    assert math.sqrt((1 - cell) / (cell * records)) <= 0.01


def test_counts_of_many_columns_are_large():
    pairs = math.comb(10_000, 2)
    assert f"{pairs / 1e6:.0f} million" == "50 million"
    assert f"{pairs * 4 * 8 / 1e9:.1f} GB" == "1.6 GB"
    assert f"{MAX_BYTES / 1e9:.1f} GB" == "0.5 GB"
