"""How long work reports its progress."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the number of steps done and their total, None if unknown."""
