"""Columns of reports: codes of keys, parts, and what is listed."""

import numpy as np
import pytest

import seepage as sp
from seepage.auditing.report_columns import (
    column_of,
    columns_of_reports,
    known_keys,
    places_among,
)
from seepage.auditing.report_keys import exact_text


@pytest.mark.parametrize(
    "array",
    [
        np.array([3, 1, 3, 2]),
        np.array([0.0, -0.0, np.nan, 1.5, 0.0]),
        np.array([0.5, -0.0, 0.0], dtype=np.float32),
        np.array([True, False, True]),
        np.array(["b", "a", "00", "0"]),
    ],
)
def test_an_array_is_coded_as_its_list(array):
    by_array = column_of(array)
    by_list = column_of(array.tolist())
    assert by_array.keys == by_list.keys
    assert by_array.codes.tolist() == by_list.codes.tolist()


def test_codes_lead_back_to_the_reports():
    reports = [3, "3", None, 3.0, [3], "a", 3]
    column = column_of(reports)
    back = [column.keys[code].exact for code in column.codes]
    assert back == [exact_text(report) for report in reports]


def test_vectors_of_one_type_and_length_have_parts():
    assert list(columns_of_reports([[0, 1], [1, 0]])) == ["part 0", "part 1"]
    assert list(columns_of_reports([(0, 1), (1, 0)])) == ["part 0", "part 1"]
    arrays = [np.array([0, 1]), np.array([1, 0])]
    assert list(columns_of_reports(arrays)) == ["part 0", "part 1"]
    for reports in ([[0, 1], (0, 1)], [[0, 1], [0]], [[0, 1], "[0, 1]"], [[0], [1]]):
        assert list(columns_of_reports(reports)) == ["report"]


def places(reports, listed):
    known = known_keys(listed, "reports")
    return places_among(column_of(reports), known, "report").tolist()


def test_listed_reports():
    assert places(["0", "1"], [0, 1]) == [0, 1]
    assert places([0, 1], ["0", "1"]) == [0, 1]
    assert places([1.0, 0.0], [0, 1]) == [1, 0]
    assert places([1, "1"], ["1", 1]) == [1, 0]
    assert places([np.int64(1), np.int64(0)], [0, 1]) == [1, 0]
    assert places([0.0, -0.0], [-0.0, 0.0]) == [1, 0]


@pytest.mark.parametrize(
    ("reports", "listed", "line"),
    [
        (["00", "0"], [0], "report 00, which reports lack; 0 stands for the report 0"),
        ([0.0, -0.0], [0], "report 0.0, which reports lack; 0 stands for"),
        ([0, 1], [0, 0], "reports must be different from each other, got 0 twice"),
        ([1.0], [1, "1"], None),
        (["1"], [1, np.int64(1)], "reports 1 and np.int64(1) cannot be told apart"),
        (["rad"], ["red"], "report rad, which reports lack; did you mean 'red'?"),
    ],
)
def test_listed_reports_that_cannot_be_told_apart(reports, listed, line):
    if line is None:
        assert places(reports, listed) == [0]
        return
    with pytest.raises(sp.InputError) as caught:
        places(reports, listed)
    assert line in str(caught.value)
