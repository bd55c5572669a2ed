"""The exceptions that `seepage` raises on purpose.

Each message is one line: what is wrong, the rule, what was given, and a hint.  The command line
prints that line and exits with 2; any other exception is a bug in `seepage`.
"""

__all__ = ["ChannelError", "DomainError", "InputError", "SeepageError", "TableError"]


class SeepageError(Exception):
    """Base of every exception that `seepage` raises on purpose."""


class InputError(SeepageError, ValueError):
    """An argument breaks its rule: an epsilon that is not finite, a name that does not exist."""


class DomainError(InputError):
    """Attributes or values that do not fit: another domain, a value outside it."""


class ChannelError(InputError):
    """A matrix that is not a channel, or two channels whose axes do not meet."""


class TableError(InputError):
    """Records that cannot be read or coded: a missing file, a ragged row, too many values."""
