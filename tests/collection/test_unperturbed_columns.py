"""Columns that were not perturbed: numbers and texts by the grammar of tables."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import seepage as sp
from seepage.collection.unperturbed_columns import column_texts, unperturbed_columns


def texts(data, name="a"):
    return column_texts(unperturbed_columns(data, [name])[name])


def test_numbers_of_every_type_have_one_label():
    for column in ([1, 2], [1.0, 2.0], [Decimal("1.00"), Decimal("2.00")]):
        assert texts(pa.table({"a": column})) == ["1", "2"]
    assert texts(pd.DataFrame({"a": pd.array([1, 2], "Int64")})) == ["1", "2"]


def test_long_numbers_keep_their_digits():
    assert texts(pa.table({"a": [2020101, 2020102]})) == ["2020101", "2020102"]


def test_booleans_have_the_label_of_tables():
    assert texts(pa.table({"a": [True, False]})) == ["true", "false"]


def test_a_file_with_a_text_among_numbers_is_of_texts(tmp_path):
    file = tmp_path / "terms.csv"
    file.write_text("a\n2020_1\n2020_2\n")
    assert texts(file) == ["2020_1", "2020_2"]


def test_infinite_numbers_raise():
    with pytest.raises(sp.InputError, match="'a' has infinite numbers"):
        unperturbed_columns(pa.table({"a": [1.0, np.inf]}), ["a"])


def test_missing_values_raise():
    with pytest.raises(sp.InputError, match="'a' has 1 missing values"):
        unperturbed_columns(pa.table({"a": [1, None]}), ["a"])
