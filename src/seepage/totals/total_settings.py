"""Keywords of sampled totals."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from seepage._core import checks
from seepage._core.options import option
from seepage.tables.table_options import DataOptions


@dataclass(frozen=True, kw_only=True)
class TotalSettings(DataOptions):
    """Options of totals that only some guarantees use.

    Parameters
    ----------
    target_delta
        The delta of sampled totals.
    confidence
        The confidence of all totals together, if they are sampled or for the
        population.
    reports
        Number of reports drawn for sampled totals.
    rng
        Seed of the sample, of sampled and witness totals, and of people drawn.
    """

    target_delta: float = option(0.01, check=checks.inner_probability)
    confidence: float = option(0.95, check=checks.inner_probability)
    reports: int = option(
        20_000, check=partial(checks.integer, minimum=1, maximum=2**53)
    )
    rng: Any = option(0, name="seed", check=checks.seed)
