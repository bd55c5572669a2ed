"""What the columns of a table are: real tables, planted columns, and the text for 300
columns.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seepage as sp
from command import run
from real_data import real_data
from seepage.datasets.catalogue import DATASETS, TEXT_OF, read_files
from seepage.datasets.published_file import download_folder
from seepage.tables.check import MAX_RECORDS
from seepage.tables.profile import profile_of
from seepage.tables.value_shares import value_shares

ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation "
    "relationship"
)
ADULT += " race sex capital-gain capital-loss hours-per-week native-country income"


def raw(path):
    found = download_folder() / path
    return found if found.exists() else found.with_name(found.name + ".gz")


def no_answers(found):
    return {column.name: column.kind for column in found if not column.used}


@real_data
@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        (
            "adult/adult.data",
            {"column_names": ADULT.split()},
            {"fnlwgt": "weight", "education-num": "same as another"},
        ),
        ("cardio/cardio_train.csv", {}, {"id": "running number"}),
        (
            "diabetes130/diabetic_data.csv",
            {},
            {
                "encounter_id": "identifier",
                "patient_nbr": "identifier",
                "examide": "constant",
                "citoglipton": "constant",
            },
        ),
        (
            "diabetes130/diabetic_data.csv",
            {"person": "patient_nbr"},
            {
                "encounter_id": "identifier",
                "examide": "constant",
                "citoglipton": "constant",
            },
        ),
        (
            "nist_acs_national2019/national2019.csv",
            {},
            {"PWGTP": "weight", "WGTP": "weight", "DENSITY": "same as another"},
        ),
        ("lfw/lfw_binary_attributes_top2of3.csv", {}, {"image": "identifier"}),
        ("nigeria/nigeria.csv", {}, {}),
    ],
)
def test_real_files_have_these_columns_that_are_no_answers_and_no_others(
    path, options, expected
):
    assert no_answers(sp.check(raw(path), **options)) == expected


@real_data
@pytest.mark.parametrize(
    ("name", "csv", "expected"),
    [
        (
            "lfw-scores",
            {"parse": {"delimiter": "\t", "quote_char": False}},
            {"person": "identifier", "imagenum": "running number"},
        ),
        ("celeba", {"parse": {"delimiter": " "}}, {"image": "identifier"}),
    ],
)
def test_photographs_are_named_by_image_and_person(name, csv, expected):
    table = read_files(DATASETS[name].files, TEXT_OF[name], **csv)[:20_000]
    assert no_answers(sp.check(table)) == expected


@real_data
def test_nist_kinds_skips_and_texts_beside_numbers():
    found = sp.check(raw("nist_acs_national2019/national2019.csv"))
    assert {found[name].kind for name in ("POVPIP", "PINCP", "AGEP")} == {"number"}
    assert {found[name].kind for name in ("INDP", "PUMA")} == {"code"}
    assert found["PINCP"].beside_numbers == ("N",)
    assert found["PINCP"].questions == ()
    assert found["INDP_CAT"].follows == ("INDP",)
    assert found["NOC"].skipped == "HOUSING_TYPE is 3 or 2"
    assert not any(column.codes == ("9",) for column in found)


def test_a_dataset_is_used_as_its_catalogue_says():
    assert sp.check("survey").left_out == ()


def test_counts_are_not_checked(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path))
    for counted in ("adult", sp.load_pairs("adult")):
        with pytest.raises(
            sp.SeepageError, match="counted already; give the table itself"
        ):
            sp.check(counted)


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    answer = rng.choice(["no", "yes"], n, p=[0.7, 0.3])
    degree = rng.integers(0, 5, n)
    words = np.array(list("abcdefgh"))
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    return pd.DataFrame(
        {
            "respondent": rng.permutation(n) * 7 + 100_000,
            "row": np.arange(n) + 1,
            "email": [f"{value:x}@example.org" for value in rng.integers(0, 2**40, n)],
            "remark": [" ".join(rng.choice(words, 9)) for _ in range(n)],
            "seen": dates.strftime("%d.%m.%Y"),
            "visit": dates,
            "weight": rng.normal(70, 12, n).round(1),
            "final_wt": rng.integers(100, 90_000, n),
            "country": "here",
            "nothing": None,
            "postcode": rng.choice([f"{c:05d}" for c in range(200)], n),
            "smoker": answer,
            "packs": np.where(
                answer == "yes", rng.integers(1, 4, n).astype(float), np.nan
            ),
            "degree": degree,
            "schooling": np.array(["none", "some", "school", "college", "more"])[
                degree
            ],
            "graduate": degree >= 3,
            "health": rng.choice(
                [1, 2, 3, 4, 5, 7, 9], n, p=[0.2] * 4 + [0.1, 0.05, 0.05]
            ),
            "days": rng.choice([*range(31), 77, 99], n),
            "income": rng.choice([*range(1, 9), -9], n),
            "children": rng.choice(8, n),
            "pounds": rng.normal(160, 30, n).round(),
            "score": rng.normal(size=n),
            "year": rng.integers(2010, 2020, n),
        }
    )


def test_planted_columns_are_found_and_answers_are_left_alone():
    found = sp.check(people())
    assert no_answers(found) == {
        "respondent": "identifier",
        "row": "running number",
        "email": "identifier",
        "remark": "free text",
        "seen": "date",
        "visit": "date",
        "final_wt": "weight",
        "year": "time",
        "country": "constant",
        "nothing": "constant",
        "degree": "same as another",
    }
    assert found["postcode"].kind == "code"
    assert found["schooling"].kind == "answer"
    assert found["degree"].kind == "same as another"
    assert found["score"].kind == "number"
    assert {name: found[name].codes for name in found.used if found[name].codes} == {
        "health": ("7", "9"),
        "days": ("77", "99"),
        "income": ("-9",),
    }
    assert found["packs"].skipped == "smoker is no"
    assert found["graduate"].follows == ("degree", "schooling")
    assert found["children"].codes == ()


def test_a_mean_of_one_tells_a_sampling_weight_from_a_body_weight():
    table = people()
    assert sp.check(table)["weight"].kind == "number"
    table["weight"] /= table["weight"].mean()
    assert sp.check(table)["weight"].kind == "weight"


def test_fractions_of_large_numbers_tell_a_sampling_weight_from_a_body_weight():
    rng = np.random.default_rng(0)
    table = people()
    table["weight"] = rng.lognormal(4.5, 1.8, len(table)).round(
        3
    )  # as those of NASS CDS
    assert sp.check(table)["weight"].kind == "weight"
    grams = rng.normal(3400, 500, len(table)).round()
    pounds = np.append(rng.normal(180, 40, len(table) - 300).round(1), [9999.0] * 300)
    for body in (grams, pounds):
        table["weight"] = body
        assert sp.check(table)["weight"].kind == "number"


@pytest.mark.parametrize("form", ["polars", "arrow", "csv", "parquet"])
def test_every_form_of_a_table_has_the_same_kinds(form, tmp_path):
    table = people(500).drop(columns="nothing")
    expected = {column.name: column.kind for column in sp.check(table)}
    if form == "csv":
        data = tmp_path / "people.csv"
        table.to_csv(data, index=False)
        expected["postcode"] = "code"
    elif form == "parquet":
        data = tmp_path / "people.parquet"
        table.to_parquet(data)
    else:
        data = (
            pl.from_pandas(table) if form == "polars" else pa.Table.from_pandas(table)
        )
    assert {column.name: column.kind for column in sp.check(data)} == expected


def test_what_options_name_is_used_whatever_it_is():
    table = people()
    named = ["row", "remark", "smoker"]
    found = sp.check(table, columns=named)
    assert found.used == tuple(named)
    assert [column.kind for column in found] == [
        "running number",
        "free text",
        "answer",
    ]
    assert "final_wt" in sp.check(table, bins={"final_wt": 4, "*": "quantile:10"}).used
    assert "respondent" not in [
        column.name for column in sp.check(table, person="respondent")
    ]
    assert "row" not in [column.name for column in sp.check(table, drop=["row"])]


def test_records_of_one_person_are_a_question():
    table = people(500)
    table["respondent"] = np.arange(500) // 2 * 7 % 1009
    found = sp.check(table)
    assert found["respondent"].kind == "identifier"
    assert "needs one of each (person)\n  respondent: " in found.text()
    with pytest.warns(sp.DataWarning, match=r"one of each \(person='respondent'\)"):
        sp.analyse(table, epsilon=1.0)
    assert "of a person" not in sp.check(table, person="respondent").text()
    table["respondent"] = np.arange(500) * 7 % 1009
    assert not sp.check(table).repeated


def test_markers_of_a_column_answer_the_question():
    table = people()
    found = sp.check(table, missing_markers={"health": ["7", "9"]})
    assert found["health"].codes == ()
    assert found["health"].missing == pytest.approx(table["health"].isin([7, 9]).mean())
    assert found["days"].codes == ("77", "99")
    counted = sp.count_pairs(
        table[["health", "days"]], missing_markers={"health": ["7", "9"]}
    )
    assert counted.domain["health"].values == ("1", "2", "3", "4", "5", "(missing)")
    assert "77" in counted.domain["days"].values
    with pytest.raises(
        sp.TableError, match="there is no column 'helth'; did you mean 'health'"
    ):
        sp.check(table, missing_markers={"helth": ["7"]})


def test_columns_of_which_some_records_are_read_are_not_constant_or_the_same(
    tmp_path,
):
    n = MAX_RECORDS + 5000
    first = np.random.default_rng(1).integers(0, 4, n)
    late = np.arange(n) == n - 1
    columns = {
        "a": first,
        "almost": np.where(late, 50, first * 10),
        "nearly": np.where(late, 2, 1),
    }
    table = pa.table(columns | {"row": np.arange(n)})
    pq.write_table(table, tmp_path / "people.parquet")
    for data in (table, tmp_path / "people.parquet"):
        found = sp.check(data)
        assert (found.records, found.whole) == (MAX_RECORDS, False)
        assert no_answers(found) == {"row": "running number"}
        assert found["almost"].same == "a"
    assert no_answers(sp.check(table[:MAX_RECORDS])) == {
        "row": "running number",
        "nearly": "constant",
        "almost": "same as another",
    }


def test_few_records_tell_nothing_and_answers_stay():
    table = pa.table(
        {"sex": ["F", "M", "F"], "age": [30, 41, 52], "job": ["a", "b", "c"]}
    )
    assert sp.check(table).left_out == ()


def test_the_result_is_a_table_that_names_index():
    found = sp.check(people())
    assert len(found) == len(list(found)) == 23
    assert repr(found) == (
        "DataCheck(3,000 records, 23 columns; left out: respondent, row, email and 8 "
        "more)"
    )
    frame = found.to_pandas().set_index("column")
    assert frame.loc["health", "codes"] == "7, 9"
    assert frame.loc["packs", "missing"] == pytest.approx(
        (people()["smoker"] == "no").mean()
    )
    assert found._repr_html_().startswith("<pre>the table: 3,000 records")
    with pytest.raises(sp.InputError, match="there is no column 'sex'"):
        found["sex"]


def test_the_text_of_300_columns_fits_a_terminal(tmp_path):
    rng = np.random.default_rng(3)
    wide = {
        f"a rather long question number {i}": rng.integers(0, 6, 400)
        for i in range(290)
    }
    wide |= {f"id{i} id": rng.permutation(400) for i in range(5)}
    wide |= {f"q{i}": rng.choice([1, 2, 9], 400) for i in range(5)}
    pq.write_table(pa.table(wide), tmp_path / "wide.parquet")
    done = run("check", "wide.parquet", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0] == "wide.parquet: 400 records, 300 columns, 5 left out"
    assert len(lines) < 20
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("more") for line in lines)


def test_the_command_names_its_own_options(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    done = run("check", "people.csv", "--missing-marker", "health=7", cwd=tmp_path)
    assert "not analysed unless named (--keep)" in done.stdout
    assert "  health: '9'" in done.stdout
    assert "(--missing-marker)" in done.stdout
    assert "  packs: missing exactly where smoker is no" in done.stdout
    made = run("check", "people.csv", "--format", "json", cwd=tmp_path)
    columns = {column["name"]: column for column in json.loads(made.stdout)["columns"]}
    assert columns["health"]["codes"] == ["7", "9"]
    assert not columns["row"]["used"]
    run("check", "people.csv", "--format", "csv", "-o", "columns.csv", cwd=tmp_path)
    assert (
        Path(tmp_path, "columns.csv")
        .read_text()
        .startswith("column,kind,reason,used,values")
    )


def test_columns_that_cannot_be_read_raise_one_line():
    with pytest.raises(
        sp.TableError, match="column 'x' must hold text, numbers, dates"
    ):
        sp.check(pa.table({"x": [[1], [2]]}))
    with pytest.raises(sp.TableError, match="the table has no records"):
        sp.check(pa.table({"x": pa.array([], pa.int64())}))


# At the start of `analyse`, `design` and `calibrate` ----------------------------------


def small(n=2000):
    table = people(n)
    return table[
        ["row", "remark", "final_wt", "smoker", "degree", "schooling", "health"]
    ]


def test_analyse_leaves_out_what_is_no_answer_and_says_so_once():
    with pytest.warns(sp.DataWarning) as seen:
        found = sp.analyse(small(), 1.0)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert str(seen[0].message) == (
        "left out, no answers: row (running number), remark (free text), final_wt "
        "(weight); to use them (keep); may mean missing: '7', '9' of health "
        "(missing_markers)"
    )
    assert found.matrix.domain.names == ("smoker", "degree", "schooling", "health")
    assert "; ".join(found.notes) == str(seen[0].message)


def test_notes_of_the_check_are_saved(tmp_path):
    with pytest.warns(sp.DataWarning):
        found = sp.analyse(small(), 1.0)
    found.save(tmp_path / "found.json")
    assert sp.Analysis.load(tmp_path / "found.json").notes == found.notes


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({"columns": ["row", "smoker"], "bins": "width:2"}, ("row", "smoker")),
        (
            {
                "epsilon": {"final_wt": 0.5, "*": 1.0},
                "missing_markers": {"health": ["7", "9"]},
            },
            None,
        ),
        ({"bins": {"final_wt": 3}, "missing_markers": {"health": ["7", "9"]}}, None),
    ],
)
def test_analyse_uses_what_options_name(options, more):
    data = small()[["row", "smoker", "final_wt", "health"]].drop(
        columns=[] if more else "row"
    )
    found = sp.analyse(data, **options)  # without a warning
    assert found.matrix.domain.names == (more or ("smoker", "final_wt", "health"))
    assert found.notes == ()


def test_a_design_asks_what_it_is_wanted_to_estimate():
    table = small(400)[["degree", "schooling", "smoker"]]
    assert sp.design(
        table, 1.0, want=["mean degree"], effort=0.02
    ).domain.names == tuple(table)
    assert (
        sp.design(table, 1.0, want=["smoker x degree"], effort=0.02).notes[0][:8]
        != "left out"
    )


@pytest.mark.parametrize("function", [sp.design, sp.calibrate])
def test_a_collection_asks_answers_and_the_same_answer_once(function):
    few = {"effort": 0.02} if "design" in function.__name__ else {"guarantee": "worst"}
    with pytest.warns(sp.DataWarning, match="degree .same as schooling.") as seen:
        made = function(small(400), 1.0, **few)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert made.domain.names == ("smoker", "schooling", "health")
    assert any(note.startswith("left out, no answers: row") for note in made.notes)


def test_texts_beside_numbers_are_missing_in_their_column_alone(tmp_path):
    rng = np.random.default_rng(0)
    income = np.where(
        rng.random(2000) < 0.2, "N", rng.integers(0, 3000, 2000).astype(str)
    )
    table = pd.DataFrame({"income": income, "owner": rng.choice(["Y", "N"], 2000)})
    table.to_csv(tmp_path / "people.csv", index=False)
    with pytest.warns(
        sp.DataWarning, match="texts beside numbers, read as missing: income"
    ):
        found = sp.analyse(tmp_path / "people.csv", 1.0)
    assert found.matrix.domain["owner"].values == ("N", "Y")
    assert found.matrix.domain["income"].values[-1] == "(missing)"
    assert len(found.matrix.domain["income"].edges) == 11


def test_counts_datasets_and_domains_are_used_as_they_are():
    assert sp.analyse("adult", 1.0, columns=["fnlwgt", "sex"]).notes == ()
    counted = sp.count_pairs(small()[["row", "smoker"]], bins=2)
    assert sp.analyse(counted, 1.0).matrix.domain.names == ("row", "smoker")


def test_a_lazy_frame_is_computed_once():
    runs = []
    lazy = pl.from_pandas(small()[["row", "smoker", "schooling"]]).lazy()
    lazy = lazy.map_batches(lambda frame: runs.append(1) or frame)
    with pytest.warns(sp.DataWarning, match="row .running number."):
        sp.analyse(lazy, 1.0)
    assert len(runs) == 1


def test_a_table_without_answers_raises_one_line():
    with pytest.raises(sp.TableError, match="no column looks like an answer"):
        sp.analyse(small()[["row"]], 1.0)


def test_commands_print_what_was_left_out(tmp_path):
    small().to_csv(tmp_path / "people.csv", index=False)
    done = run("analyse", "people.csv", cwd=tmp_path)
    assert done.stderr.startswith(
        "left out, no answers: row (running number), remark (free text)"
    )
    assert "may mean missing: '7', '9' of health (--missing-marker)" in done.stderr
    made = run("design", "people.csv", "--limit", "1", "--effort", "0.02", cwd=tmp_path)
    assert "nothing is promised about" in made.stdout
    assert "row (running number)" in made.stdout
    assert "may mean missing: '7', '9' of health (--missing-marker)" in made.stdout
    assert "Warning" not in made.stderr


def test_infinite_numbers_are_shown_beside_the_others():
    values = np.random.default_rng(0).random(2_000) * 1e300
    values[:4] = [1.7e308, -1.7e308, np.inf, -np.inf]
    column = pa.array(values)
    profile = profile_of("dose", column, fields=False, markers=frozenset())
    shares = dict(value_shares(profile, "answer"))
    assert shares["inf"] == shares["-inf"] == 1 / 2_000
    assert sum(shares.values()) == pytest.approx(1.0)
