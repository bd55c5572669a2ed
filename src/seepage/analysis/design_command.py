"""The command `seepage design` for a table and its limits."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seepage._core.odds import limit_as_typed, limit_in_nats
from seepage.channel.domain import ALL_OTHERS

UNNAMED = "DATA"
"""Word of a command for records that are not at hand by name."""


RECORDS_FILE = "a file of the records, counts do not suffice"
"""What to give in place of `UNNAMED`."""


REPEATED = {"missing_markers": "missing-marker"}
"""Names of options of a table that are given once for each of several values."""


LIMIT = "limit"
"""Name of the option that all attributes share, and with "of" of that of one."""


FIRST_LIMIT = limit_in_nats("7.4x")
"""The limit that is proposed where none is set."""


NOT_TYPED = ("domain", "progress")
"""Keywords of reading a table that are no options of commands."""


def reading_words(reading: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words of the design command for keywords of reading a table.

    Examples
    --------
    >>> reading = {
    ...     "columns": ("a", "b"),
    ...     "bins": {"a": [0.0, 0.5, 1.0]},
    ...     "missing_markers": ("?", "-"),
    ... }
    >>> " ".join(reading_words(reading))
    '--columns a,b --bins a=0,0.5,1 --missing-marker ? --missing-marker -'
    """
    words = list[str]()
    for keyword, value in reading.items():
        if keyword in NOT_TYPED:
            continue
        option = REPEATED.get(keyword, keyword.replace("_", "-"))
        by_column = value if isinstance(value, Mapping) else {ALL_OTHERS: value}
        for column, setting in by_column.items():
            for text in _texts(setting, repeated=keyword in REPEATED):
                words.append(f"--{option}")
                words.append(text if column == ALL_OTHERS else f"{column}={text}")
    return tuple(words)


def _texts(setting: Any, *, repeated: bool) -> Iterator[str]:
    """Yield the words of the design command for a setting: one for each value, or one
    of all with commas.
    """
    if not isinstance(setting, (list, tuple)):
        yield _text(setting)
    elif repeated:
        for value in setting:
            yield _text(value)
    else:
        yield ",".join(map(_text, setting))


def _text(value: Any) -> str:
    """Return a value as the design command has it."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def design_command(
    table: Sequence[str], names: Sequence[str], limits: Sequence[float | None]
) -> str:
    """Return the command that designs a plan within limits, in backquotes.

    Parameters
    ----------
    table
        The words that name the records and the options of reading them.
    names, limits
        The attributes and their limits in nats; `FIRST_LIMIT` for all if none is set.

    Examples
    --------
    >>> design_command(["survey.csv"], ["ill", "age"], [1.0, None])
    '`seepage design survey.csv --limit 1 --limit-of age=none`'
    """
    known = [limit for limit in limits if limit is not None]
    first = known[0] if known else FIRST_LIMIT
    words = ["seepage", "design", *table, f"--{LIMIT}", limit_as_typed(first)]
    if known:
        for name, limit in zip(names, limits, strict=True):
            if limit != first:
                text = "none" if limit is None else limit_as_typed(limit)
                words += [f"--{LIMIT}-of", f"{name}={text}"]
    command = f"`{shlex.join(words)}`"
    if table[0] == UNNAMED:
        return f"{command} ({UNNAMED}: {RECORDS_FILE})"
    return command
