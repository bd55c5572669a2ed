"""Numbers that users get, recorded: counts, leakages, totals, plans and reports of six
tables.

A change of any of them is a change for users and is named in CHANGELOG.md.  `python
tests/test_golden.py` records them again.

The linear programs of a shaped report may end in another vertex with other versions of
NumPy, SciPy or HiGHS.  So its totals are compared to the last digits with the versions
that `requirements.lock` has for Python 3.11, with which they are recorded; with all
others, the report must be certified within the limit, and need at most `MORE_PEOPLE`
times the recorded number of people.
"""

import hashlib
import json
import math
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import seepage as sp
from real_data import real_data, table_of

FILE = Path(__file__).with_name("golden.json")
COLUMNS = {
    "adult": ("sex", "race", "relationship", "income"),
    "nist-acs": ("SEX", "MSP", "HISP", "OWN_RENT", "EDU"),
    "celeba": ("Male", "Young", "Smiling", "Goatee", "Heavy_Makeup", "Gray_Hair"),
    "cardio": ("gender", "cholesterol", "gluc", "smoke", "cardio"),
    "diabetes130": ("race", "gender", "age", "A1Cresult", "readmitted"),
    "survey": ("employment", "coffee", "screen", "sleep"),
}

SHAPED = {
    "adult": ("sex", "income"),
    "nist-acs": ("SEX", "OWN_RENT"),
    "celeba": ("Male", "Goatee", "Heavy_Makeup"),
    "cardio": ("gender", "smoke", "cardio"),
    "diabetes130": ("gender", "readmitted"),
    "survey": ("coffee", "screen"),
}
SHAPED_LIMIT = 1.5
SHAPED_PEOPLE = {
    "adult": 28_898,
    "nist-acs": 37_998,
    "celeba": 46_900,
    "cardio": 31_604,
    "diabetes130": 65_759,
    "survey": 25_511,
}
"""The people whose reports give each share to 0.01, by the shaped plans recorded."""
MORE_PEOPLE = 1.001
MECHANISMS = ("grr", "oue", "olh", "ss", "exp", "rappor", "blh", "she")


@cache
def _counted(table):
    return sp.count_pairs(table_of(table))


@cache
def _records(table):
    return _declared(table, COLUMNS[table])


@cache
def _product(table):
    """The design of a table without shaped reports."""
    return sp.design(_records(table), 2.0, scope="table", shape="never", seconds=1e4)


@cache
def _shaped(table):
    few = _declared(table, SHAPED[table])
    return sp.design(few, SHAPED_LIMIT, shape="forms", seconds=1e4)


def _declared(table, columns):
    """The records of a table in the domain of all of it, declared: so they certify for
    people.
    """
    domain = sp.Records.from_data(table_of(table), columns=columns).domain
    return sp.Records.from_data(table_of(table), domain=domain)


def counts(table):
    """The digest of all columns' pair counts, and their domain."""
    pairs = _counted(table)
    values = json.dumps([[a.name, *a.values] for a in pairs.domain])
    return {
        "pairs": pairs.digest,
        "domain": _sha(values.encode()),
        "records": pairs.records,
    }


def leakages(table):
    """Bound, exact leakage of a report and of a guess, confidence limits, with
    witnesses.
    """
    pairs = _records(table).pairs()
    bound = sp.leakage_matrix(pairs, 1.0)
    wide = sp.leakage_matrix(_counted(table), 1.0)
    grr = sp.leakage_matrix(pairs, 1.0, mechanism="grr")
    names = bound.domain.names
    witnesses = [
        [w.likelier, w.other, *w.likely]
        if (w := bound[target, source].witness)
        else None
        for target in names
        for source in names
        if target != source
    ]
    return {
        "bound": bound.values.tolist(),
        "all": [wide.tcpl, float(wide.values.max())],
        "grr": grr.values.tolist(),
        "inferred": sp.leakage_matrix(
            pairs, 2.0, mechanism="oue", view="inferred"
        ).values.tolist(),
        "ss": sp.leakage_matrix(pairs, 1.5, mechanism="ss").values.tolist(),
        "witnesses": witnesses,
        "upper": [grr.interval(0.95)[names[0], name].upper for name in names[1:]],
    }


def totals(table):
    """Totals by guarantee, for the table and for the population."""
    records = _records(table)
    found = {
        name: sp.total_leakage(
            records, 1.0, mechanism="grr", guarantee=name
        ).values.tolist()
        for name in ("worst", "exact", "merged", "independent", "sum")
    }
    found["sampled"] = sp.total_leakage(
        records, 1.0, mechanism="grr", guarantee="sampled", reports=2_000, rng=3
    ).values.tolist()
    found["population"] = sp.total_leakage(
        records, 1.0, mechanism="grr", guarantee="exact", scope="population"
    ).values.tolist()
    return found


def plans(table):
    """Calibrated budgets, and designs with and without shaped reports."""
    records = _records(table)
    calibrated = sp.calibrate(records, 2.0, mechanism="grr", guarantee="exact")
    product = _product(table)
    people = sp.design(records, 2.0, shape="never", seconds=1e4)
    return {
        "calibrated": calibrated.epsilons.tolist(),
        "table": _forms(product),
        "population": _forms(people),
        "shaped": _forms(_shaped(table)),
    }


def reports(table):
    """Reports drawn with a seed, and the frequencies estimated from them."""
    plan = _product(table)
    drawn = plan.perturb(
        table_of(table).slice(0, 3_000).select(list(COLUMNS[table])), rng=7
    )
    estimate = plan.estimate(drawn)
    return {
        "estimate": estimate.to_arrow()["frequency"].to_pylist(),
        "mechanisms": {name: _drawn(name) for name in MECHANISMS},
    }


def _drawn(name):
    reports = sp.mechanism(name, 5, 1.0).perturb(np.arange(5).repeat(40), rng=1)
    return _sha(repr(reports.array().to_pylist()).encode())


def _forms(plan):
    return [[list(f.attributes), list(f.totals), plan.guarantee] for f in plan.forms]


def _sha(content):
    return hashlib.sha256(content).hexdigest()


PARTS = {part.__name__: part for part in (counts, leakages, totals, plans, reports)}


def _assert_same(found, recorded, path):
    if isinstance(recorded, list):
        assert len(found) == len(recorded), path
        for index, (one, other) in enumerate(zip(found, recorded, strict=True)):
            _assert_same(one, other, f"{path}[{index}]")
    elif isinstance(recorded, float):
        assert math.isclose(found, recorded, rel_tol=1e-9, abs_tol=1e-12), (
            path,
            found,
            recorded,
        )
    else:
        assert found == recorded, path


def _has_recorded_versions():
    """Whether what decides the vertices is as locked for Python 3.11."""
    lines = (
        Path(__file__)
        .parents[1]
        .joinpath("requirements.lock")
        .read_text("utf-8")
        .splitlines()
    )
    locked = [Requirement(line.rstrip("\\ ")) for line in lines if "==" in line]
    deciding = {
        one.name: one.specifier
        for one in locked
        if one.name in ("highspy", "numpy", "scipy")
        and (
            one.marker is None or one.marker.evaluate({"python_full_version": "3.11.0"})
        )
    }
    assert len(deciding) == 3
    return all(version(name) in wanted for name, wanted in deciding.items())


@real_data
@pytest.mark.parametrize("table", SHAPED)
def test_a_shaped_plan_is_certified_and_as_good_as_recorded_with_any_versions(table):
    plan = _shaped(table)
    assert max(plan.totals) <= SHAPED_LIMIT
    assert max(total for form in plan.forms for total in form.totals) <= SHAPED_LIMIT
    assert plan.people_for(0.01) <= MORE_PEOPLE * SHAPED_PEOPLE[table]


@real_data
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("table", COLUMNS)
def test_recorded_numbers(table, part):
    recorded = json.loads(FILE.read_text())[table][part]
    found = json.loads(json.dumps(PARTS[part](table)))
    assert found.keys() == recorded.keys()
    for name, value in recorded.items():
        if name == "shaped" and not _has_recorded_versions():
            same = [[form[0], form[2]] for form in value]
            assert [[form[0], form[2]] for form in found[name]] == same
            continue
        _assert_same(found[name], value, f"{table} {part} {name}")


if __name__ == "__main__":
    made = {
        table: {name: part(table) for name, part in PARTS.items()} for table in COLUMNS
    }
    FILE.write_text(json.dumps(made, indent=None, separators=(",", ":")) + "\n")
