"""Privacy leakage through correlated attributes under local differential privacy.

The public names are loaded when first used, so that importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seepage._version import __version__

if TYPE_CHECKING:
    from seepage.channel import Channel
    from seepage.correlation import correlation_matrix
    from seepage.counting import count_pairs
    from seepage.datasets import load_pairs
    from seepage.domain import Attribute, Domain
    from seepage.errors import (
        ChannelError,
        DomainError,
        InputError,
        SeepageError,
        TableError,
    )
    from seepage.evidence import Leakage, Witness
    from seepage.leakage import (
        LeakageCurve,
        LeakageMatrix,
        epsilon_for_leakage,
        exact_leakage,
        leakage_bound,
        leakage_curve,
        leakage_matrix,
    )
    from seepage.pairs import PairCounts
    from seepage.pairs_io import save_pairs

_HOMES = {
    "Attribute": "domain",
    "Channel": "channel",
    "ChannelError": "errors",
    "Domain": "domain",
    "DomainError": "errors",
    "InputError": "errors",
    "Leakage": "evidence",
    "LeakageCurve": "leakage",
    "LeakageMatrix": "leakage",
    "PairCounts": "pairs",
    "SeepageError": "errors",
    "TableError": "errors",
    "Witness": "evidence",
    "correlation_matrix": "correlation",
    "count_pairs": "counting",
    "epsilon_for_leakage": "leakage",
    "exact_leakage": "leakage",
    "leakage_bound": "leakage",
    "leakage_curve": "leakage",
    "leakage_matrix": "leakage",
    "load_pairs": "datasets",
    "save_pairs": "pairs_io",
}

__all__ = [  # noqa: RUF022
    "__version__",
    "Attribute",
    "Channel",
    "ChannelError",
    "Domain",
    "DomainError",
    "InputError",
    "Leakage",
    "LeakageCurve",
    "LeakageMatrix",
    "PairCounts",
    "SeepageError",
    "TableError",
    "Witness",
    "correlation_matrix",
    "count_pairs",
    "epsilon_for_leakage",
    "exact_leakage",
    "leakage_bound",
    "leakage_curve",
    "leakage_matrix",
    "load_pairs",
    "save_pairs",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seepage' has no attribute {name!r}")
    value = getattr(import_module(f"seepage.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
