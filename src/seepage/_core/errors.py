"""Exceptions that `seepage` raises for invalid input.

Each message is one line: what is wrong, the rule, what was given, and a hint.  The
command line prints that line and exits with status 2; any other exception is a bug in
`seepage`.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_WORD = 200
"""Characters of a word in a message; longer words are shortened, nearly all file paths
are not."""


EACH = "each of "
"""Start of the name of a parameter in a message about one of its items."""


MAX_LINE = 500
"""Characters of a message."""


class SeepageWarning(UserWarning):
    """What is likely to be a mistake, but computes."""

    __module__ = "seepage"


class DataWarning(SeepageWarning):
    """What the check of a table found: columns left out, values that may mean
    missing.
    """

    __module__ = "seepage"


class Setting(NamedTuple):
    """A parameter that a text names: alone, or with the value that is proposed."""

    parameter: str
    value: Any = None

    def __str__(self) -> str:
        """Return the setting of a parameter as an error's message in Python has it."""
        if self.value is None:
            return self.parameter
        return f"{self.parameter}={self.value!r}"


class Text(str):
    """A text that names parameters: a string in the words of Python, which keeps its
    parts.

    Examples
    --------
    >>> step = Text("look at records (", Setting("guarantee", "all"), ")")
    >>> print(step)
    look at records (guarantee='all')
    >>> step.naming({"guarantee": "--guarantee"})
    'look at records (--guarantee all)'
    """

    parts: tuple[str | Setting, ...]

    def __new__(cls, *parts: "str | Setting") -> "Text":
        """Return the text of an error with these parts, strings and settings."""
        text = super().__new__(cls, "".join(map(str, parts)))
        inner = list[str | Setting]()
        for part in parts:
            if isinstance(part, Text):
                inner += part.parts
            else:
                inner.append(part)
        text.parts = tuple(inner)
        return text

    def naming(self, names: Mapping[str, str]) -> str:
        """Return an error's text with other names of parameters, the options of a
        command.
        """
        words = list[str]()
        for part in self.parts:
            words.append(_named(part, names) if isinstance(part, Setting) else part)
        return "".join(words)


def naming(text: str, names: Mapping[str, str]) -> str:
    """Return the text of any error with other names of the parameters that it names as
    such.
    """
    return text.naming(names) if isinstance(text, Text) else text


def _named(setting: Setting, names: Mapping[str, str]) -> str:
    """Return a setting in an error's text under another name of its parameter."""
    name = names.get(setting.parameter)
    if name is None:
        return str(setting)
    if setting.value is None:
        return name
    return f"{name} {setting.value}"


class SeepageError(Exception):
    r"""Base class of the exceptions that `seepage` raises for invalid input.

    The message is sanitised to one short line without control characters: a value that
    it quotes may have 5,000 characters, or contain an escape sequence of a terminal.

    Parameters
    ----------
    message
        One line: what is wrong, the rule, what was given, and a hint; in parts, if it
        names other parameters than its subject (`Setting`).
    parameter
        The parameter of the public function that the message is about, which it starts
        with; also "each of" it, or it "of" an attribute.

    Examples
    --------
    >>> len(str(SeepageError("there is no column '" + "x" * 5000 + "'")))
    219
    >>> print(SeepageError("there is no column 'a\x1b[2J'"))
    there is no column 'a\x1b[2J'
    >>> error = SeepageError("epsilon must be a number, got 'a'", parameter="epsilon")
    >>> error.naming({"epsilon": "--epsilon"})
    "--epsilon must be a number, got 'a'"
    """

    __module__ = "seepage"

    parameter: str | None = None

    def __init__(self, *message: object, parameter: str | None = None) -> None:
        """Join the parts of the error's message in one line."""
        parts = list[str | Setting]()
        for part in message:
            parts.append(part if isinstance(part, (str, Setting)) else str(part))
        self.text = Text(*parts)
        super().__init__(_in_one_line(self.text))
        if parameter:
            self.parameter = parameter.removeprefix(EACH).partition(" of ")[0]
            self.text = _with_subject(self.text, self.parameter)

    def naming(self, names: Mapping[str, str]) -> str:
        """Return the error's message with other names of parameters, the options of a
        command.
        """
        return _in_one_line(self.text.naming(names))


def _with_subject(text: Text, parameter: str) -> Text:
    """Return an error's text whose subject, the parameter at its start, is one of its
    parts.
    """
    first, *others = text.parts or ("",)
    before, subject, after = str(first).partition(parameter)
    if isinstance(first, Setting) or not subject or before not in ("", EACH):
        return text
    return Text(before, Setting(parameter), after, *others)


class InputError(SeepageError, ValueError):
    """An invalid argument: an epsilon that is not finite, a name that does not
    exist.
    """

    __module__ = "seepage"


class DomainError(InputError):
    """Attributes or values that do not match a domain: another domain, a value outside
    it.
    """

    __module__ = "seepage"


class ChannelError(InputError):
    """A matrix that is not row-stochastic, or two channels whose axes do not match."""

    __module__ = "seepage"


class TableError(InputError):
    """Records that cannot be read or coded: a missing file, a ragged row, too many
    values.
    """

    __module__ = "seepage"


class GuaranteeError(InputError):
    """A guarantee cannot be computed: records, memory or a mechanism is missing."""


def _in_one_line(message: str) -> str:
    """Return an error's message without line breaks and control characters, long words
    shortened.
    """
    printable = escaped(message.translate(dict.fromkeys(map(ord, "\n\r\t"), " ")))
    words = (_shortened(word, MAX_WORD) for word in printable.split(" "))
    return _shortened(" ".join(words), MAX_LINE)


def _shortened(text: str, size: int) -> str:
    """Return a long word of an error's message as its start, `...` and its last
    third.
    """
    if len(text) <= size:
        return text
    end = size // 3
    return f"{text[: size - end - 3]}...{text[-end:]}"


def escaped(text: str, hidden: tuple[str, ...] = ("Cc", "Cf", "Cs", "Zl", "Zp")) -> str:
    r"""Return an error's text whose characters of some Unicode categories are escaped,
    as in ``\x1b``.

    By default control, format and surrogate characters, and separators of lines.
    """
    shown = list[str]()
    for character in text:
        if unicodedata.category(character) in hidden:
            shown.append(character.encode("unicode_escape").decode("ascii"))
        else:
            shown.append(character)
    return "".join(shown)
