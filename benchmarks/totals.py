"""Totals: exact by halving, `sampled` on 200,000 records, one witness, distinct
records.
"""

import resource
import time

import numpy as np

from benchmarks import Figure, at_least, best_of, seconds
from seepage._core.arrays import Floats
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.mechanisms.likelihood_columns import LikelihoodColumns, likelihood_columns
from seepage.mechanisms.release import Release, releases
from seepage.totals.exact_total import exact_totals
from seepage.totals.sampled_total import sampled_totals
from seepage.totals.total_settings import TotalSettings
from seepage.totals.witness_search import search_witness

EPSILON = 0.9264
RECORDS = 202_599
ATTRIBUTES = 40


def people(
    attributes: int = ATTRIBUTES, records: int = RECORDS, seed: int = 0
) -> Records:
    """Return CelebA where it is at hand, else as many binary records of six hidden
    types.
    """
    from seepage.datasets.catalogue import dataset

    celeba = dataset("celeba")
    if celeba.at_hand and attributes <= ATTRIBUTES:
        table = celeba.read()
        return Records.from_data(table.select(table.column_names[:attributes]))
    rng = np.random.default_rng(seed)
    shares = rng.beta(0.6, 1.2, (6, attributes))
    codes = (
        rng.random((records, attributes)) < shares[rng.integers(0, 6, records)]
    ).astype(int)
    return Records(domain(attributes), codes)


def domain(attributes: int) -> Domain:
    return Domain([Attribute(f"a{i}", ("no", "yes")) for i in range(attributes)])


def released(tuples: Records) -> list[Release]:
    return releases(tuples.domain, EPSILON, "grr")


def one_target_at_a_time(
    tuples: Records, columns: list[LikelihoodColumns]
) -> list[Floats]:
    """Transform every axis but the target's, for each target anew: the plain way."""
    joint = tuples.counts().astype(np.float64)
    ratios = []
    for target in range(joint.ndim):
        table = joint
        for source, column in enumerate(columns):
            if source != target:
                moved = np.tensordot(table, column.matrix(), axes=(source, 0))
                table = np.moveaxis(moved, -1, source)
        rows = np.moveaxis(table, target, 0).reshape(columns[target].k, -1)
        ratios.append(rows.max(axis=1) / rows.min(axis=1))
    return ratios


def main() -> list[Figure]:
    """Measure what takes seconds."""
    whole = people()
    return [*_distinct(), _exact(), _witness(whole)]


def _distinct() -> list[Figure]:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (200_000, ATTRIBUTES)).astype(np.uint8)
    codes[:, 20:] = codes[:, :20]
    taken = best_of(
        {
            "ours": lambda: Records(domain(ATTRIBUTES), codes),
            "unique": lambda: np.unique(codes, axis=0, return_counts=True),
        },
        repeats=3,
    )
    what = "distinct records, 200,000 x 40 binary"
    return [at_least(what, taken["ours"], "np.unique(axis=0)", taken["unique"], 1.0)]


def _exact() -> Figure:
    tuples = people(18)
    columns = likelihood_columns(tuples.domain, released(tuples), "report")
    taken = best_of(
        {
            "ours": lambda: exact_totals(tuples, columns),
            "plain": lambda: one_target_at_a_time(tuples, columns),
        },
        repeats=2,
    )
    what = "exact totals, 18 binary attributes"
    return at_least(what, taken["ours"], "one target at a time", taken["plain"], 1.0)


def _witness(tuples: Records) -> Figure:
    columns = likelihood_columns(tuples.domain, released(tuples), "report")
    target = tuples.domain.index("Goatee") if "Goatee" in tuples.domain else 0
    taken = best_of(
        {"witness": lambda: search_witness(tuples, columns, target)}, repeats=2
    )
    what = f"witness for one target, {tuples.records:,} x {len(tuples.domain)}"
    return Figure(
        what, seconds(taken["witness"]), target="under 5 s", met=taken["witness"] < 5
    )


def full() -> list[Figure]:
    """Measure `sampled` as a whole: 20,000 reports, all 40 targets; and exact of 25
    attributes.
    """
    tuples = people()
    begin = time.perf_counter()
    sampled_totals(tuples, released(tuples), "report", TotalSettings())
    taken = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    what = f"sampled, {tuples.records:,} x {len(tuples.domain)}, 20,000 reports"
    wide = people(25)
    columns = likelihood_columns(wide.domain, released(wide), "report")
    walked = best_of({"exact": lambda: exact_totals(wide, columns)}, repeats=1)["exact"]
    return [
        Figure(what, seconds(taken), target="under 3 min", met=taken < 180),
        Figure(
            "its memory, with all before",
            f"{memory:.1f} GB",
            target="under 4 GB",
            met=memory < 4,
        ),
        Figure("exact totals, 25 binary attributes", seconds(walked)),
    ]
