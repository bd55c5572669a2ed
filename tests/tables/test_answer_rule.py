"""The domain fixed on a part of the records, and the rule of answers."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from command import run
from seepage.designs.design_options import DesignOptions
from seepage.tables.number_scale import number_scale

RNG = np.random.default_rng(5)
N = 30_000
PEOPLE = pd.DataFrame(
    {
        "days": np.where(RNG.random(N) < 0.7, 0, RNG.integers(1, 31, N)),
        "weight": RNG.normal(70, 15, N).round(1),
        "job": RNG.choice(list("abcde"), N, p=[0.5, 0.3, 0.17, 0.02, 0.01]),
        "health": RNG.choice(
            ["bad", "fair", "good", "best"], N, p=[0.02, 0.28, 0.4, 0.3]
        ),
        "sex": RNG.choice(["F", "M"], N),
        "rare": RNG.choice(["no", "yes"], N, p=[0.999, 0.001]),
    }
)
SCALE = {"health": ["bad", "fair", "good", "best"]}


def records(**options):
    return sp.Records.from_data(
        PEOPLE, **{"scope": "population", "answers": "merged"} | options
    )


def test_every_answer_has_people_enough():
    found = records(order=SCALE)
    assert found.origin.fixed.left_out == ("rare",)
    for attribute in found.domain:
        assert 2 <= attribute.answers <= 6
        people = found.marginal(attribute.name)[: attribute.answers]
        assert people.min() >= 0.8 * 2_000
    assert found.domain["days"].values[0] == "0"
    assert found.domain["days"].edges[0] == -math.inf
    assert found.domain["health"].as_reported.values == ("bad to fair", "good", "best")
    assert found.domain["sex"].values == ("F", "M", "(missing)")


def test_intervals_in_words_are_merged_with_their_neighbours():
    rng = np.random.default_rng(6)
    hours = rng.choice(["5", "10+", "7", "<5", "6"], N, p=[0.2, 0.03, 0.37, 0.04, 0.36])
    ages = rng.choice(
        ["65 or more", "under 18", "18-24", "25-64"], N, p=[0.02, 0.08, 0.3, 0.6]
    )
    table = pd.DataFrame({"hours": hours, "age": ages})
    found = sp.Records.from_data(table, scope="population", answers="merged")
    domain = found.domain.as_reported()
    assert domain["hours"].values == ("up to 5", "6", "7 or more")
    assert domain["age"].values == ("under 18", "18-24", "25 or more")
    kinds = sp.check(table)
    assert {kinds[name].kind for name in table} == {"ordered"}
    assert not kinds["hours"].codes


def test_intervals_of_money_are_merged_with_their_neighbours():
    rng = np.random.default_rng(15)
    labels = ["lt $1000", "$1000 to 2999", "$3000 - 9999", "$10000 - 24999"]
    labels.append("$25000 or more")
    table = pd.DataFrame(
        {
            "income": rng.choice(labels, N, p=[0.03, 0.04, 0.06, 0.27, 0.6]),
            "sex": PEOPLE["sex"],
        }
    )
    found = sp.Records.from_data(table, scope="population", answers="merged")
    values = found.domain.as_reported()["income"].values
    assert values == ("up to $9999", "$10000 - 24999", "$25000 or more")


def test_a_common_label_that_joins_the_rare_ones_names_the_answer():
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "origin": rng.choice(
                ["not", "hispanic", "x", "y"], N, p=[0.7, 0.26, 0.03, 0.01]
            ),
            "job": PEOPLE["job"],
            "sex": PEOPLE["sex"],
        }
    )
    found = sp.Records.from_data(table, scope="population", answers="merged")
    domain = found.domain.as_reported()
    assert domain["origin"].values == ("not", "hispanic or other")
    assert domain["job"].values == ("a", "b", "c or other")
    share = found.marginal("origin")[1] / found.records
    assert share == pytest.approx(0.3, abs=0.02)
    plan = sp.design(table, 2.0, effort=0.02, shape="never")
    unseen = pd.DataFrame(
        {"origin": ["hispanic", "z"], "job": ["c", "q"], "sex": ["F", "M"]}
    )
    assert plan.perturb(unseen, rng=1).num_rows == 2


def test_the_part_does_not_certify_and_depends_on_the_seed():
    found = records()
    assert found.records + found.origin.fixed.records == N
    assert 0.9 * N / 20 < found.origin.fixed.records < 1.1 * N / 20
    assert records(rng=1).origin.fixed.part != found.origin.fixed.part
    assert records().codes.tolist() == found.codes.tolist()


def test_a_person_is_in_the_part_with_all_records():
    twice = pd.concat(
        [PEOPLE.assign(id=range(N)), PEOPLE.assign(id=range(N))], ignore_index=True
    )
    found = sp.Records.from_data(twice, person="id", scope="population")
    assert found.records + found.origin.fixed.records == N


def test_a_part_of_all_or_no_records_raises_one_line():
    table = pd.DataFrame({"sex": ["F", "M"]})
    told = set()
    for rng in range(60):
        try:
            found = sp.Records.from_data(table, scope="population", rng=rng)
            assert found.records == found.origin.fixed.records == 1
        except sp.TableError as problem:
            told.add(str(problem))
    assert told == {
        "2 records are too few to fix the answers on a part of them; declare a domain",
        "no record is left beside the part that fixed the answers; declare a domain",
    }


def test_a_declared_domain_needs_no_part():
    domain = records().domain
    again = sp.Records.from_data(PEOPLE, domain=domain, scope="population")
    assert again.origin.fixed is None
    assert again.records == N
    assert sp.Records.from_data(PEOPLE).records == N


@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
def test_values_never_seen_can_report():
    plan = sp.design(PEOPLE, 2.0, effort=0.02, shape="never", order=SCALE)
    row = {"days": -3, "weight": 1e6, "job": "z", "health": "unknown", "sex": "X"}
    assert plan.perturb(pd.DataFrame([row] * 50), rng=1).num_rows == 50
    missing = dict.fromkeys(row)
    assert plan.perturb(pd.DataFrame([row, missing]), rng=1).num_rows == 2
    assert any("job: a, b, c or other (5 values)" in note for note in plan.notes)


def test_pools_of_the_same_counts_certify_nothing():
    pooled = sp.Records.from_data(PEOPLE, columns=["job", "sex"], pool=2_000)
    with pytest.raises(sp.InputError, match="pool"):
        sp.design(pooled, 2.0, effort=0.02)
    with pytest.raises(sp.InputError, match="pool"):
        sp.total_leakage(
            pooled, 1.0, mechanism="grr", guarantee="exact", scope="population"
        )
    assert (
        sp.total_leakage(pooled, 1.0, mechanism="grr", guarantee="exact").kind
        == "certified"
    )


def test_answers_that_cannot_be_merged_raise():
    with pytest.raises(sp.InputError, match="answers are merged"):
        sp.design(sp.Records.from_data(PEOPLE), 2.0, answers="merged")
    with pytest.raises(sp.InputError, match="order of 'health' must be a list of all"):
        sp.design(PEOPLE, 2.0, order={"health": ["good", "best"]})


def test_a_codebook_marks_scales(tmp_path):
    rows = [
        f"health,{value},{value} health,{place}"
        for place, value in enumerate(SCALE["health"])
    ]
    rows = [
        "attribute,value,label,order",
        "health,,How are you?,",
        "sex,F,a woman,",
        *rows[::-1],
    ]
    book = tmp_path / "codebook.csv"
    book.write_text("\n".join(rows))
    assert DesignOptions(limit=2.0, order=book).order == SCALE
    table = tmp_path / "people.csv"
    PEOPLE[["health", "sex"]].to_csv(table, index=False)
    told = run("design", table, "--limit", "2", "--order", book, "--details").stdout
    assert "health: bad to fair, good, best (4 values)" in told
    book.write_text(book.read_text().replace(",3\n", ",last\n"))
    with pytest.raises(sp.InputError, match=r"order must be a number, got 'last'"):
        sp.design(PEOPLE, 2.0, order=str(book))
    book.write_text("attribute,value,label\nsex,F,a woman\n")
    with pytest.raises(sp.InputError, match="numbers in its column order"):
        sp.design(PEOPLE, 2.0, order=str(book))


def test_a_scan_that_begins_again_counts_no_value_twice(monkeypatch):
    """Numbers that need bins only late make the scan of the part begin again."""
    monkeypatch.setattr("seepage.tables.sources.BATCH_ROWS", 500)
    word = np.repeat(["a", "b"], [5_000, 7_000])
    number = np.concatenate([np.ones(5_000), np.arange(7_000)])
    table = pd.DataFrame({"word": word, "number": number})
    found = sp.Records.from_data(table, scope="population", answers="as-is")
    assert found.domain["word"].catch_all == "b"


def test_answers_beside_a_scale_of_numbers_stand_alone():
    """Who does not drive is on no scale of days; who drove 3-5 days is "1 to 30"."""
    rng = np.random.default_rng(7)
    values = ["0", "1-2", "3-5", "30", "did not drive"]
    days = rng.choice(values, N, p=[0.41, 0.05, 0.05, 0.05, 0.44])
    hours = ["<1", "1", "2", "5+", "do not watch"]
    watched = rng.choice(hours, N, p=[0.03, 0.4, 0.3, 0.03, 0.24])
    table = pd.DataFrame({"days": days, "watched": watched})
    found = sp.Records.from_data(table, scope="population", answers="merged")
    domain = found.domain.as_reported()
    assert domain["days"].values == ("0", "1 to 30", "did not drive")
    assert dict(domain["days"].merged)["3-5"] == "1 to 30"
    assert domain["watched"].values == ("up to 1", "2 or more", "do not watch")


@pytest.mark.parametrize("scope", ["table", "population"])
@pytest.mark.parametrize("is_file", [True, False])
def test_what_means_missing_beside_few_numbers_is_no_answer(tmp_path, scope, is_file):
    """Numbers with a single text were labels: of 45, one was asked and "(other)"."""
    rng = np.random.default_rng(0)
    kids = rng.integers(0, 45, 5_000).astype(str).astype(object)
    refusing = rng.random(5_000) < 0.05
    kids[refusing] = "refused"
    table = pd.DataFrame({"kids": kids, "sex": rng.choice(["F", "M"], 5_000)})
    data = table
    if is_file:
        data = tmp_path / "people.csv"
        table.to_csv(data, index=False)
    for may_decline in (True, False):
        options = {"scope": scope, "answers": "merged", "may_decline": may_decline}
        records = sp.Records.from_data(data, **options)
        attribute = records.domain["kids"]
        answers = [value for value in attribute.values if value != "(missing)"]
        assert 4 <= len(answers) <= 6
        assert answers[0].startswith("0 to ")
        assert answers[-1].endswith(" to 44")
        assert attribute.catch_all == "(missing)"
        without = records.codes[:, 0] == attribute.code("(missing)")
        if scope == "table":
            assert records.weights[without].sum() == refusing.sum()


def test_numbered_texts_are_no_scale():
    """Nobody divorced is between "2. Married" and "5. Separated"."""
    rng = np.random.default_rng(8)
    values = ["1. Never", "2. Married", "3. Widowed", "4. Divorced", "5. Separated"]
    married = rng.choice(values, N, p=[0.2, 0.6, 0.02, 0.15, 0.03])
    table = pd.DataFrame({"married": married, "sex": rng.integers(0, 2, N)})
    found = sp.Records.from_data(table, scope="population", answers="merged")
    answers = found.domain.as_reported()["married"].values
    assert answers == ("1. Never", "2. Married", "4. Divorced or other")


def test_a_label_that_means_no_answer_is_merged_with_none():
    """Neither "not known or other" nor "(other)" for yes and not known together."""
    rng = np.random.default_rng(14)
    table = pd.DataFrame(
        {
            "stroke": rng.choice(["n", "nk", "y"], N, p=[0.8, 0.15, 0.05]),
            "angina": rng.choice(["n", "unknown", "y"], N, p=[0.95, 0.015, 0.035]),
            "job": rng.choice(
                ["a", "b", "c", "d", "Refused"], N, p=[0.5, 0.3, 0.11, 0.05, 0.04]
            ),
            "sex": PEOPLE["sex"],
        }
    )
    found = sp.Records.from_data(table, scope="population", answers="merged")
    domain = found.domain.as_reported()
    assert domain["stroke"].values == ("n", "y", "nk")
    assert domain["angina"].values == ("n", "y")
    assert domain["job"].values == ("a", "b", "c or other")
    people = (table["job"] == "Refused").sum()
    assert found.marginal("job")[-1] == pytest.approx(people, rel=0.1)


def numbers_in(label):
    return [
        float(text.replace(",", "")) for text in re.findall(r"[0-9][0-9,.]*", label)
    ]


def implies(label, value):
    """Return whether a person with a value recognises herself in an answer."""
    if label == value or value in label.split(" or ") or label.endswith("other"):
        return True
    if label == "(other)":
        return True
    ends = label.split(" to ")
    health = SCALE["health"]
    if len(ends) == 2 and value in health:
        low, high = map(health.index, ends)
        return low <= health.index(value) <= high
    numbers = numbers_in(value)
    bounds = numbers_in(label)
    if not numbers or not bounds:
        return False
    if label.endswith("or more"):
        return min(numbers) >= bounds[0]
    if label.startswith("up to"):
        return max(numbers) <= bounds[0]
    return bounds[0] <= min(numbers) <= max(numbers) <= bounds[1]


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_names_or_implies_every_value_that_is_merged_into_it(seed):
    rng = np.random.default_rng(seed)
    scales = {
        "hours": ["<5", "5", "6", "7", "8", "9", "10+"],
        "age": ["under 18", "18-24", "25-44", "45-64", "65 or more"],
        "income": ["lt $1000", "$1000 to 2999", "$3000 - 9999", "$10000 or more"],
        "days": ["0", "1-2", "3-5", "6-9", "10-19", "did not drive"],
        "health": ["bad", "fair", "good", "best"],
        "race": ["White", "Black", "Asian", "Native", "Pacific", "unknown"],
        "stroke": ["n", "y", "nk"],
        "visits": [str(number) for number in range(15)],
    }
    columns = {}
    for name, values in scales.items():
        shares = rng.dirichlet(np.full(len(values), 0.5))
        columns[name] = rng.choice(values, 10_000, p=shares)
    columns["sex"] = rng.choice(["F", "M"], 10_000)
    found = sp.Records.from_data(
        pd.DataFrame(columns), scope="population", answers="merged", order=SCALE
    )
    merged = 0
    for attribute in found.domain:
        for value, label in attribute.merged:
            if value != "*" and label != "(missing)":
                merged += 1
                assert implies(label, value), (attribute.name, value, label)
                assert value not in ("unknown", "nk")
    assert merged


@pytest.mark.parametrize(
    ("name", "low", "high", "first", "last"),
    [
        ("earliest_credit_line", 1963, 2016, "or earlier", "or later"),
        ("birth_year", 1790, 1890, "or earlier", "or later"),
        ("visits", 0, 60, "up to", "or more"),
        ("height_mm", 1400, 2050, "up to", "or more"),
        ("years_of_school", 0, 25, "up to", "or more"),
    ],
)
def test_years_end_in_later(name, low, high, first, last):
    """Nobody was born in 1990 or more."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {name: rng.integers(low, high, 5_000), "ill": rng.integers(0, 2, 5_000)}
    )
    values = sp.design(table, 2.0, effort=0.02)[name].values
    assert first in values[0]
    assert last in values[-1]
    assert "or " not in "".join(values[1:-1])


@pytest.mark.parametrize(
    "labels",
    [
        ["1959 or earlier", "1960 to 1979", "1980 or later"],
        ["2 or fewer", "3 to 5", "6 or more"],
    ],
)
def test_intervals_in_words_are_a_scale(labels):
    assert number_scale(labels[::-1]) == labels
