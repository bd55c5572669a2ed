"""Settings and results of the statistical method: estimates with intervals and
p-values.
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import DomainError, InputError
from seepage._core.results import Result, json_ready
from seepage._core.text import sample_caution
from seepage.benchmarks.statistical.permutation import Significance
from seepage.channel.domain import Domain

MAX_SEED = 2**63 - 1
"""Largest seed of a run."""


MAX_SURROGATES = 10**7
"""Enough for p-values of 1e-7; each surrogate takes 8 bytes."""


RARE = 10
"""Minimum count of the deciding cells of an estimate without a caution."""


REPORTED = ("target", "source", "plug_in", "corrected", "lower", "upper", "p_value")
"""Columns of the estimates as a table, before the cautions."""


CONSTRAINTS: dict[str, checks.Check] = {
    "threads": partial(checks.integer, minimum=1),
    "replicas": partial(checks.integer, minimum=1),
    "surrogates": partial(checks.integer, minimum=0, maximum=MAX_SURROGATES),
    "rng": partial(checks.seed, maximum=MAX_SEED),
    "confidence": checks.inner_probability,
}
"""What each of the `EstimateSettings` must be."""


@dataclass(frozen=True, kw_only=True)
class EstimateSettings:
    """How leakages are estimated, see `estimate_leakage`.

    With the data, the pairs and their mechanisms they determine every number; the seed
    is drawn if it is None.
    """

    threads: int | None = None
    replicas: int = 50
    surrogates: int = 10_000
    rng: Any = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Check the settings of leakage estimates."""
        checks.constrain(self, CONSTRAINTS)
        if self.rng is None:
            object.__setattr__(self, "rng", secrets.randbits(63))


class DecidingCell(NamedTuple):
    """One of the two cells whose ratio of shares is the plug-in estimate.

    Parameters
    ----------
    value
        The target value x.
    report
        The report y, of several sources joined by "and".
    seen, total
        The number of reports y with x, and of all reports with x.
    """

    value: str
    report: str
    seen: int
    total: int


@dataclass(frozen=True, repr=False)
class LeakageEstimate(Result):
    """The leakage of one source, or of several together, estimated from a simulated
    collection.

    Parameters
    ----------
    target, sources
        The attribute whose privacy is measured, and those reported.
    mechanism, epsilon
        The mechanism and budget of the source; of several, all names and the sum of
        budgets.
    direct
        The budget of the target's own report (DPL).
    delta, direct_delta
        The delta of the source's mechanism, of several their sum, and that of the
        target's.  Estimates are of guessed values and need none; `direct` and so
        `total` hold with `direct_delta`.
    plug_in
        The paper's estimate: ln of the largest ratio of observed shares, biased upward.
        Infinite if a report was observed with one target value and never with another;
        not clipped to epsilon.
    corrected
        The estimate with both corrections of `simulated_intervals`: above the true
        leakage with probability at most 1/2.
    lower, upper
        The confidence interval.
    significance
        The permutation test.
    deciding
        The cells whose ratio is the plug-in estimate, that of the likelier target value
        first; none if there is nothing to compare.
    unseen
        The number of empty cells whose report was observed with another target value.
    records
        The number of records.
    seed
        The seed of the whole run.
    population
        For a sample of records, the number of records it was drawn from; else None.
    """

    target: str
    sources: tuple[str, ...]
    mechanism: str
    epsilon: float
    direct: float
    plug_in: float
    corrected: float
    lower: float
    upper: float
    significance: Significance
    deciding: tuple[DecidingCell, ...]
    unseen: int
    records: int
    seed: int
    population: int | None = None
    delta: float = 0.0
    direct_delta: float = 0.0

    @property
    def source(self) -> str:
        """The source's name of a leakage estimate; of several, all names joined by
        "and".
        """
        return " and ".join(self.sources)

    @property
    def total(self) -> float:
        """DPL plus the corrected estimate: the target's total leakage (TPL) from these
        sources, with `direct_delta`.

        Given the target's value its own report is independent of all others, so
        leakages add up.
        """
        return self.direct + self.corrected

    @property
    def p_value(self) -> float:
        """The p-value of a leakage estimate, (1 + hits)/(1 + draws); NaN without
        surrogates.
        """
        return self.significance.p_value

    @property
    def cautions(self) -> tuple[str, ...]:
        """Caveats of a leakage estimate, one line each."""
        cautions = []
        sample = sample_caution(self)
        if sample is not None:
            cautions.append(sample)
        if self.unseen:
            cautions.append(
                f"{self.unseen:,} cells are empty although their report came with "
                "another target value: the plug-in estimate is infinite"
            )
        if any(cell.seen < RARE for cell in self.deciding):
            seen = (
                f"{cell.seen:,} times in {cell.total:,} under {cell.value}"
                for cell in self.deciding
            )
            cautions.append(
                f"decided by cells seen fewer than {RARE} times: report "
                f"{self.deciding[0].report} came {' and '.join(seen)}"
            )
        if np.isinf(self.upper):
            cautions.append(
                "a possible report was never seen under some target value, so the "
                "interval has no upper end"
            )
        if not self.significance.draws:
            cautions.append("no surrogates were drawn, so there is no p-value")
        return tuple(cautions)

    def _headline(self) -> str:
        """Return the estimate of one leakage in one line."""
        return (
            f"LeakageEstimate(corrected {self.corrected:.4g}, "
            f"{self.lower:.4g} to {self.upper:.4g}, "
            f"of {self.source!r} about {self.target!r})"
        )

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of the estimate of one leakage in long form."""
        columns = {name: [getattr(self, name)] for name in REPORTED}
        if self.delta:
            columns["delta"] = [self.delta]
        return columns | {"cautions": ["; ".join(self.cautions)]}


@dataclass(frozen=True, eq=False, repr=False)
class LeakageEstimates(Result):
    """Estimates by target and source, with matrices whose rows are targets, columns
    sources.

    Matrix entries of pairs that were not estimated, the diagonal included, are NaN.
    `estimates[target, source]` is the estimate of one pair; `estimates[target,
    *sources]` that of several sources jointly.

    Parameters
    ----------
    domain
        The attributes, in the order of rows and columns.
    estimates
        The estimate of each (target, source) or (target, *sources), by their indices.
    settings
        Their settings.
    """

    domain: Domain
    estimates: Mapping[tuple[int, ...], LeakageEstimate]
    settings: EstimateSettings

    @cached_property
    def plug_in(self) -> Floats:
        """The paper's leakage estimates, biased upward; infinite if a cell is empty."""
        return self._matrix("plug_in")

    @cached_property
    def corrected(self) -> Floats:
        """The corrected leakage estimates."""
        return self._matrix("corrected")

    @cached_property
    def lower(self) -> Floats:
        """The lower confidence limits of leakage estimates, not simultaneous over
        pairs.
        """
        return self._matrix("lower")

    @cached_property
    def upper(self) -> Floats:
        """The upper confidence limits of leakage estimates, not simultaneous over
        pairs.
        """
        return self._matrix("upper")

    @cached_property
    def p_values(self) -> Floats:
        """The p-values of leakage estimates, not adjusted for several; NaN without
        surrogates.
        """
        return self._matrix("p_value")

    def _matrix(self, name: str) -> Floats:
        """Return one number of the leakage estimates of pairs, NaN where there is
        none.
        """
        values = np.full((len(self.domain), len(self.domain)), np.nan)
        for key, estimate in self.estimates.items():
            if len(key) == 2:
                values[key] = getattr(estimate, name)
        return checks.read_only(values, name)

    @property
    def pairs(self) -> tuple[tuple[str, ...], ...]:
        """The names (target, source) of each leakage estimate, or (target, *sources) of
        a joint one.
        """
        return tuple((estimate.target, *estimate.sources) for estimate in self)

    @property
    def only(self) -> LeakageEstimate:
        """The only leakage estimate; raises an InputError if there is not exactly
        one.
        """
        if len(self) != 1:
            raise InputError(
                f"there is not one estimate but {len(self)}; choose by names"
            )
        return next(iter(self))

    def __len__(self) -> int:
        """Return the number of leakage estimates."""
        return len(self.estimates)

    def __iter__(self) -> Iterator[LeakageEstimate]:
        """Iterate over the leakage estimates."""
        return iter(self.estimates.values())

    def __getitem__(self, names: Any) -> LeakageEstimate:
        """Return the leakage estimate of a target and its sources."""
        if not isinstance(names, tuple) or len(names) < 2:
            raise DomainError(
                f"estimates are chosen by target and source, got {checks.shown(names)}"
            )
        key = tuple(self.domain.index(name) for name in names)
        if key not in self.estimates:
            target, *sources = (self.domain.names[index] for index in key)
            raise DomainError(
                f"the leakage of source {' and '.join(map(repr, sources))} about "
                f"target {target!r} was not estimated"
            )
        return self.estimates[key]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, and the leakage estimates in long form, as a JSON
        object.
        """
        return {
            "seed": self.settings.rng,
            "replicas": self.settings.replicas,
            "view": "inferred",
            "confidence": self.settings.confidence,
            "estimates": json_ready(self.to_arrow().to_pylist()),
        }

    def _headline(self) -> str:
        """Return the estimates of leakages in one line."""
        if not len(self):
            return "LeakageEstimates(none)"
        largest = max(self, key=lambda estimate: estimate.corrected)
        return (
            f"LeakageEstimates({len(self):,} among {len(self.domain)} attributes, "
            f"largest corrected {largest.corrected:.4g} of {largest.source!r} "
            f"about {largest.target!r}, view 'inferred')"
        )

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of the estimates of leakages in long form."""
        names = [*REPORTED, "cautions"]
        if any(estimate.delta for estimate in self):
            names.insert(len(REPORTED), "delta")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for estimate in self:
            row = {"delta": [estimate.delta], **estimate._columns()}
            for name in names:
                columns[name] += row[name]
        return columns
