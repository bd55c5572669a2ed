"""Privacy leakage through correlated attributes under local differential privacy.

The public names are listed in `__init__.pyi`, one line for each.  They are loaded when
first used, so that importing the package is quick.
"""

import lazy_loader

__version__ = "1.0.0"

__getattr__, _lazy_dir, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["__version__", *_names]


def __dir__() -> list[str]:
    return sorted(__all__)
