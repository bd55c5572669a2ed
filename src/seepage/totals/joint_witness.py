"""`JointWitness`: the reports and values at which a total is attained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp, isinf
from typing import Any

import numpy as np

from seepage._core.arrays import Booleans
from seepage._core.results import json_ready
from seepage._core.text import short_list
from seepage.channel.domain import Domain
from seepage.mechanisms.likelihood_columns import LikelihoodColumns, best_column


@dataclass(frozen=True)
class JointWitness:
    """A report tuple y of all attributes and two target values x, x' that it
    distinguishes.

    Parameters
    ----------
    target
        The attribute.
    likelier, other
        The values x and x': y is exp(value) times likelier under x.
    reports
        For each attribute, the likely set of its report.
    value
        ln p(y given x) / p(y given x') in the table, in nats.
    held_out
        The same on records held out of the search; None for an exact total.
    own
        The maximum log-likelihood ratio of the target's own report; None for an exact
        total.
    """

    target: str
    likelier: str
    other: str
    reports: Mapping[str, tuple[str, ...]]
    value: float
    held_out: float | None = None
    own: float | None = None

    @property
    def counted(self) -> float:
        """The value that counts as a lower bound: the smaller of `value` and
        `held_out`.
        """
        return self.value if self.held_out is None else min(self.value, self.held_out)

    @property
    def confirmed(self) -> bool:
        """Whether x is likelier than x' on the held-out records too."""
        return self.held_out is None or self.held_out > 0

    @property
    def beyond_own(self) -> bool:
        """Whether the report tuple leaks more than the target's own report alone."""
        return self.own is None or self.counted > self.own

    def sentence(self) -> str:
        """Return the evidence as a sentence.

        Examples
        --------
        >>> witness = JointWitness(
        ...     "Sex", "F", "M", {"Sex": ("F",), "Beard": ("no",)}, 1.25
        ... )
        >>> witness.sentence()
        'reports that favour Sex F, Beard no are 3.49 times likelier under Sex F than under Sex M'
        """
        named = [
            f"{name} {' or '.join(likely)}"
            for name, likely in self.reports.items()
            if likely
        ]
        shown = short_list(named, 5)
        times = f"{exp(min(self.value, 700.0)):.3g} times"
        more = "" if self.beyond_own else ": nothing beyond its own report"
        return (
            f"reports that favour {shown} are {'infinitely' if isinf(self.value) else times} "
            f"likelier under {self.target} {self.likelier} than under {self.target} {self.other}"
            + (
                more
                if self.confirmed
                else ", not confirmed by people held out of the search"
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the witness as a JSON object; numbers as in `TotalLeakage.to_dict`."""
        content = {
            field.name: json_ready(getattr(self, field.name)) for field in fields(self)
        }
        return content | {"confirmed": self.confirmed, "beyond_own": self.beyond_own}


def joint_witness(
    domain: Domain,
    columns: Sequence[LikelihoodColumns],
    target: int,
    pair: tuple[int, int],
    reports: Mapping[int, int | Booleans],
    value: float,
    **more: float,
) -> JointWitness:
    """Return a witness by names, from each source's column; the target's own report is
    added.

    `pair` holds the target values (x, x') and `value` the log-likelihood ratio.
    """
    attribute, values = domain[target], np.eye(columns[target].k)
    chosen = {**reports, target: best_column(columns[target], *values[list(pair)])}
    favoured = {
        domain.names[k]: tuple(
            domain[k].values[u] for u in np.flatnonzero(columns[k].likely(chosen[k]))
        )
        for k in range(len(domain))
    }
    likelier, other = (attribute.values[x] for x in pair)
    return JointWitness(attribute.name, likelier, other, favoured, value, **more)
