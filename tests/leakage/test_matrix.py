"""The matrix of a table agrees with its pairs, whatever each attribute's release."""

import math
import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import seepage as sp
from real_data import pairs_of, real_data
from seepage import PairCounts, exact_leakage, leakage_bound, leakage_matrix
from seepage._core.errors import DomainError, InputError
from seepage._core.odds import odds_above
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.mechanism_registry import mechanism
from strategies import exponential, just_above, pair_counts

NAMES = ("sex", "work", "age", "race")
SIZES = (2, 4, 3, 4)


def table_of(records=400, seed=0, sizes=SIZES):
    """Return pair counts of correlated columns; the last value of `work` never
    occurs.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, records)
    columns = {
        name: np.minimum(
            (hidden * rng.integers(0, 2, records) + rng.integers(0, size, records))
            % size,
            seen,
        )
        for name, size, seen in zip(NAMES, sizes, (1, 2, 2, 3), strict=True)
    }
    return pair_counts(columns, list(sizes))


@st.composite
def random_pairs(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    records = draw(st.integers(1, 60))
    columns = {f"a{i}": rng.integers(0, size, records) for i, size in enumerate(sizes)}
    return pair_counts(columns, sizes)


# Against single pairs and exact fractions ---------------------------------------------


@settings(max_examples=100)
@given(random_pairs(), st.sampled_from([0.0, 1e-12, 0.5, 1.0, 50.0, 700.0]))
def test_every_entry_is_just_above_the_exact_leakage_of_the_counts(pairs, epsilon):
    matrix = leakage_matrix(pairs, epsilon)
    lam = oracles.growth(epsilon)
    for target, source in permutations(range(len(pairs.domain)), 2):
        counts = pairs.table(target, source)
        rows = [
            [oracles.Fraction(int(cell), int(row.sum())) for cell in row]
            for row in counts
            if row.sum()
        ]
        truth = oracles.log1p(oracles.best_ratio(rows, lam, oracles.every_subset))
        assert just_above(matrix.values[target, source], truth, epsilon)
        alone = leakage_bound(pairs.channel(target, source), epsilon)
        assert matrix.values[target, source] == alone.value
        assert matrix[target, source] == alone
    assert (np.diag(matrix.values) == 0).all()


@pytest.mark.parametrize(
    "smoothing", [{}, {"min_count": 5}, {"prior": 0.5, "truncate": 3}]
)
@pytest.mark.parametrize("name", ["grr", "exp", "oue", "ss", "olh"])
@pytest.mark.parametrize("view", ["report", "inferred"])
def test_every_mechanism_and_view_agrees_with_its_pairs(name, view, smoothing):
    pairs = table_of()
    matrix = leakage_matrix(pairs, 1.5, mechanism=name, view=view, **smoothing)
    for target, source in permutations(NAMES, 2):
        channel = pairs.channel(target, source, **smoothing)
        known = mechanism(name, channel.shape[1], 1.5)
        expected = (
            known.leakage(channel).value
            if view == "report"
            else exact_leakage(channel.matrix, known.inferred_channel()).value
        )
        index = pairs.domain.index(target), pairs.domain.index(source)
        assert matrix.values[index] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        found = matrix[target, source]
        assert found.value == pytest.approx(matrix.values[index], rel=1e-12)
        assert found.witness.likelier in pairs.domain[target].values
        assert set(found.witness.likely) <= set(pairs.domain[source].values)


def test_grr_is_the_exact_leakage_of_its_matrix():
    pairs = table_of()
    matrix = leakage_matrix(pairs, 1.0, mechanism="grr")
    for target, source in permutations(NAMES, 2):
        channel = pairs.channel(target, source)
        grr = mechanism("grr", channel.shape[1], 1.0)
        expected = exact_leakage(channel.matrix, grr.channel()).value
        assert matrix[target, source].value == pytest.approx(expected, rel=1e-12)
        singles = LikelySets("singletons", 1.0).largest(channel.matrix[None])[0]
        assert matrix[target, source].value == pytest.approx(singles, rel=1e-12)
        assert expected <= leakage_bound(channel, 1.0).value * (1 + 1e-12)


# Settings for each attribute ----------------------------------------------------------

BUDGETS = {"sex": 0.5, "work": 1.0, "age": 0.0, "race": 3.0}


@pytest.mark.parametrize(
    "epsilon", [BUDGETS, list(BUDGETS.values()), np.array([0.5, 1, 0, 3])]
)
def test_one_epsilon_per_source(epsilon):
    pairs = table_of()
    matrix = leakage_matrix(pairs, epsilon)
    assert matrix.epsilons.tolist() == [0.5, 1.0, 0.0, 3.0]
    for target, source in permutations(NAMES, 2):
        alone = leakage_bound(pairs.channel(target, source), BUDGETS[source])
        assert matrix[target, source] == alone
        assert matrix.values[NAMES.index(target), NAMES.index(source)] == alone.value


def test_one_mechanism_per_source():
    pairs = table_of()
    grr = mechanism("grr", 4, 2.0)
    matrix = leakage_matrix(
        pairs, 1.0, mechanism={"sex": "oue", "work": "ss", "age": None, "race": grr}
    )
    assert [release.name for release in matrix.releases] == ["oue", "ss", None, "grr"]
    assert matrix.epsilons[-1] == pytest.approx(2.0)
    for target, source in permutations(NAMES, 2):
        channel = pairs.channel(target, source)
        known = {
            "sex": mechanism("oue", 2, 1.0),
            "work": mechanism("ss", 4, 1.0),
            "race": grr,
        }
        expected = (
            known[source].leakage(channel)
            if source in known
            else leakage_bound(channel, 1.0)
        )
        assert matrix[target, source].value == expected.value
        found = matrix.values[NAMES.index(target), NAMES.index(source)]
        assert found == pytest.approx(expected.value, rel=1e-13)


def test_relaxations_beside_the_bound():
    pairs = table_of()
    matrix = leakage_matrix(
        pairs, 1.0, delta={"sex": 0.0, "work": 1e-6, "age": 0.1, "race": 0.0}
    )
    for target, source in permutations(NAMES, 2):
        index = NAMES.index(target), NAMES.index(source)
        assert matrix.deltas[index] == matrix[target, source].delta
        assert (matrix.deltas[index] > 0) == (source in ("work", "age"))


def test_smoothing_lowers_leakages_from_few_records():
    pairs = table_of()
    plain = leakage_matrix(pairs, 1.0).values
    smooth = leakage_matrix(pairs, 1.0, min_count=20, prior=3).values
    assert smooth.sum() < plain.sum()
    channel = pairs.channel("sex", "work", min_count=20, prior=3)
    assert smooth[0, 1] == leakage_bound(channel, 1.0).value


def test_values_that_never_occur_are_excluded():
    pairs = table_of()
    assert pairs.unseen("work") == ("work3",)
    channel = pairs.channel("work", "race")
    assert channel.unseen == ("work3",)
    matrix = leakage_matrix(pairs, 1.0)
    assert matrix.values[1, 3] == leakage_bound(channel, 1.0).value > 0
    assert matrix["work", "race"].witness.likelier in ("work0", "work1", "work2")


def test_a_target_with_one_observed_value_has_no_leakage():
    pairs = pair_counts({"constant": [1, 1, 1, 1], "coin": [0, 1, 1, 0]}, [3, 2])
    matrix = leakage_matrix(pairs, 1.0, delta=0.1)
    assert matrix.values.tolist() == [[0, 0], [0, 0]]
    assert matrix["constant", "coin"].witness is None
    assert matrix.deltas.tolist() == [[0, 0], [0, 0]]


def test_one_attribute_alone_leaks_nothing():
    matrix = leakage_matrix(pair_counts({"only": [0, 1, 1]}), 1.0)
    assert matrix.values.tolist() == [[0]]
    assert matrix.tcpl == 0
    assert matrix.strongest(3) == []


# What the matrix shows ----------------------------------------------------------------


def test_views_of_the_matrix():
    matrix = leakage_matrix(table_of(), 1.0)
    assert matrix.tcpl == pytest.approx(matrix.values.sum())
    assert (
        repr(matrix)
        == "LeakageMatrix(4 x 4, view='report', rows targets, columns sources)"
    )
    ranked = matrix.strongest(12)
    values = [leak.leakage for leak in ranked]
    assert values == sorted(matrix.values[~np.eye(4, dtype=bool)])[::-1]
    assert [matrix[leak.target, leak.source].value for leak in ranked] == values
    assert matrix.strongest(2) == ranked[:2]
    frame = matrix.to_arrow()
    columns = ["target", "source", "leakage", "delta", "epsilon", "mechanism", "view"]
    assert frame.column_names == columns
    assert frame.num_rows == 12
    for row in frame.to_pylist():
        assert matrix[row["target"], row["source"]].value == row["leakage"]
        assert (row["epsilon"], row["mechanism"], row["view"]) == (1.0, None, "report")
    assert "<table>" in matrix._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        matrix.values[0, 1] = 0.0


def test_an_index_needs_a_target_and_a_source():
    matrix = leakage_matrix(table_of(), 1.0)
    for names in ("sex", ("sex",), ("sex", "work", "sex")):
        with pytest.raises(DomainError, match=r"give matrix\[target, source\], got "):
            matrix[names]


def test_any_data_with_table_options():
    frame = pa.table(
        {"sex": ["f", "m", "f", "m"], "age": [20, 30, 40, 50], "id": [1, 2, 3, 4]}
    )
    matrix = leakage_matrix(frame, 1.0, columns=["sex", "age"], bins=2)
    assert matrix.domain.names == ("sex", "age")
    assert (
        leakage_matrix("adult", 1.0, columns=["sex", "race"])["sex", "race"].value > 0
    )
    with pytest.raises(InputError, match="bins has no effect"):
        leakage_matrix(matrix.pairs, 1.0, bins=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda p: leakage_matrix(p, -1),
            "epsilon must be a finite number of at least 0, got -1",
        ),
        (
            lambda p: leakage_matrix(p, [1, 2]),
            "epsilon must be one number or one for each of the 4 attributes, got 2",
        ),
        (
            lambda p: leakage_matrix(p, {"sex": 1}),
            "epsilon must be given for every attribute, 'work' has none",
        ),
        (
            lambda p: leakage_matrix(p, {**BUDGETS, "sexx": 1}),
            "there is no attribute 'sexx'; did you mean 'sex'?",
        ),
        (
            lambda p: leakage_matrix(p, 1, delta=1),
            "delta must be at least 0 and below 1, got 1",
        ),
        (
            lambda p: leakage_matrix(p, 1, view="reports"),
            "view must be one of report, inferred, got 'reports'; did you mean "
            "'report'?",
        ),
        (
            lambda p: leakage_matrix(
                p,
                1,
                mechanism={
                    **dict.fromkeys(NAMES, "grr"),
                    "sex": mechanism("grr", 3, 1),
                },
            ),
            "the mechanism of 'sex' must have k = 2, got k = 3",
        ),
        (
            lambda p: leakage_matrix(p, 1, mechanism="grr", delta=0.1),
            "mechanism 'grr' has delta 0, got delta 0.1",
        ),
        (
            lambda p: leakage_matrix(p, 1, min_count=-1),
            "min_count must be a finite number of at least 0, got -1",
        ),
        (
            lambda p: leakage_matrix(p, 1, prior=float("nan")),
            "prior must be a finite number of at least 0, got nan",
        ),
        (
            lambda p: leakage_matrix(p, 1)["sex", "wrk"],
            "there is no attribute 'wrk'; did you mean 'work'?",
        ),
        (
            lambda p: leakage_matrix(p, 1)["sex", 0],
            "'sex' is no source about itself; its own report leaks its epsilon",
        ),
    ],
)
def test_invalid_input_raises_in_one_line(call, message):
    with pytest.raises(InputError) as error:
        call(table_of())
    assert str(error.value) == message


def test_an_unknown_mechanism_raises_with_the_nearest_name():
    with pytest.raises(
        InputError, match=r"^mechanism must be one of .*; did you mean 'grr'\?$"
    ):
        leakage_matrix(table_of(), 1.0, mechanism="grrr")


def test_no_records_are_no_leakage():
    domain = table_of().domain
    nothing = PairCounts(domain, [[0] * k for k in SIZES], [0] * table_of().counts.size)
    with pytest.raises(DomainError, match=r"^there is no leakage without records"):
        leakage_matrix(nothing, 1.0)


# Numbers of the paper on real data ----------------------------------------------------


@pytest.fixture(scope="module")
def celeba():
    return pairs_of("celeba")


@real_data
def test_the_mean_bound_on_celeba(celeba):
    matrix = leakage_matrix(celeba, 1.0)
    assert celeba.records == 202_599
    apart = ~np.eye(40, dtype=bool)
    assert 1 - matrix.values[apart].mean() == pytest.approx(0.850, abs=5e-4)
    grr = leakage_matrix(celeba, 1.0, mechanism="grr")
    np.testing.assert_allclose(grr.values, matrix.values, rtol=1e-12)


@real_data
def test_largest_leakages_about_sex_on_celeba(celeba):
    levels = [
        [
            leakage_matrix(celeba, e, mechanism="grr")["Male", s].value
            for e in (1, 3, 10, 20)
        ]
        for s in ("No_Beard", "Wearing_Necklace", "Smiling")
    ]
    beard, necklace, smiling = levels
    assert all(b > n > s for b, n, s in zip(beard, necklace, smiling, strict=True))
    assert necklace[-1] == pytest.approx(2.4, abs=0.05)
    assert necklace[-1] - necklace[-2] < 0.01


@real_data
def test_cholesterol_and_cardio():
    import pandas as pd

    path = Path(os.environ["SEEPAGE_DATA"]) / "cardio" / "cardio_train.csv.gz"
    frame = pd.read_csv(path, sep=";")
    pairs = pair_counts(
        {
            "cholesterol": frame["cholesterol"].to_numpy() - 1,
            "cardio": frame["cardio"].to_numpy(),
        }
    )
    matrix = leakage_matrix(pairs, 1.0, mechanism="grr")
    assert matrix["cholesterol", "cardio"].value == pytest.approx(0.3353, abs=5e-5)
    assert matrix["cardio", "cholesterol"].value == pytest.approx(0.1761, abs=5e-5)


def test_reports_that_are_not_two_level_are_in_the_matrix():
    """Both ways, beside a value that never occurs, and with smoothing."""
    pairs = table_of()
    rng = np.random.default_rng(3)
    how = {
        name: exponential(rng.uniform(-2, 0, (size, size)), 2.0) if size == 4 else "grr"
        for name, size in zip(NAMES, SIZES, strict=True)
    }
    for smoothing in ({}, {"prior": 1.0}):
        matrix = leakage_matrix(pairs, 1.0, mechanism=how, **smoothing)
        for target, source in permutations(range(len(NAMES)), 2):
            channel = matrix.channel(target, source).matrix
            made = (
                mechanism("grr", SIZES[source], 1.0)
                if SIZES[source] < 4
                else how[NAMES[source]]
            )
            truth = exact_leakage(channel, made.channel()).value
            assert matrix.values[target, source] == pytest.approx(truth, rel=1e-9)
            assert truth > 0


def test_settings_by_name_may_come_in_any_order():
    pairs = table_of()
    budgets = dict(zip(NAMES, (0.5, 1.0, 1.5, 2.0), strict=True))
    backwards = dict(reversed(budgets.items()))
    found = leakage_matrix(
        pairs, backwards, mechanism=dict(reversed([(n, "grr") for n in NAMES]))
    )
    assert found.epsilons.tolist() == [0.5, 1.0, 1.5, 2.0]
    assert np.array_equal(
        found.values, leakage_matrix(pairs, [0.5, 1, 1.5, 2], mechanism="grr").values
    )
    for wrong in ([1.0] * 3, [1.0] * 5):
        with pytest.raises(
            InputError, match=r"one for each of the 4 attributes, got [35]"
        ):
            leakage_matrix(pairs, wrong)


def test_a_mechanism_instance_has_its_delta():
    pairs = table_of()
    made = {
        n: mechanism("gauss", k, 1.0, 1e-3) for n, k in zip(NAMES, SIZES, strict=True)
    }
    for release, one in zip(
        leakage_matrix(pairs, 0.0, mechanism=made).releases, made.values(), strict=True
    ):
        assert (release.epsilon, release.delta) == (one.epsilon, one.delta)
        assert release.delta > 9e-4


# (epsilon, delta) ---------------------------------------------------------------------


def test_adult_meets_the_own_arithmetic_of_epsilon_and_delta():
    pairs = sp.load_pairs("adult")
    pair = ("sex", "occupation")
    for name, value in ((None, 0.39968), ("grr", 0.24392), ("exp", 0.10469)):
        found = leakage_matrix(pairs, 1.0, mechanism=name)[pair]
        assert (found.value, found.delta) == (pytest.approx(value, abs=5e-6), 0)
    found = leakage_matrix(pairs, 1.0, delta=1e-5)[pair]
    assert found.paper_delta == pytest.approx(3.7078e-6, rel=1e-4)
    assert found.delta == pytest.approx(2.8595e-6, rel=1e-4)
    relaxed = leakage_matrix(pairs, 1.0, mechanism="approximate-grr", delta=0.01)
    generic = leakage_matrix(pairs, 1.0, delta=0.01)[pair]
    assert (generic.value, generic.delta) == pytest.approx(
        (0.39968, 2.8595e-3), rel=1e-4
    )
    assert (relaxed[pair].value, relaxed[pair].delta) == (
        pytest.approx(0.26297, abs=5e-6),
        0,
    )
    leak = relaxed["sex", "relationship"]
    channel = pairs.channel("sex", "relationship")
    mechanism = relaxed.releases[pairs.domain.index("relationship")].mechanism
    assert mechanism.pure_leakage(channel).value == pytest.approx(0.73448, abs=5e-6)
    assert leak.value == pytest.approx(0.71164, abs=5e-6)
    assert leak.delta == pytest.approx(6.037e-3, rel=1e-4)
    assert leak.profile([0.73449]).deltas.tolist() == [0]


@pytest.mark.parametrize("view", ["report", "inferred"])
@pytest.mark.parametrize("name", ["approximate-grr", "approximate-sue", "gauss"])
def test_a_leakage_with_a_delta_never_exceeds_the_bound_nor_its_budget(name, view):
    pairs = sp.load_pairs("adult").select(["sex", "race", "income", "relationship"])
    matrix = leakage_matrix(pairs, 1.0, mechanism=name, delta=1e-3, view=view)
    bound = leakage_matrix(pairs, 1.0, delta=1e-3)
    assert (matrix.values <= bound.values).all()
    assert (matrix.deltas <= bound.deltas).all()
    assert (matrix.values[matrix.deltas == 0] < 1).all()
    for row in matrix.to_arrow().to_pylist():
        found = matrix[row["target"], row["source"]]
        assert (row["leakage"], row["delta"]) == (found.value, found.delta)
        deltas = found.profile([0.0, found.value / 2, found.value, 2.0]).deltas
        assert (np.diff(deltas) <= 0).all()
        assert deltas[2] == pytest.approx(found.delta, rel=1e-6, abs=1e-12)
    intervals = matrix.interval()
    off = ~np.eye(4, dtype=bool)
    assert (intervals.lower <= matrix.values + 1e-12)[off].all()
    assert (matrix.values <= intervals.upper + 1e-12)[off].all()
    assert (intervals.upper <= 1 + 1e-9).all()


def test_the_delta_of_a_known_matrix_is_its_hockey_stick():
    rng = np.random.default_rng(3)
    channel = rng.dirichlet(np.ones(4), 3)
    transition = rng.dirichlet(np.ones(5), 4)
    found = sp.exact_leakage(channel, transition)
    reports = channel @ transition
    for value in (0.0, 0.3, 0.9 * found.value, found.value):
        exact = max(
            (x - math.exp(value) * y).clip(0).sum() for x in reports for y in reports
        )
        assert found.delta_at(value) == pytest.approx(exact, rel=1e-12, abs=1e-15)
        assert found.delta_at(value) >= exact or value == found.value


def test_the_profile_of_a_budget_holds_for_every_mechanism_with_it():
    """The mechanism that attains the profile of (epsilon, delta): four outputs, two
    certain.
    """
    channel = np.array([[0.9, 0.1], [0.3, 0.7]])
    delta = 0.05
    epsilon = 1.0
    keep = (1 - delta) / (1 + math.exp(-epsilon))
    dominating = [
        [delta, keep, 1 - delta - keep, 0],
        [0, 1 - delta - keep, keep, delta],
    ]
    found = leakage_bound(channel, epsilon, delta=delta)
    reports = channel @ dominating
    gaps = []
    for value in (0.0, 0.2, 0.5, found.value, 1.0):
        exact = max(
            (x - math.exp(value) * y).clip(0).sum() for x in reports for y in reports
        )
        gaps.append(found.delta_at(value) - exact)
    assert min(gaps) >= 0
    assert gaps[0] < 1e-12  # attained


def test_a_known_least_likelihood_makes_the_bound_pure():
    channel = [[0.9, 0.1], [0.8, 0.2]]
    found = leakage_bound(channel, 1.0, delta=0.01, c_min=0.2)
    raised = leakage_bound(channel, math.log(math.e + 0.05))
    assert (found.value, found.delta) == (pytest.approx(raised.value, rel=1e-12), 0)
    relaxed = sp.ApproximateGRR(2, 1.0, 0.01)
    tight = leakage_bound(channel, 1.0, delta=0.01, c_min=float(relaxed.other))
    assert tight.value >= relaxed.pure_leakage(channel).value
    assert tight.value == pytest.approx(relaxed.pure_leakage(channel).value, rel=1e-9)
    with pytest.raises(sp.InputError, match="c_min must be"):
        leakage_bound(channel, 1.0, delta=0.01, c_min=0.0)


def test_a_mechanism_that_needs_a_delta_raises_without_one():
    for name in ("approximate-grr", "approximate-sue", "gauss"):
        with pytest.raises(
            sp.InputError, match=f"{name!r} needs a delta above 0"
        ) as error:
            leakage_matrix(table_of(), 1.0, mechanism=name)
        assert error.value.parameter == "delta"


def test_a_table_without_a_cell_left_raises():
    pairs = sp.load_pairs("adult").select(["sex", "race"])
    with pytest.raises(DomainError, match="no cell of 1000000000"):
        _ = sp.leakage_matrix(pairs, 1.0, truncate=10**9).values


def test_a_profile_is_a_result():
    how = {"mechanism": "approximate-grr", "delta": 0.01}
    leakage = leakage_matrix("adult", 1.0, **how)["sex", "relationship"]
    profile = leakage.profile()
    assert repr(profile).startswith(
        "LeakageProfile(65 points; shown elsewhere: leakage 0.71"
    )
    assert profile.to_arrow().column_names == ["leakage", "delta"]
    assert profile.leakages[-1] == 2 * leakage.value
    assert (np.diff(profile.deltas) <= 0).all()
    assert "0.71" in profile.chart().to_json()
    with pytest.raises(InputError, match="this leakage has no profile"):
        exact_leakage([[0.5, 0.5], [0.5, 0.5]], [[0.75, 0.25], [0.25, 0.75]]).profile()


def test_leaks_of_pooled_values_have_no_limits():
    pairs = sp.load_pairs("adult").select(["sex", "race", "occupation"])
    pooled = sp.analyse(pairs, 1.0, mechanism="grr", pool=500)
    leaks = pooled.leaks(2)
    assert [leak.interval for leak in leaks] == [None, None]
    assert all(leak.supported <= leak.leakage + 1e-12 for leak in leaks)
    plain = pooled.matrix.strongest(1)[0]
    assert plain.sentence() == (
        f"{plain.source} -> {plain.target}: {odds_above(plain.leakage)}"
    )
    assert plain.to_dict()["upper"] == math.inf


def test_with_a_least_probability_the_bound_of_a_delta_is_pure():
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    relaxed = sp.leakage_matrix(pairs, 1.0, delta=0.01)
    pure = sp.leakage_matrix(pairs, 1.0, delta=0.01, c_min={"sex": 0.2, "*": 0.1})
    assert relaxed.tcpl_delta == pytest.approx(relaxed.deltas.sum())
    assert relaxed.tcpl_delta > 0
    assert not pure.deltas.any()
    assert (pure.values >= relaxed.values).all()
    for source, least in (("sex", 0.2), ("race", 0.1)):
        channel = pure.channel("income", source)
        single = sp.leakage_bound(channel, 1.0, delta=0.01, c_min=least)
        assert pure["income", source].value == pytest.approx(single.value)
    with pytest.raises(sp.InputError, match="has its own probabilities"):
        sp.leakage_matrix(pairs, 1.0, mechanism="grr", c_min=0.1)
