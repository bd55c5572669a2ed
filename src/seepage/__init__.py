"""Privacy leakage through correlated attributes under local differential privacy.

The public names are listed in `__init__.pyi`, one line for each.  They are loaded when
first used, so that importing the package is quick.
"""

import re
from importlib import import_module
from typing import Any

__version__ = "1.0.0"

_STUB = __loader__.get_data(f"{__file__}i").decode()
_HOMES = {
    name: home
    for home, name in re.findall(
        r"^from seepage\.([a-z_]\S*) import (\w+)", _STUB, re.M
    )
}
"""The module of each public name."""

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seepage' has no attribute {name!r}")
    value = getattr(import_module(f"seepage.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
