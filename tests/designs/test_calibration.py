"""Budgets: never above the limit, as large as can be, and honest about what they rest on."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from real_data import pairs_of, real_data
from seepage.data.datasets import make_survey
from seepage.data.records import Records
from seepage.designs.calibration import find_budgets
from seepage.designs.equal_budgets import equal_split


@pytest.fixture(scope="module")
def few():
    names = ["age", "employment", "income", "coffee", "screen", "sleep"]
    return Records.from_data(make_survey(4_000)).select(names)


@pytest.fixture(scope="module")
def coins():
    """Two coins and whether they differ: the sum sees nothing, a witness does."""
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    return Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [5_000] * 4)


def test_stronger_guarantees_allow_less(few):
    budgets = {
        name: find_budgets(few, 2.0, guarantee=name, mechanism="grr", audit=False).epsilons[0]
        for name in ("worst", "merged", "exact")
    }
    assert budgets["worst"] <= budgets["merged"] <= budgets["exact"]
    assert budgets["worst"] == pytest.approx(2.0 / 6, abs=1e-8)


def test_sampled_budgets_are_confirmed_on_fresh_reports(coins):
    options = {"reports": 4_000, "seed": 3}
    found = find_budgets(coins, 1.2, guarantee="sampled", mechanism="grr", **options)
    assert equal_split(1.2, 3) < found.epsilons[0] < 1.2
    again = sp.total_leakage(
        coins, found.epsilons, mechanism="grr", guarantee="sampled", reports=4_000, seed=99
    )
    assert again.values.max() <= 1.2 * 1.05
    chosen_with = sp.total_leakage(
        coins, found.epsilons, mechanism="grr", guarantee="sampled", reports=4_000, seed=3
    )
    assert not np.array_equal(found.totals.values, chosen_with.values), "stated on fresh reports"
    each = find_budgets(
        coins, 1.2, guarantee="sampled", mechanism="grr", budgets="per-attribute", **options
    )
    assert each.totals.values.max() <= 1.2


def test_a_limit_for_each_attribute(few):
    limits = dict.fromkeys(few.domain.names, 2.0) | {"income": 1.0}
    found = find_budgets(few.pairs(), limits, guarantee="independent")
    assert (found.totals.values <= found.problem.limits).all()
    assert found.binding == "income"


def test_the_first_dropped_attribute_leaks_most_about_the_others():
    """Not the one that is leaked about most: leakages differ by direction."""
    domain = sp.Domain([sp.Attribute(f"a{k}", tuple("abcd"[:k])) for k in (2, 3, 4)])
    checked = 0
    for seed in range(8):
        counts = np.random.default_rng(seed).integers(0, 9, (2, 3, 4))
        pairs = Records.from_joint(domain, counts).pairs()
        matrix = sp.leakage_matrix(pairs, 2.0, mechanism="grr").values
        most = int(matrix.sum(axis=0).argmax())
        found = find_budgets(pairs, 2.5, guarantee="independent", mechanism="grr", least=2.0)
        assert found.dropped[0] == domain.names[most]
        checked += most != matrix.sum(axis=1).argmax()
    assert checked >= 3


def test_budgets_per_attribute_are_feasible_and_never_worse(few):
    for guarantee in ("independent", "exact"):
        found = find_budgets(
            few, 2.0, guarantee=guarantee, mechanism="grr", budgets="per-attribute", audit=False
        )
        assert found.totals.values.max() <= 2.0
        assert found.gain >= 1.0


def test_budgets_per_attribute_are_scaled_where_no_step_from_equal_ones_is_feasible():
    """At equal budgets one total attains its limit, and the solver's direction raises it."""
    table = sp.make_survey(2_000).select(["age", "employment", "region"])
    found = find_budgets(
        table, 2.0, guarantee="exact", mechanism="grr", budgets="per-attribute", least=0.3
    )
    assert found.gain > 1.3
    assert found.totals.values.max() <= 2.0
    assert found.epsilons.min() >= 0.3


def test_budgets_per_attribute_are_a_local_optimum():
    """No feasible step along any two budgets lowers the weighted variance noticeably."""
    pairs = sp.load_pairs("adult").select(["sex", "relationship", "income"])
    found = find_budgets(
        pairs, 2.0, guarantee="independent", mechanism="grr", budgets="per-attribute"
    )
    assert found.gain > 1.001

    def cost(epsilons):
        return sum(
            float(sp.GRR(k, e).variance(1, m / pairs.records).sum())
            for k, e, m in zip(pairs.domain.sizes, epsilons, pairs.marginals, strict=True)
        )

    def feasible(epsilons):
        matrix = sp.leakage_matrix(pairs, epsilons, mechanism="grr")
        return (epsilons + matrix.values.sum(axis=1) <= 2.0).all()

    best = cost(found.epsilons)
    for first, second in itertools.permutations(range(3), 2):
        for step in (1e-3, 1e-2):
            moved = found.epsilons.copy()
            moved[first] += step
            while not feasible(moved) and moved[second] > 0.01:
                moved[second] -= step / 20
            assert not feasible(moved) or cost(moved) > best * (1 - 2e-4)


@pytest.mark.parametrize("budgets", ["equal", "per-attribute"])
@pytest.mark.parametrize("limit", [1e-3, 1e-9, 1e-14])
def test_a_tiny_limit_is_used_too(coins, limit, budgets):
    found = find_budgets(coins, limit, guarantee="worst", mechanism="grr", budgets=budgets)
    assert found.epsilons.sum() == pytest.approx(limit, rel=1e-6)
    assert found.totals.values.max() <= limit
    assert found.gain is None or found.gain >= 1


def test_budgets_per_attribute_without_variance():
    domain = sp.Domain([sp.Attribute(name, ("only",)) for name in ("a", "b")])
    found = find_budgets(
        Records(domain, [[0, 0]]), 1.0, guarantee="exact", mechanism="grr", budgets="per-attribute"
    )
    assert found.gain == 1
    assert found.epsilons.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("guarantee", ["independent", "exact", "merged"])
def test_budgets_per_attribute_with_public_attributes(guarantee):
    """A public attribute has no limit of its own, and must not lift that of the others."""
    domain = sp.Domain([sp.Attribute(f"a{k}", tuple("abcd"[:k])) for k in (2, 3, 4)])
    counts = np.random.default_rng(4).integers(40, 60, (2, 3, 4))
    found = find_budgets(
        Records.from_joint(domain, counts),
        3.0,
        guarantee=guarantee,
        mechanism="grr",
        budgets="per-attribute",
        public=["a2"],
    )
    assert found.gain >= 1
    assert found.epsilons[0] == 0
    assert found.totals.values[1:].max() <= 3.0


def test_weights_change_budgets():
    pairs = sp.load_pairs("adult").select(["sex", "relationship", "income"])
    plain = find_budgets(
        pairs, 2.0, guarantee="independent", mechanism="grr", budgets="per-attribute"
    )
    heavy = find_budgets(
        pairs, 2.0, guarantee="independent", mechanism="grr", budgets="per-attribute",
        weights={"sex": 100.0, "relationship": 1.0, "income": 1.0},
    )  # fmt: skip
    assert heavy.epsilons[0] > plain.epsilons[0]


def test_left_out_attributes_leak_nothing_but_are_leaked_about(few):
    found = find_budgets(few.pairs(), 2.0, guarantee="independent", left_out=["employment"])
    assert found.epsilons[1] == 0
    assert 0 < found.totals["employment"] <= 2.0
    everything = find_budgets(few.pairs(), 2.0, guarantee="independent")
    assert found.epsilons[0] > everything.epsilons[0]


def test_public_attributes_are_identity_releases(few):
    pairs = few.pairs().select(["age", "coffee", "income"])
    found = find_budgets(pairs, 4.0, guarantee="independent", public=["age"])
    assert found.epsilons[0] == 0
    assert (found["coffee"], found[2]) == tuple(found.epsilons[1:])
    with pytest.raises(sp.InputError, match="'age' is public and has no budget"):
        found["age"]
    with pytest.raises(sp.DomainError, match="no attribute 'tea'"):
        found["tea"]
    alone = find_budgets(pairs.select(["coffee", "income"]), 4.0, guarantee="independent")
    assert found.epsilons[2] < alone.epsilons[1]
    with pytest.raises(sp.InputError, match="no budget fits"):
        find_budgets(few.pairs(), 1.0, guarantee="independent", public=["employment"])


def test_attributes_to_drop_if_the_minimum_budget_exceeds_the_limit(few):
    found = find_budgets(few.pairs(), 2.0, guarantee="independent", least=0.9)
    assert found.dropped
    rest = [name for name in few.domain.names if name not in found.dropped]
    kept = find_budgets(
        few.pairs(), 2.0, guarantee="independent", least=0.9, left_out=found.dropped
    )
    assert kept.dropped == ()
    assert all(kept[name] >= 0.9 for name in rest)
    with pytest.raises(sp.InputError, match="no attribute can have its smallest useful budget"):
        find_budgets(few.pairs(), 0.5, guarantee="independent", least=0.9)
    with pytest.raises(sp.InputError, match="no attribute can have its smallest useful budget"):
        find_budgets(few.pairs(), 2.0, guarantee="independent", least=2.0)


def test_an_assumption_is_audited_and_refuted(coins):
    found = find_budgets(coins, 1.0, guarantee="independent", mechanism="grr")
    assert found.epsilons[0] == pytest.approx(1.0)
    assert found.audit.strongest.value == pytest.approx(1.0 + math.log(math.cosh(1)), abs=1e-6)
    survived = sp.total_leakage(
        coins, found.audit.surviving, mechanism="grr", guarantee="exact"
    ).values.max()
    assert survived <= 1.0
    assert survived >= 0.97
    assert find_budgets(coins, 1.0, guarantee="exact", mechanism="grr").audit is None
    counted = find_budgets(coins.pairs(), 1.0, guarantee="independent", mechanism="grr")
    assert counted.audit is None
    assert "no witness was searched for" in counted.notes[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 0}, "limit must be above 0"),
        ({"limit": -1}, "limit must be a finite number"),
        ({"limit": 1, "guarantee": "witness"}, "a witness is a lower bound"),
        ({"limit": 1, "guarantee": "hope"}, "guarantee must be one of"),
        ({"limit": 1, "budgets": "fair"}, "budgets must be one of"),
        ({"limit": 1, "public": ["aeg"]}, "did you mean 'age'"),
        ({"limit": 1, "public": ["age"], "left_out": ["age"]}, "both public and left out"),
        ({"limit": {"age": 1}}, "limit must be given for every attribute"),
        ({"limit": 1, "weights": 0, "budgets": "per-attribute"}, "weights must be above 0"),
    ],
)
def test_bad_input_raises(few, arguments, message):
    with pytest.raises(sp.InputError, match=message):
        find_budgets(few.pairs(), **arguments)


@real_data
def test_celeba_budget_of_the_paper():
    pairs = pairs_of("celeba")
    found = find_budgets(pairs, 10.0, guarantee="independent")
    assert found.epsilons[0] == pytest.approx(0.9264, abs=5e-5)
    assert equal_split(10.0, 40) == 0.25
    assert found.totals.values.max() <= 10.0


@real_data
@pytest.mark.slow
def test_celeba_budgets_per_attribute():
    pairs = pairs_of("celeba")
    each = find_budgets(pairs, 10.0, guarantee="independent", budgets="per-attribute")
    assert each.gain > 1.1
    assert each.totals.values.max() <= 10.0


@real_data
@pytest.mark.slow
def test_celeba_budget_is_refuted():
    data = Records.from_data(sp.dataset("celeba").read())
    found = find_budgets(data, 10.0, guarantee="independent", mechanism="grr")
    refuted = {witness.target for witness in found.audit.refutations}
    assert "Goatee" in refuted
    assert found.audit.surviving[0] < found.epsilons[0]


PEOPLE = pd.DataFrame(
    {"id": range(60), "age": np.arange(60) % 30, "sex": list("FMMFMF") * 10, "job": list("ab") * 30}
)


@pytest.mark.parametrize("guarantee", ["auto", "independent"])
def test_any_data_with_table_options(tmp_path, guarantee):
    """Frames, paths and names, with the same numbers as their records."""
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    options = {"drop": ["id"], "bins": {"age": 3}}
    asked = {"guarantee": guarantee, "mechanism": "grr", "audit": False}
    known = Records.from_data(PEOPLE, **options)
    expected = find_budgets(known, 2.0, **asked)
    for data in (PEOPLE, tmp_path / "people.csv"):
        found = find_budgets(data, 2.0, seed=0, **asked, **options)
        assert np.array_equal(found.epsilons, expected.epsilons)
        assert np.array_equal(sp.calibrate(data, 2.0, **asked, **options).epsilons, found.epsilons)
    with pytest.raises(sp.InputError, match="bins has no effect"):
        sp.calibrate(known.pairs(), 2.0, bins=4)
    with pytest.raises(sp.InputError, match="there is no option 'buget'"):
        sp.calibrate(known, 2.0, buget="equal")
    named = find_budgets(
        "adult", 1.0, guarantee="independent", columns=["sex", "race"], audit=False
    )
    assert named.problem.domain.names == ("sex", "race")


def test_a_calibration_as_one_line_and_as_a_frame(coins):
    found = find_budgets(coins, 1.0, guarantee="independent", mechanism="grr", public=["b"])
    assert repr(found) == (
        "Calibration('independent', assumed, refuted, epsilon 1, nearest to its limit: 'a')"
    )
    frame = found.to_pandas()
    assert frame["epsilon"].tolist() == found.epsilons.tolist()
    assert frame["limit"].isna().tolist() == [False, True, False]
    assert repr(found.audit).startswith("Audit(limits exceeded: a, differ; strongest ")
    assert found.audit.to_pandas()["target"].tolist() == ["a", "differ"]
    quiet = find_budgets(coins, 1.0, guarantee="independent", mechanism="grr", left_out=["b"])
    assert repr(quiet.audit) == "Audit(no reports found that exceed a limit)"


def test_a_note_says_if_no_budget_exceeds_the_equal_split():
    """Attributes that determine each other leave nothing beyond limit / n."""
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b")])
    same = Records(domain, [[0, 0], [1, 1]], [500, 500])
    found = find_budgets(same, 1.0, guarantee="exact")
    assert found.epsilons == pytest.approx([0.5, 0.5])
    assert found.notes == (
        "no budget is above the equal split, limit / 2 = 0.5, which any data allow; "
        "`design` asks each person for some attributes only, with larger budgets",
    )
    assert found.notes[0] in sp.calibrate(same, 1.0, guarantee="exact").notes
    apart = Records(domain, [[0, 0], [0, 1], [1, 0], [1, 1]], [500] * 4)
    assert find_budgets(apart, 1.0, guarantee="exact").notes == ()


def test_a_note_names_attributes_that_prevent_exact_totals():
    rng = np.random.default_rng(0)
    sizes = (2, 2, 300, 400, 500, 3)
    domain = sp.Domain(
        [sp.Attribute(f"a{i}", tuple(map(str, range(k)))) for i, k in enumerate(sizes)]
    )
    people = Records(domain, np.stack([rng.integers(0, k, 200) for k in sizes], axis=1))
    found = find_budgets(people, 3.0, guarantee="merged", mechanism="grr")
    (note,) = [note for note in found.notes if "exact totals would fit" in note]
    assert "without a4;" in note
    small = find_budgets(people.select(["a0", "a1"]), 3.0, guarantee="merged", mechanism="grr")
    assert not any("exact totals would fit" in note for note in small.notes)


@pytest.mark.parametrize(("limit", "least"), [(1.0, 0.05), (2.0, 0.1)])
def test_smallest_useful_budgets_are_kept_to_the_last_digit(limit, least):
    """A budget that is one rounding error below `least` must not count as too small for it."""
    people = Records.from_data(make_survey(400, seed=1).select(["coffee", "screen", "sleep"]))
    found = find_budgets(
        people,
        limit,
        mechanism="grr",
        guarantee="merged",
        scope="table",
        budgets="per-attribute",
        weights={"coffee": 1.0, "screen": 1e-6, "sleep": 1e6},
        least=least,
    )
    assert found.epsilons.min() >= least
    assert found.dropped == ()
    assert found.totals.values.max() <= limit


@pytest.mark.parametrize(
    "given",
    [{"mechanism": "gauss"}, {"mechanism": "Approximate-GRR", "delta": 0.1}, {"delta": 0.1}],
)
@pytest.mark.parametrize("guarantee", ["auto", "worst", "merged", "exact", "sampled"])
def test_mechanisms_with_a_delta_have_no_budgets(given, guarantee):
    with pytest.raises(sp.InputError, match=r"^(mechanism|delta) must .* 0 to find budgets"):
        sp.calibrate("survey", 2.0, guarantee=guarantee, columns=["coffee", "sleep"], **given)
