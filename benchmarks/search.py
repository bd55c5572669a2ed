"""Searches of designs: what more constraints and more work find, on five tables.

A constraint that is added can only make the best plan worse, so that a plan that it
makes better was not found without it.  People are those who know every share to within
3 points.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

import seepage as sp
from benchmarks import Figure

LIMIT = 2.0

WIDTH = 0.03

MAX_GAIN = 0.02
"""Share of the people that a further constraint may save at most."""


MAX_SHORT = 0.03
"""Share of the people that four times the work may save at most."""


EFFORT = 4.0

RECORDS = 10_000


def full() -> Iterator[Figure]:
    """Design with one constraint more, and with more work, for each table."""
    for name, table in _tables().items():
        plan = _design(table)
        for what, changed in _constraints(plan).items():
            yield _figure(f"{name}: {what}", plan, _design(table, **changed), MAX_GAIN)
        more = _design(table, effort=EFFORT)
        yield _figure(f"{name}: {EFFORT:g} times the work", plan, more, MAX_SHORT)


def main() -> list[Figure]:
    """Measure nothing: searches take minutes."""
    return []


def _design(table: Any, **changed: Any) -> sp.Plan:
    settings = {"limit": LIMIT} | changed
    return sp.design(table, **settings)


def _constraints(plan: sp.Plan) -> Mapping[str, Mapping[str, Any]]:
    """Return options that each add one constraint to those of a plan."""
    pairs = [form.attributes[:2] for form in plan.forms if len(form.attributes) > 1]
    first = plan.attributes[0].name
    constraints: dict[str, Mapping[str, Any]] = {
        "at most 3 questions": {"largest": 3},
        "no shaped report": {"shape": "never"},
        f"limit of {first} 0.9 times": {"limit": {"*": LIMIT, first: 0.9 * LIMIT}},
        "record limit 0.8 times": {"record_limit": 0.8 * _largest_record(plan)},
    }
    if pairs:
        together = " and ".join(pairs[0])
        constraints[f"never {together}"] = {"never": [pairs[0]]}
    return constraints


def _largest_record(plan: sp.Plan) -> float:
    return max(form.record for form in plan.forms)


def _figure(what: str, plan: sp.Plan, other: sp.Plan, most: float) -> Figure:
    """Compare the people of another plan with those of the plan."""
    base = plan.people_for(WIDTH)
    people = other.people_for(WIDTH)
    mean = _mean_error(other) / _mean_error(plan)
    return Figure(
        what,
        f"{people:,} people, mean error {mean:.3f} times",
        f"{base:,}",
        f"{people / base:.3f} x",
        f"at least {1 - most:g} x",
        people >= (1 - most) * base,
    )


def _mean_error(plan: sp.Plan) -> float:
    return float(plan.provenance.settings["design"]["error"])


def _tables() -> dict[str, Any]:
    survey = sp.make_survey(RECORDS)
    return {
        "survey": survey,
        "survey, 6 questions": survey.select(survey.column_names[:6]),
        "survey, last 5 questions": survey.select(survey.column_names[-5:]),
        "rare illness": rare_illness(),
        "traits": traits(),
    }


def rare_illness() -> pd.DataFrame:
    """Return people of whom some 2 % have an illness that depends on another answer."""
    rng = np.random.default_rng(1)
    records = 2 * RECORDS
    age = rng.integers(0, 5, records)
    drug = rng.random(records) < 0.1 + 0.03 * age
    ill = rng.random(records) < 0.02 * (1 + 2 * drug) / 1.3
    sex = rng.integers(0, 2, records)
    columns = {"age": age, "drug": drug, "ill": ill, "sex": sex}
    return pd.DataFrame({name: values.astype(int) for name, values in columns.items()})


def traits() -> pd.DataFrame:
    """Return seven yes-or-no answers with one cause."""
    rng = np.random.default_rng(2)
    cause = rng.normal(size=RECORDS)
    columns = {}
    for index in range(7):
        noise = rng.normal(size=RECORDS)
        columns[f"trait{index}"] = (cause + noise > 0.2 * index).astype(int)
    return pd.DataFrame(columns)
