"""A domain read off the certifying records: attacks by rare and by unseen values.

Each population has many rare values, so that a sample shows few of them and those that
it shows are overcounted.  The promise is checked against the population itself, in
closed form: answers are coded as the domain of the result says, also those that it
never saw.
"""

import math

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from real_data import real_data
from seepage.totals.compute_total import DECLARED


def _pooled_population(n, rare, rng):
    """T a fair coin; U one of `rare` values where T is yes, one of ten others where it
    is no.
    """
    t = rng.integers(0, 2, n)
    u = np.where(t == 1, rng.integers(0, rare, n), rare + rng.integers(0, 10, n))
    return pd.DataFrame(
        {"T": np.array(["no", "yes"])[t], "U": np.char.add("v", u.astype(str))}
    )


def _pooled_masses(rare):
    yes = {f"v{i}": 1 / rare for i in range(rare)}
    return yes, {f"v{rare + i}": 0.1 for i in range(10)}


def _unseen_population(n, rare, rng):
    """T a fair coin; where it is yes U is "c" or rare, where it is no "c" or one of
    eight.
    """
    t = rng.integers(0, 2, n)
    z = rng.random(n)
    rares = np.char.add("r", rng.integers(0, rare, n).astype(str))
    eight = np.char.add("w", rng.integers(0, 8, n).astype(str))
    u = np.where(t == 1, np.where(z < 0.5, "c", rares), np.where(z < 0.2, "c", eight))
    return pd.DataFrame({"T": np.array(["no", "yes"])[t], "U": u})


def _unseen_masses(rare):
    yes = {"c": 0.5, **{f"r{i}": 0.5 / rare for i in range(rare)}}
    return yes, {"c": 0.2, **{f"w{i}": 0.1 for i in range(8)}}


def _leakage(masses, attribute, epsilon):
    """The leakage of U about T under GRR, answers coded as the attribute says.

    Without a catch-all only people whose value is in the domain can answer; people
    without an answer are given one by the shares.
    """
    rows = []
    for row in masses:
        coded = dict.fromkeys(attribute.as_coded.values, 0.0)
        for value, mass in row.items():
            answer = value if value in coded else attribute.catch_all
            if answer is not None:
                coded[answer] += mass
        if attribute.shares:
            without = coded.pop("(missing)")
            for value, share in zip(attribute.values, attribute.shares, strict=True):
                coded[value] += without * share / 100
        total = sum(coded.values())
        rows.append([mass / total for mass in coded.values()])
    gain = math.expm1(epsilon)
    return max(
        abs(math.log1p(gain * a) - math.log1p(gain * b))
        for a, b in zip(*rows, strict=True)
    )


ATTACKS = {
    "pooled": (_pooled_population, _pooled_masses),
    "unseen": (_unseen_population, _unseen_masses),
}
CASES = [
    ("pooled", 2_000, 900, {"pool": 2}),
    ("pooled", 20_000, 100, {"pool": 100}),
    ("unseen", 2_000, 900, {}),
    ("unseen", 20_000, 9_000, {"max_values": 20_000}),
]
SAMPLES = [
    pytest.param(2, id="few"),
    pytest.param(40, id="many", marks=pytest.mark.slow),
]
attacks = pytest.mark.parametrize(("kind", "n", "rare", "options"), CASES)
samples = pytest.mark.parametrize("samples", SAMPLES)


def _samples(kind, n, rare, samples):
    population, masses = ATTACKS[kind]
    rows = masses(rare)
    for seed in range(samples):
        table = population(n, rare, np.random.default_rng(seed))
        yield table, lambda attribute, epsilon: _leakage(rows, attribute, epsilon)


@attacks
@samples
def test_total_holds_for_the_population(kind, n, rare, options, samples):
    for table, leakage in _samples(kind, n, rare, samples):
        total = sp.total_leakage(
            table,
            1.0,
            mechanism="grr",
            guarantee="exact",
            scope="population",
            **options,
        )
        truth = 1.0 + leakage(total.domain["U"], 1.0)
        assert truth <= float(total["T"]) + 1e-12


@attacks
@samples
def test_calibrated_budgets_hold_for_the_population(kind, n, rare, options, samples):
    for table, leakage in _samples(kind, n, rare, samples):
        plan = sp.calibrate(
            table,
            {"T": 2.0, "U": 20.0},
            mechanism="grr",
            guarantee="exact",
            scope="population",
            **options,
        )
        truth = plan["T"].epsilon + leakage(plan.domain["U"], plan["U"].epsilon)
        assert truth <= 2.0 + 1e-12


@attacks
@samples
@pytest.mark.parametrize("answers", ["merged", "as-is"])
def test_designs_hold_for_the_population(kind, n, rare, options, samples, answers):
    for table, leakage in _samples(kind, n, rare, samples):
        plan = sp.design(
            table,
            {"T": 0.6, "U": None},
            mechanism="grr",
            shape="never",
            effort=0.05,
            answers=answers,
            **options,
        )
        for form in plan.forms:
            budgets = {name: form.question(name).epsilon for name in form.attributes}
            if "U" in budgets:
                told = leakage(plan.domain["U"], budgets["U"])
                assert budgets.get("T", 0.0) + told <= 0.6 + 1e-12


@attacks
@samples
def test_intervals_hold_for_the_people_that_they_name(kind, n, rare, options, samples):
    for table, leakage in _samples(kind, n, rare, samples):
        matrix = sp.leakage_matrix(table, 1.0, mechanism="grr", **options)
        if "pool" in options:
            with pytest.raises(sp.InputError, match="pool"):
                matrix.interval(0.95)
            continue
        truth = leakage(matrix.domain["U"], 1.0)
        assert truth <= matrix.interval(0.95)["T", "U"].upper + 1e-12


@pytest.mark.parametrize(
    "promised",
    [
        lambda data: sp.design(data, 2.0, effort=0.02, mechanism="grr"),
        lambda data: sp.calibrate(data, 2.0, guarantee="exact", scope="population"),
        lambda data: sp.total_leakage(data, 0.3, guarantee="exact", scope="population"),
    ],
    ids=["design", "calibrate", "total_leakage"],
)
def test_a_domain_read_off_the_records_certifies_nothing(promised):
    coins = np.random.default_rng(0).integers(0, 2, (4_000, 3)).astype(str)
    table = pd.DataFrame(coins, columns=["a", "b", "c"])
    read = sp.Records.from_data(table)
    for records in (read, read.select(["a", "b"])):
        with pytest.raises(
            sp.InputError, match="the domain of these records was read off them"
        ):
            promised(records)
    declared = sp.Records.from_data(table, domain=read.domain)
    for records in (declared, sp.Records(read.domain, read.codes, read.weights)):
        assert any(DECLARED in note for note in promised(records).notes)
    assert not any(DECLARED in note for note in promised(table).notes)


# Published tables as populations ------------------------------------------------------


def _draws(table, n, samples):
    return (table.sample(n, replace=True, random_state=seed) for seed in range(samples))


@real_data
@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
@samples
def test_samples_of_hospital_records_keep_their_promises(samples):
    """Diagnoses have 700 to 800 codes each, most of them rare, and a sample shows
    few.
    """
    columns = ["readmitted", "age", "diag_1", "diag_2", "diag_3"]
    file = sp.dataset("diabetes130").files[0].locate()
    table = pd.read_csv(file, usecols=columns, dtype=str, keep_default_na=False)
    for sample in _draws(table, 10_000, samples):
        for answers in ("merged", "as-is"):
            plan = sp.design(
                sample, 1.0, effort=0.02, answers=answers, max_values=1_000
            )
            assert plan.check(table).within
        for asked in (["readmitted", "diag_1"], ["age", "diag_3"]):
            settings = {"mechanism": "grr", "guarantee": "exact", "max_values": 1_000}
            total = sp.total_leakage(sample[asked], 1.0, scope="population", **settings)
            settings["domain"] = total.domain
            truth = sp.total_leakage(table[asked], 1.0, scope="table", **settings)
            assert (truth.values <= total.values).all()


@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
@pytest.mark.parametrize(
    "samples",
    [pytest.param(2, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)],
)
def test_resamples_with_a_rare_illness_keep_the_limits(samples):
    """Some 2 % have it; the plans ask about it."""
    rng = np.random.default_rng(1)
    people = 20_000
    age = rng.integers(0, 5, people)
    drug = rng.random(people) < 0.1 + 0.03 * age
    hiv = rng.random(people) < 0.02 * (1 + 2 * drug) / 1.3
    sex = rng.integers(0, 2, people)
    columns = {"age": age, "drug": drug, "hiv": hiv, "sex": sex}
    table = pd.DataFrame({name: column.astype(int) for name, column in columns.items()})
    plans = [sp.design(one, 2.0, effort=0.02) for one in _draws(table, people, samples)]
    asked = [
        {name for form in plan.forms for name in form.attributes} for plan in plans
    ]
    assert all("hiv" in names for names in asked)
    assert np.mean([plan.check(table).within for plan in plans]) >= 0.95


@real_data
@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
@pytest.mark.parametrize(
    "samples",
    [pytest.param(2, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)],
)
def test_resamples_of_adult_keep_the_limits_with_answers_chosen(samples):
    table = (
        sp.dataset("adult").read().to_pandas().drop(columns=["fnlwgt", "education-num"])
    )
    drawn = _draws(table, len(table), samples)
    kept = [
        sp.design(one, 2.0, effort=0.02, bins=None).check(table).within for one in drawn
    ]
    assert np.mean(kept) >= 0.95


@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
def test_texts_beside_numbers_are_read_off_the_part_alone(tmp_path):
    """What other records hold beside numbers changes no answer: they certify."""
    rng = np.random.default_rng(12)
    n = 5_000
    income = rng.integers(0, 300, n).astype(str).astype(object)
    income[rng.random(n) < 0.1] = "N"
    table = pd.DataFrame({"income": income, "sex": rng.choice(["F", "M"], n)})
    first = tmp_path / "first.csv"
    table.to_csv(first, index=False)
    plan = sp.design(first, 2.0, effort=0.01, shape="never")
    part = sp.Records.from_data(first, scope="population").origin.fixed.part
    outside = np.flatnonzero(part.priorities(None, 0, n) >= np.uint64(part.threshold))
    for number, row in enumerate(outside[:4].tolist()):
        table.loc[row, "income"] = f"text {number}"
    second = tmp_path / "second.csv"
    table.to_csv(second, index=False)
    again = sp.design(second, 2.0, effort=0.01, shape="never")
    assert again.domain == plan.domain
    answers = plan.domain.as_reported()["income"].values
    assert 4 <= len(answers) <= 6
    assert "N" not in answers
