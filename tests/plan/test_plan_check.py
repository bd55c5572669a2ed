"""Choosing mechanisms, making plans, and checking them on another table."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from plan_examples import DOMAIN, counts, people, plan_for, plan_of_totals
from seepage._core.errors import DomainError, InputError
from seepage._core.rounding import summed_up
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.datasets.catalogue import load_pairs
from seepage.mechanisms.mechanism_registry import mechanism, registered
from seepage.mechanisms.subset_selection import best_mechanism
from seepage.tables.read import as_pairs, as_records
from seepage.totals.total import total_leakage
from seepage.workflow.plan import Plan

PAIRS = counts()
PURE = [name for name, family in registered().items() if not family.approximate]


# The best mechanism -------------------------------------------------------------------


@given(
    k=st.integers(1, 60),
    epsilon=st.sampled_from([1e-12, 0.01, 0.5, 1.0, 2.0, 4.0, 10.0, 50.0, 700.0]),
    seed=st.integers(0, 100),
)
def test_the_best_mechanism_has_the_least_mean_variance(k, epsilon, seed):
    frequencies = np.random.default_rng(seed).dirichlet(np.ones(k))
    found = best_mechanism(k, epsilon)
    least = found.variance(1000, frequencies).mean()
    for name in PURE:
        other = mechanism(name, k, epsilon)
        variance = other.variance(1000, frequencies).mean()
        assert least <= variance * (1 + 1e-8)
        if variance <= least * (1 + 1e-12):
            assert found.bits <= other.bits


def test_the_best_mechanism_changes_with_alphabet_and_budget():
    assert {best_mechanism(k, 1.0).name for k in range(1, 5)} == {"grr"}
    assert best_mechanism(100, 1.0).name == "ss"
    assert best_mechanism(100, 8.0).name == "grr"
    assert best_mechanism(7, 0.0).name == "grr"


@pytest.mark.parametrize(
    ("k", "epsilon"), [(0, 1.0), (2.5, 1.0), (2, -1.0), (2, float("nan"))]
)
def test_the_best_mechanism_of_invalid_arguments_raises(k, epsilon):
    with pytest.raises(InputError):
        best_mechanism(k, epsilon)


# Making -------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [None, "grr", "oue"])
def test_a_calibrated_plan_states_its_table_and_the_mechanisms_of_its_totals(named):
    plan = sp.calibrate(
        PAIRS, 4.0, guarantee="independent", mechanism=named, view="inferred"
    )
    assert (plan.guarantee, plan.kind, plan.view) == (
        "independent",
        "assumed",
        "inferred",
    )
    assert plan.basis == ("bound" if named is None else "mechanism")
    budget = plan["sex"].epsilon
    best = [named or best_mechanism(k, budget).name for k in DOMAIN.sizes]
    assert [a.mechanism for a in plan.attributes] == best
    assert (plan.provenance.digest, plan.provenance.records) == (PAIRS.digest, 2000)


def test_a_total_above_its_limit_raises():
    limits = {"sex": 4.0, "job": 3.0, "age": None, "ill": 4.0}
    values = [4.0, np.nextafter(3.0, 4.0), np.inf, 4.0]
    with pytest.raises(
        InputError, match=r"the total of 'job' must be at most its limit 3\.0"
    ):
        plan_for(PAIRS, limit=limits, totals=values)
    values[1] = 3.0
    assert plan_for(PAIRS, limit=limits, totals=values)["age"].limit is None


def test_attributes_that_are_public_or_not_collected():
    plan = sp.calibrate(
        PAIRS, 4.0, guarantee="independent", public=["ill"], left_out=["sex"]
    )
    assert plan.collected.names == ("job", "age")
    assert plan["ill"].public
    assert plan["ill"].limit is None
    assert "sex" not in plan.mechanisms
    assert (plan.epsilons > 0).tolist() == [False, True, True, False]


def test_settings_are_kept_as_they_are_read_back(tmp_path):
    settings = {
        "weights": np.array([1.0, 2.0]),
        "limit": np.float64(3),
        "names": ("a", "b"),
    }
    plan = plan_for(PAIRS, settings=settings)
    assert plan.provenance.settings == {
        "weights": [1.0, 2.0],
        "limit": 3.0,
        "names": ["a", "b"],
    }
    plan.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == plan


def test_reports_depend_on_the_collection_alone():
    plan = plan_for(PAIRS)
    assert plan_for(PAIRS, notes=["x"]).collection == plan.collection
    assert plan_for(PAIRS, notes=["x"]).digest != plan.digest
    assert plan_for(PAIRS, 2.0).collection != plan.collection
    renamed = PAIRS.rename({"sex": "gender"})
    assert plan_for(renamed).collection != plan.collection


# Checking on another table ------------------------------------------------------------


def independent_plan(limit=3.0, mechanism=None, epsilon=0.6):
    totals = total_leakage(PAIRS, epsilon, mechanism=mechanism, guarantee="independent")
    return plan_of_totals(totals, limit=limit)


def test_the_totals_of_a_plan_on_its_own_table_are_its_totals():
    for named in (None, "grr", "oue"):
        plan = independent_plan(mechanism=named)
        found = plan.check(PAIRS)
        assert found.totals.tolist() == plan.totals.tolist()
        assert found.within
        assert found.exceeded == ()
        assert (found.guarantee, found.kind, found.records) == (
            "independent",
            "assumed",
            2000,
        )
        assert repr(found) == (
            "PlanCheck(every total within its limit; independent, assumed on 2,000 "
            "records)"
        )


def test_a_total_above_its_limit_is_named():
    plan = independent_plan(limit=2.0)
    copies = [[0, 0, 0, 0]] * 10 + [[1, 1, 1, 1]] * 10
    found = plan.check(Records(DOMAIN, copies).pairs())
    assert not found.within
    assert found.exceeded == DOMAIN.names
    assert found["sex"] == pytest.approx(2.4)
    assert repr(found).startswith(
        "PlanCheck(exceeded: sex 11.1x above 7.39x, job 11.1x above 7.39x, "
    )
    frame = found.to_pandas()
    assert frame["within"].tolist() == [False] * 4
    assert frame["limit"].tolist() == [2.0] * 4
    assert frame["form"].tolist() == [1] * 4


def test_records_are_read_in_the_domain_of_the_plan(tmp_path):
    pyarrow.csv.write_csv(people(2000), tmp_path / "people.csv")
    plan = independent_plan()
    for data in (
        tmp_path / "people.csv",
        Records.from_data(people(2000), domain=DOMAIN),
    ):
        assert plan.check(data).totals.tolist() == plan.totals.tolist()
    pyarrow.csv.write_csv(
        people(2000).set_column(0, "sex", [["X"] * 2000]), tmp_path / "bad.csv"
    )
    with pytest.raises(DomainError, match="record 1: column 'sex'"):
        plan.check(tmp_path / "bad.csv")


def test_a_dataset_is_read_in_the_domain_of_the_plan():
    """Its own bins give way to those of the plan, and columns outside the plan are
    ignored.
    """
    survey = as_records("survey").select(["sleep", "coffee"])
    plan = plan_for(survey.pairs(), limit=2.5, guarantee="exact", totals=[2.5, 2.5])
    checked = plan.check("survey")
    assert checked.totals.max() <= 2.5
    assert same(checked, plan.check(survey))
    worst = plan_for(survey.pairs())
    assert same(worst.check("survey"), worst.check(survey.pairs()))


def same(first, second):
    return (
        first.to_arrow().equals(second.to_arrow()) and first.records == second.records
    )


def test_a_dataset_that_is_not_at_hand_is_checked_from_its_counts(monkeypatch):
    monkeypatch.delenv("SEEPAGE_DATA", raising=False)
    chosen = load_pairs("adult").select(["income", "sex", "age"])
    plan = plan_for(chosen)
    assert same(plan.check("adult"), plan.check(chosen))
    other = chosen.rename({"sex": "gender"})
    plan = plan_for(other)
    with pytest.raises(DomainError, match="must be of the domain asked for"):
        plan.check("adult")


@pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"), reason="SEEPAGE_DATA is not set"
)
def test_adult_is_checked_in_the_bins_of_the_plan():
    chosen = as_pairs("adult", columns=["age", "sex"], bins={"age": [0, 40, 100]})
    plan = plan_for(chosen)
    assert same(plan.check("adult"), plan.check(chosen))


def test_a_plan_is_shown_in_one_line_and_as_a_table():
    plan = plan_for(PAIRS, [0.5, 1.0, 1.0, 0.0])
    assert repr(plan) == (
        "Plan(3 of 4 attributes collected, 1 protected only, "
        "odds change at most 13 times, epsilon 0.5 to 1, "
        "guarantee worst (certified, for everybody))"
    )
    table = plan.to_arrow().to_pydict()
    assert table["attribute"] == list(DOMAIN.names)
    assert table["mechanism"] == [planned.mechanism for planned in plan.attributes]
    assert table["epsilon"] == [0.5, 1.0, 1.0, 0.0]
    assert table["total"] == plan.totals.tolist()
    assert "<table>" in plan._repr_html_()


def test_other_domains_raise():
    with pytest.raises(DomainError, match="asked for: attributes sex, job against"):
        independent_plan().check(PAIRS.select(["sex", "job"]))


def test_the_guarantee_of_the_plan_is_the_one_that_counts():
    records = Records.from_data(people(500), domain=DOMAIN)
    totals = total_leakage(records, 0.5, mechanism="grr", guarantee="exact")
    plan = plan_of_totals(totals, limit=2.1)
    assert plan.check(records).totals.tolist() == plan.totals.tolist()
    with pytest.raises(InputError, match="'exact' needs records"):
        plan.check(records.pairs())


def test_public_attributes_count_as_identity_releases():
    releases = {"sex": None, "job": None, "age": "public", "ill": None}
    totals = total_leakage(PAIRS, 0.6, mechanism=releases, guarantee="independent")
    plan = plan_of_totals(totals, limit=[9.0, 9.0, None, 9.0])
    assert plan.collected.names == ("sex", "job", "ill")
    found = plan.check(PAIRS)
    assert found.totals.tolist() == totals.values.tolist()
    assert found.totals[3] > independent_plan().totals[3]
    assert np.isinf(found.totals[2])
    assert found.within


def test_sampled_totals_use_new_reports():
    domain = Domain([Attribute("a", ("0", "1")), Attribute("b", ("0", "1"))])
    records = Records.from_joint(domain, [[300, 100], [200, 400]])
    options = {"target_delta": 0.05, "confidence": 0.9, "reports": 3000}
    totals = total_leakage(
        records, 1.0, mechanism="grr", guarantee="sampled", **options
    )
    plan = plan_of_totals(totals, limit=2.5)
    assert plan.kind == "statistical"
    again = [plan.check(records) for _ in range(3)]
    assert all(found.kind == "statistical" for found in again)
    assert all(found.deltas.tolist() == [0.05] * 2 for found in again)
    assert all(
        ", delta 0.05; sampled, statistical on 1,000 records" in repr(f) for f in again
    )
    assert len({found.totals.tobytes() for found in again}) > 1


def test_a_plan_of_pairs_without_records():
    empty = PairCounts(
        DOMAIN, [np.zeros(k, dtype=int) for k in DOMAIN.sizes], 0 * PAIRS.counts
    )
    plan = plan_for(empty)
    assert plan.provenance.records == 0
    with pytest.raises(DomainError, match="without records"):
        plan.check(empty)


def test_checking_one_question_keeps_the_delta_of_its_mechanism():
    """The likelihood ratio of approximate GRR exceeds e^epsilon, and counts whole."""
    table = pa.table({"a": [0, 1] * 500, "b": ([0, 1] * 400) + [1, 0] * 100})
    releases = {"epsilon": {"a": 1.0, "b": 0.0}, "delta": {"a": 0.05, "b": 0.0}}
    mechanism = {"a": "approximate-grr", "b": "grr"}
    totals = sp.total_leakage(table, **releases, mechanism=mechanism, guarantee="exact")
    plan = plan_of_totals(totals, limit=3.0)
    assert totals.values[0] > 1.0
    assert plan.check(table).totals == pytest.approx(totals.values)


def test_a_public_attribute_beside_a_delta():
    table = pa.table({"a": [0, 1] * 50, "b": [0, 1] * 50})
    mechanism = {"a": "gauss", "b": "public"}
    totals = sp.total_leakage(
        table, 1.0, mechanism=mechanism, delta={"a": 0.1, "b": 0.0}, guarantee="merged"
    )
    assert np.isinf(totals.values).all()


@pytest.mark.parametrize("guarantee", ["worst", "independent"])
@pytest.mark.parametrize(
    "given",
    [sp.GRR(2, 0.2), sp.GRR(2, 3.0), sp.BasicRAPPOR(2, 0.3, 0.4, 0.8), "basic-rappor"],
)
def test_a_calibrated_plan_collects_by_the_mechanisms_of_its_totals(given, guarantee):
    """An object keeps its budget and parameters: another one would leak more than the
    totals.
    """
    named = {"sex": given, "job": "grr", "age": "grr", "ill": "grr"}
    plan = sp.calibrate(PAIRS, 4.0, guarantee=guarantee, mechanism=named)
    if not isinstance(given, str):
        assert plan.mechanisms["sex"].describe() == given.describe()
        assert plan["sex"].epsilon == given.epsilon
    assert plan.check(PAIRS).totals == pytest.approx(plan.totals, rel=1e-12)


def test_totals_for_the_population_count_the_budget_of_an_object():
    """Its own budget, not that of the other attribute, which is smaller."""
    records = Records.from_data(people(2000), domain=DOMAIN).select(["sex", "ill"])
    limits = {"sex": 0.6, "ill": 2.0}
    named = {"sex": "grr", "ill": sp.GRR(2, 1.5)}
    plan = sp.calibrate(
        records, limits, mechanism=named, guarantee="merged", scope="population"
    )
    assert plan["sex"].epsilon < plan["ill"].epsilon / 2 == 0.75
    assert plan.totals.tolist() == [0.6, min(2.0, summed_up(plan.epsilons))]
