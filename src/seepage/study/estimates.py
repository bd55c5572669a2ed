"""What the statistical method finds: each estimate with all that its trust rests on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, SupportsIndex

import numpy as np

from seepage._numerics import Floats
from seepage.data.domain import Domain, sample_caution
from seepage.errors import DomainError
from seepage.leakage.release import View
from seepage.study.permutation import QUANTILES, Significance

__all__ = ["DecidingCells", "LeakageEstimate", "LeakageEstimates", "Method", "Settings", "holm"]

Method = Literal["aggregate", "records"]

RARE = 10
"""A cell seen fewer times decides an estimate that is worth little."""

REPORTED = ("plug_in", "corrected", "lower", "upper", "p_value")


@dataclass(frozen=True)
class Settings:
    """How estimates were made: enough to make them again, bit for bit.

    Parameters
    ----------
    replicas, surrogates, seed
        How often each record reported, how many surrogates were drawn, and from which seed.
    view, method, population, confidence
        See `estimate_leakage`.
    """

    replicas: int
    surrogates: int
    seed: int
    view: View
    method: Method
    population: bool
    confidence: float


@dataclass(frozen=True)
class DecidingCells:
    """The two cells that decide a plug-in estimate.

    Parameters
    ----------
    likelier, other
        The target values x and x'.
    report
        The report y, or one for each of several sources.
    likelier_count, other_count
        How often the report came with x, and with x'.
    likelier_total, other_total
        How many reports there were with x, and with x'.
    """

    likelier: str
    other: str
    report: str | tuple[str, ...]
    likelier_count: int
    other_count: int
    likelier_total: int
    other_total: int

    @property
    def rare(self) -> bool:
        """Whether one of the cells was seen fewer than 10 times."""
        return min(self.likelier_count, self.other_count) < RARE

    def sentence(self) -> str:
        """Return the evidence in words.

        Examples
        --------
        >>> DecidingCells("Female", "Male", "Wife", 90, 3, 1000, 2000).sentence()
        'report Wife came 90 times in 1,000 under Female and 3 times in 2,000 under Male'
        """
        report = self.report if isinstance(self.report, str) else " and ".join(self.report)
        return (
            f"report {report} came {self.likelier_count:,} times in {self.likelier_total:,} "
            f"under {self.likelier} and {self.other_count:,} times in {self.other_total:,} "
            f"under {self.other}"
        )


@dataclass(frozen=True)
class LeakageEstimate:
    """The leakage of one source, or of several together, estimated from a simulated collection.

    Parameters
    ----------
    target, sources
        Whose privacy is measured, and what was released.
    mechanism, epsilon
        How the sources were released; of several, all names and the sum of their budgets.
    direct
        The budget of the target's own report (DPL).
    plug_in
        The paper's estimate: ln of the largest ratio of observed shares.  It reads too high.
        Infinite where a report that came with one target value never came with another; nothing
        is limited to epsilon.
    corrected
        The estimate with both corrections of `seepage.study.confidence`: above the
        truth at most half the time.
    lower, upper
        The confidence interval.
    significance
        The test statistic beside its surrogates.
    deciding
        The cells that decide the plug-in estimate; None where there is nothing to compare.
    unseen
        How many cells are empty although their report came with another target value.
    records
        The number of records.
    settings
        How the estimate was made.
    population
        Where the records are a sample, how many it was drawn from; None where they are all.
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
    deciding: DecidingCells | None
    unseen: int
    records: int
    settings: Settings
    population: int | None = None

    @property
    def source(self) -> str:
        """The source's name; of several, all names."""
        return " and ".join(self.sources)

    @property
    def total(self) -> float:
        """The target's own budget plus the corrected estimate: its total leakage (TPL).

        Given the target's value its own report is independent of all others, so the two add up.
        A total over these sources only.
        """
        return self.direct + self.corrected

    @property
    def p_value(self) -> float:
        """(1 + hits)/(1 + draws); NaN without surrogates."""
        return self.significance.p_value

    @property
    def null(self) -> dict[float, float]:
        """The quantiles of the test statistic without any dependence, by probability."""
        return dict(zip(QUANTILES, self.significance.null, strict=False))

    @property
    def seed(self) -> int:
        """The seed of the whole run."""
        return self.settings.seed

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before the number is used, one line each."""
        caution = sample_caution(self)
        found = [] if caution is None else [caution]
        if self.unseen:
            found.append(
                f"{self.unseen:,} cells are empty although their report came with another target "
                "value: the plug-in estimate is infinite"
            )
        if self.deciding is not None and self.deciding.rare:
            found.append(f"decided by cells seen fewer than {RARE} times: {self._evidence}")
        if np.isinf(self.upper):
            found.append(
                "a possible report was never seen under some target value, so the interval has "
                "no upper end"
            )
        if not self.significance.draws:
            found.append("no surrogates were drawn, so there is no p-value")
        return tuple(found)

    @property
    def _evidence(self) -> str:
        return "" if self.deciding is None else self.deciding.sentence()


class LeakageEstimates:
    """The estimates of ordered pairs: rows targets, columns sources.

    The matrices hold NaN for pairs that were not estimated, the diagonal among them.
    `estimates[target, source]` gives one pair's estimate with its evidence.

    Parameters
    ----------
    domain
        The attributes, in the order of rows and columns.
    estimates
        The estimate of each pair (target, source), by their numbers.
    settings
        How they were made.
    """

    def __init__(
        self,
        domain: Domain,
        estimates: Mapping[tuple[int, int], LeakageEstimate],
        settings: Settings,
    ) -> None:
        self.domain = domain
        self.settings = settings
        self._estimates = dict(sorted(estimates.items()))

    def _matrix(self, value: Callable[[LeakageEstimate], float]) -> Floats:
        matrix = np.full((len(self.domain), len(self.domain)), np.nan)
        for pair, estimate in self._estimates.items():
            matrix[pair] = value(estimate)
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def plug_in(self) -> Floats:
        """The paper's estimates, which read too high; infinite where a cell is empty."""
        return self._matrix(lambda estimate: estimate.plug_in)

    @cached_property
    def corrected(self) -> Floats:
        """The corrected estimates."""
        return self._matrix(lambda estimate: estimate.corrected)

    @cached_property
    def lower(self) -> Floats:
        """The lower confidence limits, each pair by itself."""
        return self._matrix(lambda estimate: estimate.lower)

    @cached_property
    def upper(self) -> Floats:
        """The upper confidence limits, each pair by itself."""
        return self._matrix(lambda estimate: estimate.upper)

    @cached_property
    def p_values(self) -> Floats:
        """The p-values, each pair by itself; NaN without surrogates."""
        return self._matrix(lambda estimate: estimate.p_value)

    @cached_property
    def holm(self) -> Floats:
        """Holm-adjusted p-values: small only where the pair stands out among all estimated.

        Of n pairs none falls below n / (1 + surrogates), so to reach 0.05 draw 20 n surrogates.
        """
        adjusted = np.full_like(self.p_values, np.nan)
        known = ~np.isnan(self.p_values)
        adjusted[known] = holm(self.p_values[known])
        adjusted.flags.writeable = False
        return adjusted

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs (target, source) that were estimated."""
        names = self.domain.names
        return tuple((names[target], names[source]) for target, source in self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def __getitem__(self, pair: tuple[str | SupportsIndex, str | SupportsIndex]) -> LeakageEstimate:
        target, source = (self.domain.index(name) for name in pair)
        if (target, source) not in self._estimates:
            names = self.domain.names
            raise DomainError(
                f"the leakage of source {names[source]!r} about target {names[target]!r} "
                "was not estimated"
            )
        return self._estimates[target, source]

    def to_frame(self, frame: Callable[[dict[str, Any]], Any] | None = None) -> Any:
        """Return one row a pair as a PyArrow table, or as `frame` makes of it.

        `estimates.to_frame(pandas.DataFrame)` and `estimates.to_frame(polars.DataFrame)` work.
        """
        rows = list(self._estimates.values())
        columns: dict[str, Any] = {
            "target": [row.target for row in rows],
            "source": [row.source for row in rows],
        }
        columns |= {name: [getattr(row, name) for row in rows] for name in REPORTED}
        columns["holm"] = [float(self.holm[pair]) for pair in self._estimates]
        columns["cautions"] = ["; ".join(row.cautions) for row in rows]
        if frame is not None:
            return frame(columns)
        import pyarrow as pa

        return pa.table(columns)

    def __repr__(self) -> str:
        return (
            f"LeakageEstimates({len(self)} pairs of {len(self.domain)} attributes, "
            f"view={self.settings.view!r}, rows targets, columns sources)"
        )


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted for their number, valid under any dependence [Holm 1979].

    The i-th smallest of n is multiplied by n - i + 1; none may be below a smaller one's.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted
