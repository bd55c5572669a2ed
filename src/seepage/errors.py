"""Exceptions that `seepage` raises for invalid input.

Each message is one line: what is wrong, the rule, what was given, and a hint.  The command line
prints that line and exits with status 2; any other exception is a bug in `seepage`.
"""

import unicodedata

MAX_WORD = 200
"""Characters of a word in a message; longer words are shortened, nearly all file paths are not."""

MAX_LINE = 500
"""Characters of a message."""


class SeepageError(Exception):
    r"""Base class of the exceptions that `seepage` raises for invalid input.

    The message is sanitised to one short line without control characters: a value that it quotes
    may have 5,000 characters, or contain an escape sequence of a terminal.

    Parameters
    ----------
    message
        One line: what is wrong, the rule, what was given, and a hint.
    parameter
        The parameter of the public function that the message is about, which it starts with.

    Examples
    --------
    >>> len(str(SeepageError("there is no column '" + "x" * 5000 + "'")))
    219
    >>> print(SeepageError("there is no column 'a\x1b[2J'"))
    there is no column 'a\x1b[2J'
    """

    parameter: str | None = None

    def __init__(self, message: object = "", *, parameter: str | None = None) -> None:
        super().__init__(_in_one_line(str(message)))
        if parameter is not None:
            self.parameter = parameter


class InputError(SeepageError, ValueError):
    """An invalid argument: an epsilon that is not finite, a name that does not exist."""


class DomainError(InputError):
    """Attributes or values that do not match a domain: another domain, a value outside it."""


class ChannelError(InputError):
    """A matrix that is not row-stochastic, or two channels whose axes do not match."""


class TableError(InputError):
    """Records that cannot be read or coded: a missing file, a ragged row, too many values."""


def _in_one_line(message: str) -> str:
    """Return a message without line breaks and control characters, long words shortened."""
    printable = "".join(map(_printable, message))
    words = (_shortened(word, MAX_WORD) for word in printable.split(" "))
    return _shortened(" ".join(words), MAX_LINE)


def _shortened(text: str, size: int) -> str:
    """Return at most `size` characters of a string: its start, `...` and its last third."""
    end = size // 3
    return text if len(text) <= size else f"{text[: size - end - 3]}...{text[-end:]}"


def _printable(character: str) -> str:
    """Return a character; control, format and surrogate characters are escaped."""
    if character in "\n\r\t":
        return " "
    control = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character.encode("unicode_escape").decode("ascii") if control else character
