"""One call for all guarantees: order, unavailable ones, refuted assumptions, JSON."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joint_oracle import tuples_of, xor

import seepage as sp
from seepage._core.errors import GuaranteeError
from seepage.datasets.survey import make_survey, survey_joint
from seepage.tables.read import as_pairs
from seepage.totals import exact_total as exact_module
from seepage.totals.composition import independent_totals, sum_totals
from seepage.totals.guarantees import FROM_PAIRS, GUARANTEES, KINDS
from seepage.totals.joint_witness import JointWitness
from seepage.totals.total import choose_guarantee, total_leakage


def compare_totals(data, epsilon, guarantee="all", **options):
    """Return the totals of an analysis without drawn people."""
    return sp.analyse(data, epsilon, guarantee=guarantee, people=0, **options).totals


def test_totals_are_sorted_by_kind():
    found = compare_totals(tuples_of(xor(1000)), 1.0, mechanism="grr")
    assert [total.guarantee for total in found.totals] == list(GUARANTEES)
    kinds = [list(KINDS).index(total.kind) for total in found.totals]
    assert kinds == sorted(kinds)
    assert not found.unavailable
    assert found.refuted == dict.fromkeys(["independent", "sum"], ("a0", "a1", "a2"))
    assert found["exact"].values == pytest.approx([1.4338] * 3, abs=1e-4)


def test_the_survey_from_a_table():
    found = compare_totals(make_survey(20_000), 1.0, mechanism="grr")
    assert {"coffee", "screen", "sleep"} <= set(found.refuted["independent"])
    exact = found["exact"]
    witness = found["witness"]
    assert (witness.values <= exact.values).all()
    assert exact.evidence[exact.domain.index("sleep")].reports["coffee"] != ()


def test_an_assumption_that_holds_is_not_refuted():
    joint = np.einsum("x,xa,xb->xab", [1, 1], [[3, 1], [1, 3]], [[2, 2], [1, 3]]) * 1000
    found = compare_totals(
        tuples_of(joint), 1.0, mechanism="grr", guarantee=["independent", "witness"]
    )
    assert "a0" not in found.refuted.get("independent", ())
    assert found["witness"].values[0] == pytest.approx(
        found["independent"].values[0], abs=0.05
    )


def test_a_relaxed_total_is_not_refuted_by_a_ratio():
    found = compare_totals(
        tuples_of(xor(1000)), 1.0, mechanism="approximate-grr", delta=1e-3
    )
    assert (found["independent"].deltas > 0).all()
    assert not found.refuted


def test_guarantees_that_need_records_raise_for_pair_counts():
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    found = compare_totals(pairs, 1.0)
    from_pairs = [name for name in GUARANTEES if name in FROM_PAIRS]
    assert [total.guarantee for total in found.totals] == from_pairs
    assert set(found.unavailable) == {"exact", "merged", "sampled", "witness"}
    assert "needs records" in found.unavailable["exact"]
    with pytest.raises(GuaranteeError, match="needs records"):
        found["exact"]
    with pytest.raises(
        sp.InputError, match="guarantee must be one of worst, independent"
    ):
        found["exakt"]


def test_one_guarantee_may_be_named_alone():
    pairs = sp.load_pairs("adult").select(["sex", "race"])
    for guarantee in ("worst", ["worst"]):
        found = compare_totals(pairs, 1.0, guarantee=guarantee)
        assert [total.guarantee for total in found.totals] == ["worst"]
    every = compare_totals(pairs, 1.0, guarantee="all")
    assert {*(total.guarantee for total in every.totals), *every.unavailable} == set(
        GUARANTEES
    )
    with pytest.raises(
        sp.InputError, match="guarantee must be a name or several, got 5"
    ):
        compare_totals(pairs, 1.0, guarantee=5)


def test_bad_input_is_not_an_unavailable_guarantee():
    pairs = sp.load_pairs("adult").select(["sex", "race"])
    with pytest.raises(sp.InputError, match="epsilon must be"):
        compare_totals(pairs, -1.0)
    with pytest.raises(sp.InputError, match="guarantee must be one of"):
        compare_totals(pairs, 1.0, guarantee=["best"])
    with pytest.raises(sp.InputError, match="view must be one of"):
        compare_totals(pairs, 1.0, view="guess")


def chosen(data, mechanism=None):
    return choose_guarantee(
        data, sp.leakage_matrix(as_pairs(data), 1.0, mechanism=mechanism)
    )


def test_auto_takes_the_strongest_feasible_guarantee(monkeypatch):
    joint = survey_joint()
    assert total_leakage(joint, 1.0, mechanism="grr").guarantee == "exact"
    assert chosen(joint.pairs()) == "independent"
    assert total_leakage(joint.pairs(), 1.0, mechanism="grr").guarantee == "independent"
    monkeypatch.setattr(exact_module, "MAX_TARGET_CELLS", 1000)
    assert chosen(joint, "grr") == "sampled"
    assert chosen(joint) == "merged"
    coins = tuples_of(np.ones((2,) * 11, dtype=np.int64))
    assert chosen(coins) == "sampled"
    assert total_leakage(coins, 1.0).guarantee == "sampled"


def test_auto_for_the_population(monkeypatch):
    def chosen_for_all(data):
        return choose_guarantee(
            data, sp.leakage_matrix(as_pairs(data), 1.0), "population"
        )

    many = tuples_of(np.full((2, 2, 2), 1000, dtype=np.int64))
    assert chosen_for_all(many) == "exact"
    monkeypatch.setattr("seepage.confidence.total_limits.MAX_TUPLE_CELLS", 0)
    assert chosen_for_all(many) == "merged"
    few = tuples_of((np.arange(2**14).reshape((2,) * 14) % 2047 == 0).astype(np.int64))
    assert chosen_for_all(few) == chosen_for_all(few.pairs()) == "worst"
    assert total_leakage(few, 1.0, scope="population").guarantee == "worst"
    merged = total_leakage(few, 1.0, guarantee="merged", scope="population")
    assert merged.values == pytest.approx(merged.worst), (
        "no better than the sum of budgets"
    )


def test_auto_and_the_sum_of_budgets():
    found = total_leakage(sp.load_pairs("adult"), 0.5)
    assert found.kind == "assumed"
    assert found.worst == pytest.approx([0.5 * 15] * 15)
    assert "TotalLeakage('independent', assumed, largest" in repr(found)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 200.0])
def test_json_is_plain(epsilon):
    how = {"a0": "public", "a1": "grr", "a2": "oue"}
    found = compare_totals(tuples_of(xor(50)), epsilon, mechanism=how)
    plain = {total.guarantee: total.to_dict() for total in found.totals}
    content = json.loads(json.dumps(plain, allow_nan=False))
    assert list(content) == list(GUARANTEES)
    worst = content["worst"]
    assert worst["totals"] == ["inf"] * 3
    assert worst["kind"] == "certified"
    assert worst["dpl"][0] == "inf"
    assert worst["mechanism"] == ["public", "grr", "oue"]
    assert len(worst["cpl"]) == len(worst["cpl"][0]) == 3
    assert content["sampled"]["confidence"] == 0.95
    if epsilon == 1.0:
        evidence = content["witness"]["evidence"][2]
        assert evidence["target"] == "a2"
        assert set(evidence["reports"]) == {"a0", "a1", "a2"}
        assert found.refuted["independent"] == ("a1", "a2")


def test_frames():
    found = compare_totals(
        tuples_of(xor(1000)),
        1.0,
        mechanism="grr",
        guarantee=["witness", "independent", "worst"],
    )
    table = found.to_arrow()
    assert table.column_names == [
        "attribute",
        "guarantee",
        "kind",
        "epsilon",
        "dpl",
        "cpl",
        "total",
        "delta",
        "worst",
        "refuted",
    ]
    assert (
        table["guarantee"].to_pylist()
        == ["worst"] * 3 + ["independent"] * 3 + ["witness"] * 3
    )
    assert table["total"].to_pylist()[:3] == pytest.approx([3.0] * 3)
    assert table["refuted"].to_pylist() == [False] * 3 + [True] * 3 + [False] * 3
    assert (
        found["worst"].to_pandas()["total"].tolist() == found["worst"].values.tolist()
    )
    assert pl.DataFrame(found).height == 9
    assert repr(found) == (
        "TotalsComparison(largest change of odds: worst 20.1x, independent 2.72x, "
        "witness 4.13x; refuted: independent)"
    )


def test_results_are_by_name_and_cannot_be_changed():
    found = total_leakage(tuples_of(xor(10)), [1.0, 2.0, 0.5], mechanism="grr")
    assert found["a1"] == found.values[1]
    assert found.epsilons.tolist() == [1.0, 2.0, 0.5]
    assert found.dpl == pytest.approx([1.0, 2.0, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 0.0
    with pytest.raises(sp.DomainError, match="no attribute 'b'"):
        found["b"]


def test_tables_are_counted_with_their_options():
    frame = pd.DataFrame(
        {"age": np.arange(400) % 97, "sex": ["F", "M"] * 200, "id": range(400)}
    )
    options = {"drop": ["id"], "bins": {"age": [0, 50, 97]}}
    whole = total_leakage(frame, 1.0, mechanism="grr", **options)
    assert whole.guarantee == "exact"
    assert whole.domain.sizes == (2, 2)
    pairs = sp.count_pairs(frame, **options)
    sums = total_leakage(
        frame, 1.0, mechanism="grr", guarantee="independent", **options
    )
    assert np.array_equal(
        sums.values, total_leakage(pairs, 1.0, mechanism="grr").values
    )


def test_evidence_as_a_sentence():
    likely = {f"a{i}": ("x", "y") if i else ("u",) for i in range(7)}
    found = JointWitness("a0", "u", "v", likely, math.inf)
    assert found.sentence() == (
        "reports that favour a0 u, a1 x or y, a2 x or y, a3 x or y, a4 x or y and 2 "
        "more are infinitely likelier under a0 u than under a0 v"
    )


def test_auto_without_pure_reports_is_a_total_with_a_delta():
    found = total_leakage(tuples_of(xor(50)), 1.0, mechanism="gauss", delta=1e-4)
    assert (found.guarantee, found.kind) == ("sampled", "statistical")


def test_more_reports_than_integers_raise():
    with pytest.raises(sp.InputError, match="reports must be an integer from 1 to"):
        total_leakage(tuples_of(xor(50)), 1.0, mechanism="grr", reports=2**53 + 1)


@pytest.mark.parametrize("guarantee", ["exact", "merged", "sampled", "witness"])
@pytest.mark.parametrize("scope", ["table", "population"])
def test_progress_is_shown(guarantee, scope):
    if scope == "population" and guarantee not in ("exact", "merged"):
        pytest.skip("of the table alone")
    seen = []
    how = {"mechanism": "grr", "guarantee": guarantee, "scope": scope, "reports": 50}
    total_leakage(
        tuples_of(xor(50)), 1.0, progress=lambda *part: seen.append(part), **how
    )
    shares = [done / work for done, work in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_an_alphabet_with_too_many_pairs_of_values_has_the_sum_of_maxima(monkeypatch):
    """Log-ratios of all pairs of 65,000 values would take 31 GB."""
    pairs = sp.load_pairs("adult").select(["race", "sex", "income", "relationship"])
    matrix = sp.leakage_matrix(pairs, 1.0, mechanism="grr")
    by_pair = independent_totals(matrix)[0]
    most = sum_totals(matrix)[0]
    assert (by_pair < most).all()
    for module in ("totals.composition", "leakage.matrix"):
        monkeypatch.setattr(f"seepage.{module}.RATIO_CELLS", 4)
    bounded = independent_totals(matrix)[0]
    assert bounded[[0, 3]].tolist() == most[[0, 3]].tolist()
    assert bounded[[1, 2]].tolist() == by_pair[[1, 2]].tolist()
