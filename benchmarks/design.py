"""Designs: error as a share of the best SMP's on the same limit, and the time to score
a form.
"""

import time
from typing import Any

import numpy as np

import seepage as sp
from benchmarks import Figure, best_of, declared, seconds
from seepage.designs.forms.balanced_shares import MAX_COST
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.forms.form_problem import FormProblem
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.report_precision import Precisions
from seepage.designs.strategies import OPTIMAL_SMP, SPLIT

__all__ = ["full", "main"]

SEARCH = 60.0
"""Seconds of a search for the table, by the clock: measure on a machine that does
nothing else."""

PEOPLE_SEARCH = 120.0
"""Seconds of a search for the population."""

ADULT_BINS = {
    "age": [17, 25, 35, 45, 55, 65, 90],
    "hours-per-week": [1, 35, 40, 41, 50, 99],
    "capital-gain": [0, 1, 100_000],
    "capital-loss": [0, 1, 5_000],
}
RARE = 300
MANY = 100
PEOPLE = 100_000

BALANCE = 1 + MAX_COST
"""The most by which the mean error may grow for the sake of the least precise answer,
which decides how many people are needed."""

FIRST_SEARCH = 15.0
"""Seconds of a first search, with answers chosen by the tool."""

FILES: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("adult", {"drop": ["fnlwgt", "education-num"], "bins": None}, 0.82),
    ("nist-acs", {"drop": ["PWGTP", "WGTP"]}, 0.78),
    ("cardio", {"drop": ["id"]}, 0.60),
    ("diabetes130", {"drop": ["encounter_id"], "person": "patient_nbr"}, 0.93),
)
"""Datasets as they are, the columns that are no answers, and the error asked of a
design."""


def main() -> list[Figure]:
    """Measure designs of the real tables, and the time to score one form."""
    celeba = _table("celeba")
    adult = _adult()
    return [
        _scoring(celeba),
        _designed("CelebA, 40 attributes", celeba, 1.0, 0.37),
        _designed("CelebA, 40 attributes", celeba, 3.0, 0.34),
        _for_people("CelebA, 40 attributes", celeba, 1.0, 0.43),
        _for_people("CelebA, 40 attributes", celeba, 3.0),
        *(_of_the_file(*case) for case in FILES),
        _designed("Adult, 13 attributes", adult, 3.0, 0.95 * BALANCE),
        _designed(f"Adult, values rarer than {RARE} merged", _pooled(adult), 3.0, 0.76),
        _designed("NIST ACS, 20 attributes", _table("nist-acs"), 3.0),
        _designed("Cardio, 7 attributes", _table("cardio"), 3.0),
    ]


def full() -> list[Figure]:
    """Measure a table of a hundred attributes, in three minutes."""
    return [
        _designed(f"{MANY} attributes, {PEOPLE:,} records", _latent(), 3.0, 1.0, 170.0)
    ]


def error_of(plan: sp.Plan, strategy: str | None = None) -> float:
    """Return the expected squared error of a designed plan, or of another strategy."""
    errors: dict[str | None, float] = {
        strategy.name: strategy.error for strategy in plan.alternatives
    }
    errors[None] = plan.provenance.settings["design"]["error"]
    return errors[strategy]


def _of_the_file(name: str, options: dict[str, Any], target: float) -> Figure:
    """Measure a design by default options at limit 2, of the published file as it
    is.
    """
    data = sp.dataset(name)
    file = data.files[0].locate()
    begin = time.perf_counter()
    table = data.read() if name == "adult" else file
    plan = sp.design(table, 2.0, seconds=FIRST_SEARCH, **options)
    taken = time.perf_counter() - begin
    ratio = error_of(plan) / error_of(plan, OPTIMAL_SMP)
    return Figure(
        f"{name}, limit 2 for the population, answers chosen by the tool: error of a "
        "design",
        f"{len(plan.forms)} forms in {seconds(taken)}",
        "best SMP on the same answers",
        f"{ratio:.3f} x",
        f"at most {target:g} x",
        ratio <= target,
    )


def _for_people(
    what: str, records: sp.Records, limit: float, target: float | None = None
) -> Figure:
    """Measure a design that keeps the limit for the population, with a confidence of 95
    %.
    """
    return _designed(what, records, limit, target, PEOPLE_SEARCH, "population")


def _designed(
    what: str,
    records: sp.Records,
    limit: float,
    target: float | None = None,
    most: float = SEARCH,
    scope: str = "table",
) -> Figure:
    begin = time.perf_counter()
    worked = time.process_time()
    plan = sp.design(records, limit, seconds=most, scope=scope, shape="never")
    taken = time.perf_counter() - begin
    worked = time.process_time() - worked
    ratio, split = (
        error_of(plan) / error_of(plan, other) for other in (OPTIMAL_SMP, SPLIT)
    )
    assert plan.totals.max() <= limit
    return Figure(
        f"{what}, limit {limit:g} for the {scope}: error of a design",
        f"{len(plan.forms)} forms in {seconds(taken)} ({seconds(worked)} of work)",
        f"best SMP; the split {split:.4f}",
        f"{ratio:.3f} x",
        "" if target is None else f"at most {target:g} x",
        None if target is None else ratio <= target,
    )


def _scoring(records: sp.Records) -> Figure:
    """Count, fit and score a form of six attributes whose stem was not counted
    before.
    """
    count = len(records.domain)
    scorer = ExactFormTotals(FormCounter(records))
    problem = FormProblem(
        records.domain,
        scorer,
        Precisions(records),
        np.ones(count),
        np.ones(count, dtype=np.bool_),
        np.ones(count),
        np.zeros((count, count), dtype=np.bool_),
    )
    rng = np.random.default_rng(1)

    def score() -> None:
        problem.fit(tuple(rng.choice(count, 6, replace=False).tolist()))

    taken = best_of({"score": score}, 30)["score"]
    return Figure(
        f"score a form of 6 attributes about {count}, budget fitted",
        seconds(taken),
        target="at most 10 ms",
        met=taken <= 0.010,
    )


def _table(name: str) -> sp.Records:
    data = sp.dataset(name)
    return declared(data.read(), **data.table)


def _adult() -> sp.Records:
    table = sp.dataset("adult").read()
    return declared(table, bins=ADULT_BINS, drop=["fnlwgt", "education-num"])


def _pooled(records: sp.Records) -> sp.Records:
    """Return the records with each attribute's rare values as one."""
    codes = records.codes.astype(np.int64)
    attributes = []
    for j, attribute in enumerate(records.domain):
        kept = records.marginal(j) >= RARE
        values = [
            value for value, keep in zip(attribute.values, kept, strict=True) if keep
        ]
        rest = ("(other)",) if not kept.all() else ()
        codes[:, j] = np.where(kept, np.cumsum(kept) - 1, kept.sum())[codes[:, j]]
        attributes.append(sp.Attribute(attribute.name, (*values, *rest)))
    return sp.Records(sp.Domain(attributes), codes, records.weights)


def _latent() -> sp.Records:
    """Return records whose attributes depend on one of ten latent classes, 2 to 5
    values each.
    """
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 6, MANY)
    latent = rng.integers(0, 10, PEOPLE)
    columns = []
    for size in sizes:
        ends = np.cumsum(rng.dirichlet(np.full(size, 4.0), 10), axis=1)
        columns.append((rng.random(PEOPLE)[:, None] > ends[latent, :-1]).sum(axis=1))
    attributes = [
        sp.Attribute(f"a{i}", tuple(map(str, range(size))))
        for i, size in enumerate(sizes)
    ]
    return sp.Records(sp.Domain(attributes), np.stack(columns, axis=1))
