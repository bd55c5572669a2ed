"""What was done in the app, as commands and as Python that do the same."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

OPTION_NAMES = {"missing_markers": "missing-marker", "start": "from"}
"""Options whose name is not that of the keyword with dashes."""

IMPORT = "import seepage as sp\n\n"
"""How each piece of Python begins."""


def check_command(data: str) -> str:
    """Return the equivalent command that checks the columns."""
    return shlex.join(["seepage", "check", data])


def check_python(data: str) -> str:
    """Return the equivalent Python that checks the columns."""
    return f"{IMPORT}print(sp.check({data!r}).text())"


def analyse_command(data: str, reading: Mapping[str, Any], odds: float) -> str:
    """Return the equivalent command that analyses all records as if all were asked of
    everybody.

    Examples
    --------
    >>> analyse_command("p.csv", {"columns": ("ill",)}, 7.4)
    'seepage analyse p.csv --epsilon 1 --limit 7.4x --columns ill --report
    analysis.html'
    """
    words = ["seepage", "analyse", data, "--epsilon", "1", "--limit", f"{odds:g}x"]
    return shlex.join(
        [*words, *_all_words(_without_scales(reading)), "--report", "analysis.html"]
    )


def analyse_python(data: str, reading: Mapping[str, Any], odds: float) -> str:
    """Return the equivalent Python that analyses all records as if all were asked of
    everybody.
    """
    keywords = {"epsilon": 1.0, "limit": f"{odds:g}x", **_without_scales(reading)}
    call = _call("analysis = sp.analyse", data, keywords)
    return f'{IMPORT}{call}\nanalysis.report("analysis.html")'


def _without_scales(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords of reading for the equivalent analysis, without those of
    asking.
    """
    return {name: value for name, value in reading.items() if name != "order"}


def plan_command(data: str, keywords: Mapping[str, Any]) -> str:
    """Return the equivalent command that designs the same plan.

    Examples
    --------
    >>> plan_command("people.csv", {"limit": "2x", "columns": ("ill", "my age")})
    "seepage design people.csv --limit 2x --columns 'ill,my age' -o plan.json"
    """
    words = ["seepage", "design", data, *_all_words(keywords)]
    return shlex.join([*words, "-o", "plan.json"])


def plan_python(data: str, keywords: Mapping[str, Any]) -> str:
    """Return the equivalent Python that designs the same plan.

    Examples
    --------
    >>> print(plan_python("people.csv", {"limit": "2x", "columns": ("ill", "age")}))
    import seepage as sp
    <BLANKLINE>
    plan = sp.design(
        'people.csv',
        limit='2x',
        columns=('ill', 'age'),
    )
    plan.save("plan.json")
    """
    call = _call("plan = sp.design", data, keywords)
    return f'{IMPORT}{call}\nplan.save("plan.json")'


def collect_command(data: str) -> str:
    """Return the equivalent commands that make the questionnaire, receive, simulate and
    read results.
    """
    plan = ["--plan", "plan.json"]
    lines = [
        ["seepage", "client", "plan.json", "--questionnaire", "questionnaire.html"],
        ["seepage", "collect", "plan.json", "-o", "reports.db"],
        ["seepage", "perturb", data, *plan, "-o", "reports.parquet"],
        ["seepage", "estimate", "reports.parquet", *plan, "--report", "results.html"],
    ]
    return "\n".join(shlex.join(words) for words in lines)


def collect_python(data: str) -> str:
    """Return the equivalent Python that makes the questionnaire, simulates and reads
    results.
    """
    return (
        f'{IMPORT}plan = sp.Plan.load("plan.json")\n'
        'plan.write_questionnaire("questionnaire.html")\n'
        f"reports = plan.perturb({data!r})\n"
        "print(plan.estimate(reports))"
    )


def _call(function: str, data: str, keywords: Mapping[str, Any]) -> str:
    """Return an equivalent call in Python with one argument a line."""
    lines = [f"{function}(", f"    {data!r},"]
    lines += [f"    {name}={value!r}," for name, value in keywords.items()]
    return "\n".join([*lines, ")"])


def _all_words(keywords: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of an equivalent command that give all keywords."""
    for name, value in keywords.items():
        yield from _words(name, value)


def _words(name: str, value: Any) -> Iterator[str]:
    """Yield the words of an equivalent command that give one keyword."""
    option = "--" + OPTION_NAMES.get(name, name.replace("_", "-"))
    if name == "never":
        for pair in value:
            yield from (option, _listed(pair))
    elif name == "want":
        for table in value:
            yield from (option, table)
    elif name == "precision":
        yield from (option, f"{100 * value:.10g}%")
    elif isinstance(value, Mapping):
        for key, part in value.items():
            for text in _texts(name, part):
                yield from (option, f"{key}={text}")
    elif isinstance(value, tuple):
        yield from (option, _listed(value))
    elif isinstance(value, float):
        yield from (option, f"{value:.15g}")
    else:
        yield from (option, str(value))


def _listed(names: Sequence[str]) -> str:
    """Return names in an equivalent command with commas between, in quotes where they
    have commas themselves.
    """
    return ",".join(name if _is_plain(name) else _quoted(name) for name in names)


def _is_plain(name: str) -> bool:
    """Return whether a name stands in an equivalent command's list as it is."""
    return "," not in name and not name.startswith('"') and name == name.strip()


def _quoted(name: str) -> str:
    """Return a name of an equivalent command in double quotes, which are doubled
    within.
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _texts(name: str, part: Any) -> Iterator[str]:
    """Yield what stands behind COLUMN= in an equivalent command: edges and scales as
    one, markers one by one.
    """
    if isinstance(part, list):
        yield ",".join(f"{edge:.15g}" for edge in part)
    elif isinstance(part, tuple) and name == "order":
        yield _listed(part)
    elif isinstance(part, tuple):
        yield from part
    else:
        yield str(part)
