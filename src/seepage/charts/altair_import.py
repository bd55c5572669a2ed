"""Altair, which reads its own docstrings: `python -OO` has none."""

from seepage._core.errors import InputError

try:
    import altair as alt
except AttributeError:
    raise InputError(
        "charts need docstrings, which python -OO (PYTHONOPTIMIZE=2) leaves out; "
        "run without it"
    ) from None

__all__ = ["alt"]
