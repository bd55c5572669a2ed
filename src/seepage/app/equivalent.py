"""What was done in the app, as the command line and as Python that do the same."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

OPTION_NAMES = {"missing_markers": "missing-marker"}
"""Options whose name is not that of the keyword with dashes."""


def equivalent_command(data: str, choices: Mapping[str, Any]) -> str:
    """Return the command that designs the same plan.

    Examples
    --------
    >>> equivalent_command("people.csv", {"limit": 2.0, "columns": ("ill", "my age")})
    "seepage design people.csv --limit 2 --columns 'ill,my age' -o plan.json"
    """
    words = ["seepage", "design", data]
    for name, value in choices.items():
        words += _words(name, value)
    return shlex.join([*words, "-o", "plan.json"])


def _words(name: str, value: Any) -> Iterator[str]:
    """Yield the words of a command that give one keyword."""
    option = "--" + OPTION_NAMES.get(name, name.replace("_", "-"))
    if name == "never":
        for pair in value:
            yield from (option, ",".join(pair))
    elif name == "precision":  # the command takes points
        yield from (option, f"{100 * value:.10g}")
    elif isinstance(value, Mapping):
        for key, part in value.items():
            for text in _texts(part):
                yield from (option, f"{key}={text}")
    elif isinstance(value, tuple):
        yield from (option, ",".join(value))
    elif isinstance(value, float):
        yield from (option, f"{value:.15g}")
    else:
        yield from (option, str(value))


def _texts(part: Any) -> Iterator[str]:
    """Yield what stands behind NAME= for one column: edges as one, markers one by one."""
    if isinstance(part, list):
        yield ",".join(f"{edge:.15g}" for edge in part)
    elif isinstance(part, tuple):
        yield from part
    else:
        yield str(part)


def equivalent_python(data: str, choices: Mapping[str, Any]) -> str:
    """Return the Python that designs the same plan.

    Examples
    --------
    >>> print(
    ...     equivalent_python("people.csv", {"limit": 2.0, "columns": ("ill", "age")})
    ... )
    import seepage as sp
    <BLANKLINE>
    plan = sp.design(
        'people.csv',
        limit=2.0,
        columns=('ill', 'age'),
    )
    plan.save("plan.json")
    """
    lines = ["import seepage as sp", "", "plan = sp.design(", f"    {data!r},"]
    lines += [f"    {name}={value!r}," for name, value in choices.items()]
    return "\n".join([*lines, ")", 'plan.save("plan.json")'])
