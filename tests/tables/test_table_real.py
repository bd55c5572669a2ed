"""The published datasets, read as they are, against pandas and their documented
figures.
"""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from table_oracle import final_codes, read

FOLDER = Path(os.environ.get("SEEPAGE_DATA", ""))
pytestmark = pytest.mark.skipif(
    "SEEPAGE_DATA" not in os.environ,
    reason="SEEPAGE_DATA names no folder with the datasets",
)

ADULT = (
    *(
        "age",
        "workclass",
        "fnlwgt",
        "education",
        "education-num",
        "marital-status",
        "occupation",
    ),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)


def counts(data, **options):
    """Return how often each value of each attribute occurs."""
    domain, codes = final_codes(data, **options)
    return {
        attribute.name: dict(
            zip(
                attribute.values,
                np.bincount(column, minlength=attribute.size),
                strict=True,
            )
        )
        for attribute, column in zip(domain, codes, strict=True)
    }


def expected(column):
    """Return the same from a column of texts in pandas, numbers spelt shortest."""
    return {
        "(missing)" if value in ("?", "", "N") else value.removesuffix(".0"): count
        for value, count in column.value_counts().items()
    }


def test_adult():
    file = FOLDER / "adult" / "adult.data.gz"
    options = {"column_names": ADULT, "missing_markers": ["?"]}
    found = counts(file, bins="none", max_values=30_000, **options)
    frame = pd.read_csv(
        file, names=ADULT, skipinitialspace=True, dtype=str, keep_default_na=False
    )
    assert {name: expected(frame[name]) for name in ADULT} == found
    distinct = [73, 9, 21648, 16, 16, 7, 15, 6, 5, 2, 119, 92, 94, 42, 2]
    assert [len(found[name]) for name in ADULT] == distinct
    stream, codes = read(file, missing="drop", **options)
    assert (stream.rows_read, stream.rows_dropped) == (32_561, 2_399)
    assert len(codes[0]) == 32_561 - 2_399


def test_the_default_bins_of_adult_are_deciles_with_readable_names():
    file = FOLDER / "adult" / "adult.data.gz"
    domain, codes = final_codes(
        file, column_names=ADULT, columns=["age", "capital-gain"]
    )
    assert domain["age"].values[0] == "[17, 22)"
    assert domain["age"].values[-1] == "[58, 90]"
    shares = np.bincount(codes[0]) / 32_561
    assert abs(shares - 0.1).max() < 0.03
    assert domain["capital-gain"].values == ("[0, 114)", "[114, 99999]")


def test_cardio_with_semicolons():
    file = FOLDER / "cardio" / "cardio_train.csv.gz"
    found = counts(file, drop=["id"])
    assert found["cardio"] == {"0": 35_021, "1": 34_979}
    assert [
        len(found[name]) for name in ("gender", "cholesterol", "gluc", "smoke")
    ] == [2, 3, 3, 2]
    frame = pd.read_csv(file, sep=";")
    edges = final_codes(file, columns=["weight"])[0]["weight"].edges
    np.testing.assert_array_equal(
        list(found["weight"].values()), np.histogram(frame["weight"], bins=edges)[0]
    )


def test_diabetes_with_constant_columns():
    file = FOLDER / "diabetes130" / "diabetic_data.csv.gz"
    stream, codes = read(
        file, missing_markers=["?"], drop=["encounter_id", "patient_nbr"]
    )
    constant = [
        attribute.name for attribute in stream.finish()[0] if attribute.size == 1
    ]
    assert constant == ["examide", "citoglipton"]
    domain = stream.finish()[0]
    assert [
        domain[name].size for name in ("race", "medical_specialty", "number_outpatient")
    ] == [
        6,
        73,
        39,
    ]
    assert domain["max_glu_serum"].values == (">200", ">300", "None", "Norm")
    assert len(codes[0]) == 101_766


def test_nist_with_a_marker_for_not_applicable():
    file = FOLDER / "nist_acs_national2019" / "national2019.csv.gz"
    found = counts(file, missing_markers=["N"], bins="none", max_values=3_000)
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert {name: expected(frame[name]) for name in frame} == found
    assert (len(found["PINCP"]), len(found["INDP"])) == (2_748, 264)


def test_lfw_scores_with_tabs(tmp_path):
    with gzip.open(FOLDER / "lfw" / "lfw_attributes_subset2999.txt.gz", "rt") as lines:
        next(lines)
        names = next(lines).rstrip("\n").split("\t")[1:]
        file = tmp_path / "scores.txt"
        file.write_text(lines.read(), encoding="utf-8")
    domain, codes = final_codes(file, column_names=names, drop=["person", "imagenum"])
    assert len(domain) == 73
    frame = pd.read_csv(file, sep="\t", names=names, quoting=3)
    for attribute, column in zip(domain, codes, strict=True):
        np.testing.assert_array_equal(
            np.bincount(column, minlength=attribute.size),
            np.histogram(frame[attribute.name], bins=attribute.edges)[0],
        )
        assert abs(np.bincount(column) - 299.9).max() < 12
