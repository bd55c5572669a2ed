"""Budgets: never above the limit, as large as can be, and honest about what they rest
on.
"""

import math

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from real_data import pairs_of, real_data, records_of
from searches import find_budgets
from seepage.calibration.refutation import refutations
from seepage.channel.records import Records
from seepage.datasets.survey import make_survey, survey_joint
from seepage.designs.forms.form_problem import equal_split


@pytest.fixture(scope="module")
def few():
    names = ["age", "employment", "income", "coffee", "screen", "sleep"]
    return Records.from_data(make_survey(4_000), domain=survey_joint().domain).select(
        names
    )


@pytest.fixture(scope="module")
def coins():
    """Two coins and whether they differ: the sum sees nothing, a witness does."""
    domain = sp.Domain(
        [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    )
    return Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [5_000] * 4)


def test_stronger_guarantees_allow_less(few):
    budgets = {
        name: find_budgets(
            few, 2.0, guarantee=name, mechanism="grr", audit=False
        ).epsilons[0]
        for name in ("worst", "merged", "exact")
    }
    assert budgets["worst"] <= budgets["merged"] <= budgets["exact"]
    assert budgets["worst"] == pytest.approx(2.0 / 6, abs=1e-8)


def test_sampled_budgets_are_confirmed_on_fresh_reports(coins):
    options = {"reports": 4_000, "rng": 3}
    found = find_budgets(coins, 1.2, guarantee="sampled", mechanism="grr", **options)
    assert equal_split(1.2, 3) < found.epsilons[0] < 1.2
    again = sp.total_leakage(
        coins,
        found.epsilons,
        mechanism="grr",
        guarantee="sampled",
        reports=4_000,
        rng=99,
    )
    assert again.values.max() <= 1.2 * 1.05
    chosen_with = sp.total_leakage(
        coins,
        found.epsilons,
        mechanism="grr",
        guarantee="sampled",
        reports=4_000,
        rng=3,
    )
    assert not np.array_equal(found.totals.values, chosen_with.values), (
        "stated on fresh reports"
    )


def test_a_limit_for_each_attribute(few):
    limits = dict.fromkeys(few.domain.names, 2.0) | {"income": 1.0}
    found = find_budgets(few.pairs(), limits, guarantee="independent")
    assert (found.totals.values <= found.problem.limits).all()
    slack = found.problem.limits - found.totals.values
    assert few.domain.names[int(slack.argmin())] == "income"


@pytest.mark.parametrize("limit", [1e-3, 1e-9, 1e-14])
def test_a_tiny_limit_is_used_too(coins, limit):
    found = find_budgets(coins, limit, guarantee="worst", mechanism="grr")
    assert found.epsilons.sum() == pytest.approx(limit, rel=1e-6)
    assert found.totals.values.max() <= limit


def test_left_out_attributes_leak_nothing_but_are_leaked_about(few):
    found = find_budgets(
        few.pairs(), 2.0, guarantee="independent", left_out=["employment"]
    )
    assert found.epsilons[1] == 0
    assert 0 < found.totals["employment"] <= 2.0
    everything = find_budgets(few.pairs(), 2.0, guarantee="independent")
    assert found.epsilons[0] > everything.epsilons[0]


def test_public_attributes_are_identity_releases(few):
    pairs = few.pairs().select(["age", "coffee", "income"])
    found = find_budgets(pairs, 4.0, guarantee="independent", public=["age"])
    assert found.epsilons[0] == 0
    assert found.epsilons[1] == found.epsilons[2] > 0
    alone = find_budgets(
        pairs.select(["coffee", "income"]), 4.0, guarantee="independent"
    )
    assert found.epsilons[2] < alone.epsilons[1]
    with pytest.raises(sp.InputError, match="no budget fits"):
        find_budgets(few.pairs(), 1.0, guarantee="independent", public=["employment"])


def test_an_assumption_is_audited_and_refuted(coins):
    found = find_budgets(coins, 1.0, guarantee="independent", mechanism="grr")
    assert found.epsilons[0] == pytest.approx(1.0)
    witnesses = refutations(found.problem, found.epsilons, [0, 1, 2])
    strongest = max(witness.value for witness in witnesses.values())
    assert strongest == pytest.approx(1.0 + math.log(math.cosh(1)), abs=1e-6)
    (note,) = found.notes
    assert note.startswith("REFUTED: ")
    assert f"{math.floor(100 * math.exp(strongest)) / 100:g} times likelier" in note
    assert ", above the limit of " in note
    assert find_budgets(coins, 1.0, guarantee="exact", mechanism="grr").notes == ()
    counted = find_budgets(coins.pairs(), 1.0, guarantee="independent", mechanism="grr")
    assert "no witness was searched for" in counted.notes[0]
    quiet = find_budgets(
        coins, 1.0, guarantee="independent", mechanism="grr", left_out=["b"]
    )
    assert "found no reports that exceed a limit" in quiet.notes[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 0}, "limit must be above 0"),
        ({"limit": -1}, "limit must be a finite number"),
        ({"limit": 1, "guarantee": "witness"}, "a witness is a lower bound"),
        ({"limit": 1, "guarantee": "hope"}, "guarantee must be one of"),
        ({"limit": 1, "budgets": "equal"}, "there is no option 'budgets'"),
        ({"limit": 1, "public": ["aeg"]}, "did you mean 'age'"),
        (
            {"limit": 1, "public": ["age"], "left_out": ["age"]},
            "both public and left out",
        ),
        ({"limit": {"age": 1}}, "limit must be given for every attribute"),
    ],
)
def test_bad_input_raises(few, arguments, message):
    with pytest.raises(sp.InputError, match=message):
        sp.calibrate(few.pairs(), **arguments)


@real_data
def test_celeba_budget_of_the_paper():
    pairs = pairs_of("celeba")
    found = find_budgets(pairs, 10.0, guarantee="sum")
    assert found.epsilons[0] == pytest.approx(0.9264, abs=5e-5)
    assert equal_split(10.0, 40) == 0.25
    larger = find_budgets(pairs, 10.0, guarantee="independent")
    assert larger.epsilons[0] == pytest.approx(1.0516, abs=5e-5)
    assert found.totals.values.max() <= 10.0


@real_data
@pytest.mark.slow
def test_celeba_budget_is_refuted():
    data = records_of("celeba")
    found = find_budgets(data, 10.0, guarantee="independent", mechanism="grr")
    goatee = data.domain.index("Goatee")
    assert goatee in refutations(found.problem, found.epsilons, [goatee])
    assert any(note.startswith("REFUTED: ") for note in found.notes)


PEOPLE = pd.DataFrame(
    {
        "id": range(60),
        "age": np.arange(60) % 30,
        "sex": list("FMMFMF") * 10,
        "job": list("ab") * 30,
    }
)


@pytest.mark.parametrize("guarantee", ["auto", "independent"])
def test_any_data_with_table_options(tmp_path, guarantee):
    """Frames, paths and names, with the same numbers as their records."""
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    options = {"drop": ["id"], "bins": {"age": 3}}
    asked = {"guarantee": guarantee, "mechanism": "grr", "audit": False}
    scope = "population" if guarantee == "auto" else "table"
    known = Records.from_data(PEOPLE, scope=scope, **options)
    expected = find_budgets(known, 2.0, **asked)
    for data in (PEOPLE, tmp_path / "people.csv"):
        found = find_budgets(data, 2.0, rng=0, **asked, **options)
        assert np.array_equal(found.epsilons, expected.epsilons)
        assert np.array_equal(
            sp.calibrate(data, 2.0, **asked, **options).epsilons, found.epsilons
        )
    with pytest.raises(sp.InputError, match="bins has no effect"):
        sp.calibrate(known.pairs(), 2.0, bins=4)
    with pytest.raises(sp.InputError, match="there is no option 'buget'"):
        sp.calibrate(known, 2.0, buget="equal")
    named = find_budgets(
        "adult", 1.0, guarantee="independent", columns=["sex", "race"], audit=False
    )
    assert named.problem.domain.names == ("sex", "race")


@pytest.mark.parametrize("guarantee", ["auto", "worst", "merged", "independent", "sum"])
@pytest.mark.parametrize("name", ["gauss", "Approximate-GRR", None])
def test_budgets_of_mechanisms_with_a_delta_state_the_delta_of_their_totals(
    name, guarantee
):
    how = {
        "columns": ["coffee", "sleep", "screen"],
        "left_out": ["screen"],
        "guarantee": guarantee,
    }
    plan = sp.calibrate("survey", 2.0, mechanism=name, delta=1e-3, **how)
    assert plan.totals.max() <= 2.0
    coffee = plan["coffee"]
    assert coffee.epsilon > 0.9
    assert coffee.delta == (
        0 if name is None else 1e-3
    )  # a pure mechanism is planned for any
    exact = plan.guarantee == "exact"  # of approximate GRR: proven with delta 0
    assert (coffee.total_delta == 0) == exact
    assert coffee.total_delta <= 2e-3 * (1 + 1e-9)


def test_a_mechanism_that_needs_a_delta_has_no_budget_without_one():
    with pytest.raises(sp.InputError, match="'gauss' needs a delta above 0"):
        sp.calibrate("survey", 2.0, mechanism="gauss", columns=["coffee", "sleep"])
    with pytest.raises(
        sp.InputError, match=r"gauss have no bound.*use 'merged' or 'worst'"
    ):
        sp.calibrate(
            "survey",
            2.0,
            mechanism="gauss",
            delta=0.1,
            guarantee="exact",
            columns=["coffee"],
        )


def test_subset_selection_has_no_exact_budgets_for_the_population():
    """Its sets shrink as the budget grows, and its totals fall where they do (k =
    8).
    """
    rng = np.random.default_rng(5)
    coin = rng.integers(0, 2, 4_000)
    table = pd.DataFrame(
        {"a": coin, "b": (rng.integers(0, 8, 4_000) + 3 * coin) % 8}
    ).astype(str)
    with pytest.raises(sp.InputError, match="'ss' need not grow"):
        sp.calibrate(table, 2.0, mechanism="ss", guarantee="exact", scope="population")
    assert sp.calibrate(table, 2.0, mechanism="ss").guarantee == "merged"
    for_table = sp.calibrate(
        table, 2.0, mechanism="ss", guarantee="exact", scope="table"
    )
    assert for_table.guarantee == "exact"
    two_values = sp.calibrate(table[["a"]], 2.0, mechanism="ss", guarantee="exact")
    assert two_values.guarantee == "exact", "sets of one value at every budget"


# Rows known up to a distance ----------------------------------------------------------


@pytest.mark.parametrize("guarantee", ["independent", "sum"])
def test_budgets_for_uncertain_rows_hold_for_every_table_within_reach(few, guarantee):
    """Other rows within the distance leave every total within the limit."""
    pairs = few.pairs()
    plan = sp.calibrate(pairs, 2.0, guarantee=guarantee, uncertainty=0.03)
    own = sp.calibrate(pairs, 2.0, guarantee=guarantee)
    assert plan["age"].epsilon < own["age"].epsilon
    assert any("rows within 0.03" in note for note in plan.notes)
    epsilon = plan["age"].epsilon
    total = 0.0
    for source in pairs.domain.names[1:]:
        channel = pairs.channel("age", source).matrix
        rng = np.random.default_rng(4)
        most = 0.0
        for _ in range(30):
            moved = channel.copy()
            for row in moved:
                into, out = rng.choice(len(row), 2, replace=False)
                mass = min(0.03, row[out])
                row[out] -= mass
                row[into] += mass
            most = max(most, sp.leakage_bound(moved, epsilon).value)
        total += most
    if guarantee == "sum":
        assert epsilon + total <= 2.0 + 1e-9
    again = sp.leakage_matrix(pairs, epsilon, uncertainty=0.03)
    sums = epsilon + again.values.sum(axis=1)
    if guarantee == "sum":
        assert sums.max() == pytest.approx(2.0, abs=1e-6)
    else:
        assert sums.max() >= 2.0 - 1e-6


def test_uncertain_rows_and_totals_of_the_table_exclude_each_other(few):
    for guarantee in ("exact", "worst", "merged"):
        with pytest.raises(sp.InputError, match="'independent' or 'sum'"):
            sp.calibrate(few, 2.0, guarantee=guarantee, uncertainty=0.1)
    with pytest.raises(sp.InputError, match="use one of them"):
        sp.calibrate(few, 2.0, guarantee="sum", uncertainty=0.1, scope="population")
    survey = sp.make_survey(2_000)
    with pytest.raises(sp.InputError, match="use one of them"):
        sp.calibrate(survey, 2.0, uncertainty=0.1, scope="population")
    assert sp.calibrate(few, 2.0, uncertainty=0.1).guarantee == "independent"
