"""What every result can do: one line, frames, HTML, CSV, JSON."""

import csv
import io
import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from seepage._core.results import Result, csv_text, json_ready, json_text


class Answer(Result):
    """Five kinds of columns, with what is missing."""

    rows = 2

    def _headline(self):
        return "Answer(<b> & more)"

    def _columns(self):
        n = self.rows // 2
        return {
            "attribute": ["a<b", None] * n,
            "leakage": [0.123456, math.inf] * n,
            "count": np.array([3, 4] * n),
            "limit": [1, 2.5] * n,
            "confidence": [None, None] * n,
        }


def test_columns_keep_their_types_in_arrow_and_pandas():
    table = Answer().to_arrow()
    assert [str(kind) for kind in table.schema.types] == [
        "string",
        "double",
        "int64",
        "double",
        "null",
    ]
    assert pa.table(Answer()) == table
    frame = Answer().to_pandas()
    assert frame["count"].dtype == np.int64
    assert frame["leakage"].tolist() == [0.123456, math.inf]
    assert frame["attribute"].isna().tolist() == [False, True]


def test_other_frames_take_a_result_as_it_is():
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(Answer())["count"].to_list() == [3, 4]


def test_html_escapes_aligns_and_ends():
    text = Answer()._repr_html_()
    assert ">Answer(&lt;b&gt; &amp; more)</caption>" in text
    assert '<td style="text-align: left">a&lt;b</td>' in text
    assert '<td style="text-align: right">0.1235</td>' in text
    assert "more rows" not in text
    many = Answer()
    many.rows = 3000
    assert many._repr_html_().count("<tr>") == 21
    assert "2,980 more rows" in many._repr_html_()


def test_csv_holds_full_numbers_and_nothing_for_none():
    assert csv_text({"a": [1 / 3, None], "b": ["x,y", "z"]}) == (
        'a,b\n0.3333333333333333,"x,y"\n,z\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        "=HYPERLINK(1)",
        "+1+1",
        "-1-1",
        "-",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "'=1",
        "''@",
        "'-1",
        "-1\n",
    ],
)
def test_a_spreadsheet_runs_no_text_of_a_csv(text):
    rows = list(csv.reader(io.StringIO(csv_text({text: [text, "plain"]}), newline="")))
    assert rows == [["'" + text], ["'" + text], ["plain"]]


@pytest.mark.parametrize(
    "value", [-1, -1.5, -math.inf, "-1", "+1.5e-3", "-.5", "'", "it's", "", "a=1"]
)
def test_numbers_and_other_texts_are_as_they_were_in_a_csv(value):
    assert list(csv.reader(io.StringIO(csv_text({"a": [value, 1]}), newline="")))[
        1
    ] == [str(value)]


def test_html_runs_no_name():
    class Named(Answer):
        def _headline(self):
            return "<img src=x onerror=alert(1)>"

        def _columns(self):
            return {
                "<script>": ["<script>alert(1)</script>", "'\"><b onclick=alert(1)>"]
            }

    text = Named()._repr_html_()
    assert set(re.findall(r"<(\w+)", text)) == {
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }


def test_infinities_survive_json_with_their_sign():
    content = {"totals": (np.inf, -np.inf, np.nan, np.float64(1.5)), "n": np.int64(3)}
    ready = json_ready(content)
    assert ready == {"totals": ["inf", "-inf", None, 1.5], "n": 3}
    assert json.loads(json_text(content)) == ready
    numbers = [math.nan if value is None else float(value) for value in ready["totals"]]
    assert numbers[:2] == [math.inf, -math.inf]
    assert math.isnan(numbers[2])


def test_counts_and_records_are_results():
    pairs = sp.load_pairs("adult").select(["sex", "income"])
    assert repr(pairs) == "PairCounts(48,842 records, 2 attributes)"
    table = pairs.to_arrow()
    assert table.column_names == [
        "attribute_a",
        "attribute_b",
        "value_a",
        "value_b",
        "count",
    ]
    assert sum(table["count"].to_pylist()) == 3 * 48_842
    assert "Female" in pairs._repr_html_()
    people = sp.Records.from_data(
        pa.table({"weight": ["x", "y", "x"], "b": ["0", "1", "0"]})
    )
    assert people.to_arrow().to_pydict() == {
        "weight": ["x", "y"],
        "b": ["0", "1"],
        "weight_": [2, 1],
    }


def test_a_notebook_shows_the_verdict_and_the_matrix_as_a_matrix():
    found = sp.analyse("adult", 1.0, mechanism="grr", limit=2.0)
    html = found._repr_html_()
    assert found.verdict.decision in html
    assert html.index("Strongest leaks") < html.index("<td")
    assert html.count("<tr>") == 1 + len(found.leaks())
    assert "2.72 times likelier under relationship Husband" in html
    matrix = found.matrix._repr_html_()
    assert matrix.count("<th ") == 16
    assert matrix.count("<tr>") == 16
