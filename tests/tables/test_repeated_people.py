"""People with several records: found, named, and no false alarm on ordinary tables."""

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from command import run

N = 3_000


def generator(seed):
    return np.random.default_rng(seed)


def panel(people=900, seed=3, **columns):
    """Return records of people who occur several times, with a number that repeats."""
    rng = generator(seed)
    who = rng.integers(0, people, N)
    numbers = rng.choice(np.arange(100_000, 999_999), people, replace=False)
    sex = rng.choice(["f", "m"], people)
    site = rng.choice(list("abcd"), people)
    table = {
        "zper": numbers[who],
        "sex": sex[who],
        "site": site[who],
        "visits": rng.poisson(2, N),
    }
    return pd.DataFrame(table | columns)


def test_the_number_of_a_person_is_found_by_what_never_changes_within_it():
    found = sp.check(panel())
    (person,) = found.people
    assert person.name == "zper"
    assert person.constant == ("sex", "site")
    assert found["zper"].kind == "identifier"
    assert "zper" in found.repeated
    assert "never change within one" in found.text()


def test_the_population_needs_a_person_or_the_word_that_there_is_none():
    table = panel()
    for function in (sp.design, sp.calibrate):
        with pytest.raises(sp.TableError, match="person='zper'") as raised:
            function(table, 2.0)
        assert "person='none'" in str(raised.value)
    with pytest.raises(sp.TableError, match="zper"):
        sp.design(table, 2.0, drop=["zper"])
    with pytest.raises(sp.TableError, match="zper"):
        sp.design(table, 2.0, columns=["sex", "visits"])
    named = sp.design(table, 2.0, person="zper", effort=0.1)  # warns of nothing
    assert named.person == "zper"
    assert named.provenance.records < 900
    with pytest.warns(sp.DataWarning, match="zper") as warned:
        rows = sp.design(table, 2.0, person="none", effort=0.1)
    assert not any("several records" in str(warning.message) for warning in warned)
    assert rows.person is None
    assert rows.provenance.records > 2_000
    assert "zper" not in rows.domain.names


def test_limits_for_the_table_ask_for_no_person():
    with pytest.warns(sp.DataWarning, match="several records of a person"):
        plan = sp.design(panel(), 2.0, scope="table", effort=0.1)
    assert plan.scope == "table"


def test_the_command_names_its_options(tmp_path):
    path = tmp_path / "visits.csv"
    panel().to_csv(path, index=False)
    result = run("design", str(path), "--limit", "2")
    assert result.returncode == 2
    assert "--person zper" in result.stderr
    assert "--person none" in result.stderr


def test_a_panel_is_found_where_nothing_is_constant():
    rng = generator(5)
    people = np.repeat(rng.permutation(np.arange(1, 10_000))[:300], 10)
    years = np.tile(np.arange(1990, 2000), 300)
    table = pd.DataFrame(
        {
            "number": people,
            "year": years,
            "hours": rng.integers(0, 60, N),
            "kids": rng.integers(0, 4, N),
        }
    )
    (person,) = sp.check(table).people
    assert person.name == "number"
    assert person.once_per == "year"
    assert "none of them twice in one year" in person.reason


def test_a_region_is_only_warned_of():
    rng = generator(6)
    regions = rng.integers(0, 100, N)
    table = pd.DataFrame(
        {
            "area": regions + 5_000,
            "density": rng.integers(0, 9, 100)[regions],
            "coast": rng.choice(["yes", "no"], 100)[regions],
            "sex": rng.choice(["f", "m"], N),
            "age": rng.integers(18, 90, N),
        }
    )
    found = sp.check(table)
    assert not found.people
    assert [region.name for region in found.regions] == ["area"]
    with pytest.warns(sp.DataWarning, match="no independent sample"):
        sp.design(table, 2.0, effort=0.05)


def incomes(seed):
    rng = generator(seed)
    income = np.round(np.exp(rng.normal(10, 0.7, N)), -1).astype(int)
    return pd.DataFrame(
        {
            "income": income,
            "tax": income // 3,
            "log_income": np.log(income + 1),
            "bracket": np.digitize(income, [10_000, 20_000, 40_000]),
            "sex": rng.choice(["f", "m"], N),
            "age": rng.integers(18, 90, N),
        }
    )


def jobs(seed):
    rng = generator(seed)
    job = rng.integers(0, 200, N)
    return pd.DataFrame(
        {
            "occupation": job * 10 + 5,
            "prestige": rng.integers(20, 80, 200)[job],
            "sector": rng.choice(list("abcdef"), 200)[job],
            "sex": rng.choice(["f", "m"], N),
            "age": rng.integers(18, 90, N),
            "hours": rng.integers(0, 60, N),
        }
    )


def scores(seed):
    rng = generator(seed)
    ability = rng.normal(size=N)
    table = {
        f"score{k}": np.round(500 + 100 * ability + rng.normal(0, 60, N)).astype(int)
        for k in range(4)
    }
    return pd.DataFrame(table | {"passed": ability > 0, "sex": rng.integers(0, 2, N)})


def pooled_years(seed):
    rng = generator(seed)
    return pd.DataFrame(
        {
            "year": rng.integers(1980, 2010, N),
            "weight": rng.integers(40, 120, N),
            "price": rng.integers(100, 3_000, N),
            "vote": rng.choice(["a", "b", "none"], N),
            "sex": rng.choice(["f", "m"], N),
        }
    )


def numbered(seed):
    rng = generator(seed)
    return pd.DataFrame(
        {
            "id": rng.permutation(N) + 1,
            "zip": rng.integers(10_000, 10_400, N),
            "sex": rng.choice(["f", "m"], N),
            "answers": rng.integers(0, 100, N),
        }
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ordinary", [incomes, jobs, scores, pooled_years, numbered])
def test_no_false_alarm_on_ordinary_tables(ordinary, seed):
    assert not sp.check(ordinary(seed)).people


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("year", range(1990, 2010)),
        ("wave", range(1, 6)),
        ("survey_year", [2018, 2019]),
        ("imonth", range(1, 13)),
        ("issue_month", ["Jan-2018", "Feb-2018", "Mar-2018"]),
        ("quarter", ["2018Q1", "2018Q2", "2018Q3"]),
        ("qrt1", [0, 1]),
        ("year2008", [0, 1]),
    ],
)
def test_times_of_the_collection_are_no_questions_unless_named(name, values):
    rng = generator(8)
    column = rng.choice(np.array(list(values)), N)
    table = pd.DataFrame({name: column, "sex": rng.choice(["f", "m"], N)})
    found = sp.check(table)
    assert found[name].kind in ("time", "date")
    assert found.left_out == (name,)
    assert sp.check(table, keep=[name]).left_out == ()


def test_what_follows_from_a_time_is_no_question_unless_named():
    rng = generator(12)
    year = rng.integers(2000, 2008, N)
    table = pd.DataFrame(
        {
            "year": year,
            "y04": (year == 2004).astype(int),
            "prices": np.array([1.0, 1.1, 1.1, 1.3, 1.2, 1.4, 1.5, 1.7])[year - 2000],
            "asked_once": np.where(year == 2004, rng.integers(0, 2, N), -1),
            "sex": rng.choice(["f", "m"], N),
        }
    )
    found = sp.check(table)
    assert found.left_out == ("year", "y04", "prices")
    assert found["y04"].kind == "time"
    assert found["y04"].reason == "follows from year: when a record was collected"
    assert sp.check(table, keep=["prices"]).left_out == ("year", "y04")


def test_what_follows_from_a_date_of_birth_is_an_answer():
    rng = generator(13)
    months = np.array([f"{m:02d}/1980" for m in range(1, 13)])
    table = pd.DataFrame(
        {"born": pd.to_datetime(rng.choice(months, N), format="%m/%Y")}
    )
    table["quarter_of_birth"] = table["born"].dt.quarter
    assert sp.check(table)["quarter_of_birth"].used


@pytest.mark.parametrize("name", ["month6", "year_5", "wave1", "quarter12"])
def test_outcomes_at_a_time_are_answers(name):
    """As abstinent at month 6, or alive at year 5."""
    table = pd.DataFrame({name: [0, 1] * (N // 2), "b": [0, 1, 1, 1] * (N // 4)})
    assert sp.check(table)[name].used


@pytest.mark.parametrize("name", ["birth_year", "years", "educ_years", "age"])
def test_years_of_people_are_answers(name):
    table = pd.DataFrame(
        {name: generator(9).integers(1, 30, N), "b": [0, 1] * (N // 2)}
    )
    assert sp.check(table)[name].used


def test_people_in_the_order_of_their_sex_are_found():
    """A named identifier needs no column that changes from one value to the next."""
    people = np.repeat(np.arange(1_000), 3)
    sex = np.where(people < 480, "f", "m")
    answer = generator(10).integers(0, 2, len(people))
    found = sp.check(pd.DataFrame({"id": people, "sex": sex, "answer": answer}))
    assert [person.name for person in found.people] == ["id"]


def test_people_numbered_anew_for_each_question_are_found():
    """Such as the same 316 people, in order, for each of 24 questions."""
    rng = generator(11)
    people = np.tile(np.arange(1, 317), 24)
    sex = rng.choice(["f", "m"], 316)[people - 1]
    table = pd.DataFrame(
        {"id": people, "sex": sex, "said": rng.integers(0, 3, len(sex))}
    )
    assert [person.name for person in sp.check(table).people] == ["id"]


def waves(seed, *, same_people):
    """Return records numbered from 1 in each year, some questions asked in some years
    only; of the same people each year, or of others.
    """
    rng = generator(seed)
    years = np.arange(2000, 2012)
    sizes = np.full(12, 300) if same_people else rng.integers(200, 400, 12)
    number = np.concatenate([np.arange(1, size + 1) for size in sizes])
    year = np.repeat(years, sizes)
    n = len(number)
    person = number if same_people else np.arange(n)
    habit = rng.random(n)[person]
    kids = (rng.random(n) < 0.1 + 0.8 * habit).astype(int)
    income = np.round(rng.normal(20_000 + 30_000 * habit, 5_000)).astype(int)
    opinion = np.where(year < 2005, np.nan, (rng.random(n) < 0.5) * 1.0)
    return pd.DataFrame(
        {
            "id": number,
            "year": year,
            "kids": kids,
            "opinion": opinion,
            "income": income,
        }
    )


@pytest.mark.parametrize("seed", range(4))
def test_records_numbered_anew_in_each_year_are_of_other_people(seed):
    assert not sp.check(waves(seed, same_people=False)).people


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("question", ["kids", "income"])
def test_people_numbered_from_one_in_each_year_are_found(seed, question):
    table = waves(seed, same_people=True)[["id", "year", "opinion", question]]
    (person,) = sp.check(table).people
    assert person.name == "id"


def days_of_years():
    """Births of each day, which never has two records in one year."""
    years, days = np.divmod(np.arange(15 * 365), 365)
    rng = generator(21)
    births = rng.poisson(rng.integers(8_000, 10_000, 365)[days])
    return pd.DataFrame(
        {"year": 1990 + years, "day_of_year": days + 1, "births": births}
    )


@pytest.mark.parametrize("name", ["day_of_year", "week.number", "hour", "wk1", "rank"])
def test_moments_are_no_people(name):
    table = days_of_years().rename(columns={"day_of_year": name})
    assert not sp.check(table).people


def test_the_number_of_a_day_is_a_person_under_the_name_of_one():
    table = days_of_years().rename(columns={"day_of_year": "person_id"})
    assert [person.name for person in sp.check(table).people] == ["person_id"]


def test_models_are_only_warned_of():
    rng = generator(22)
    models = rng.integers(0, 300, N)
    table = pd.DataFrame(
        {
            "codename": np.array([f"Bridge {k}" for k in range(300)])[models],
            "maker": rng.choice(["a", "b", "c"], 300)[models],
            "cores": rng.choice([2, 4, 8], 300)[models],
            "price": rng.integers(90, 900, N),
        }
    )
    found = sp.check(table)
    assert not found.people
    assert [region.name for region in found.regions] == ["codename"]
