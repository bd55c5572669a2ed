"""`JointWitness`: the reports and values at which a total is attained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import isinf
from typing import Any

import numpy as np

from seepage._core.arrays import Booleans
from seepage._core.odds import odds_at_least
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
        """The value of a joint witness that counts as a lower bound: the smaller of
        `value` and `held_out`.
        """
        if self.held_out is None:
            return self.value
        return min(self.value, self.held_out)

    @property
    def confirmed(self) -> bool:
        """Whether x is likelier than x' given a joint witness on the held-out records
        too.
        """
        return self.held_out is None or self.held_out > 0

    @property
    def beyond_own(self) -> bool:
        """Whether a joint witness leaks more than the target's own report alone."""
        return self.own is None or self.counted > self.own

    def sentence(self) -> str:
        """Return the joint witness of a total as a sentence.

        Examples
        --------
        >>> witness = JointWitness(
        ...     "Sex", "F", "M", {"Sex": ("F",), "Beard": ("no",)}, 1.25
        ... )
        >>> witness.sentence()
        'reports that favour Sex F, Beard no are 3.49 times likelier under Sex F than
        under Sex M'
        """
        favoured = []
        for name, likely in self.reports.items():
            if likely:
                favoured.append(f"{name} {' or '.join(likely)}")
        shown = short_list(favoured, 5)
        times = f"{odds_at_least(self.value)} times"
        if isinf(self.value):
            times = "infinitely"
        sentence = (
            f"reports that favour {shown} are {times} likelier "
            f"under {self.target} {self.likelier} than under {self.target} {self.other}"
        )
        if not self.confirmed:
            return f"{sentence}, not confirmed by people held out of the search"
        if not self.beyond_own:
            return f"{sentence}: nothing beyond its own report"
        return sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the joint witness as a JSON object; numbers as in
        `TotalLeakage.to_dict`.
        """
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
    *,
    value: float,
    held_out: float | None = None,
    own: float | None = None,
) -> JointWitness:
    """Return a joint witness by names, from each source's column; the target's own
    report is added.

    `pair` holds the target values (x, x') and `value` the log-likelihood ratio.
    """
    likelier, other = pair
    one_hot = np.eye(columns[target].k)
    own_report = best_column(columns[target], one_hot[likelier], one_hot[other])
    all_reports = {**reports, target: own_report}
    favoured: dict[str, tuple[str, ...]] = {}
    for k, attribute in enumerate(domain):
        likely = np.flatnonzero(columns[k].likely(all_reports[k]))
        favoured[attribute.name] = tuple(attribute.values[u] for u in likely)
    return JointWitness(
        target=domain[target].name,
        likelier=domain[target].values[likelier],
        other=domain[target].values[other],
        reports=favoured,
        value=value,
        held_out=held_out,
        own=own,
    )
