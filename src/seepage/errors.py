"""The exceptions that `seepage` raises on purpose.

Each message is one line: what is wrong, the rule, what was given, and a hint.  The command line
prints that line and exits with 2; any other exception is a bug in `seepage`.
"""

import unicodedata

LONGEST_WORD = 200
LONGEST_LINE = 500


class SeepageError(Exception):
    r"""Base of every exception that `seepage` raises on purpose.

    The message is made one short line: what was given may be a name of 5,000 characters, or one
    that moves the cursor of a terminal.

    Examples
    --------
    >>> len(str(SeepageError("there is no column '" + "x" * 5000 + "'")))
    219
    >>> print(SeepageError("there is no column 'a\x1b[2J'"))
    there is no column 'a\x1b[2J'
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(_in_one_line(str(message)))


class InputError(SeepageError, ValueError):
    """An argument breaks its rule: an epsilon that is not finite, a name that does not exist."""


class DomainError(InputError):
    """Attributes or values that do not fit: another domain, a value outside it."""


class ChannelError(InputError):
    """A matrix that is not a channel, or two channels whose axes do not meet."""


class TableError(InputError):
    """Records that cannot be read or coded: a missing file, a ragged row, too many values."""


def _in_one_line(message: str) -> str:
    """Return a message without line breaks, control characters and endless words."""
    plain = "".join(map(_visible, message))
    shorter = (_shortened(word, LONGEST_WORD) for word in plain.split(" "))
    return _shortened(" ".join(shorter), LONGEST_LINE)


def _shortened(text: str, size: int) -> str:
    """Return a text of at most so many characters: its beginning and its end."""
    end = size // 3
    return text if len(text) <= size else f"{text[: size - end - 3]}...{text[-end:]}"


def _visible(character: str) -> str:
    """Return a character, escaped if it is a control, format or surrogate character."""
    if character in "\n\r\t":
        return " "
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character.encode("unicode_escape").decode("ascii") if hidden else character
