"""The search over readings: sums over pairs of columns are the errors themselves."""

import importlib
import os
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.direct import GRR
from seepage.study.reproduction.findings import PAPER, SEARCHED
from seepage.study.reproduction.paper_data import Data
from seepage.study.reproduction.tables_fig6 import library_subset_selection, nmse

SCRIPTS = str(Path(__file__).parents[3] / "scripts")
NUMBERS = ("a", "b", "c", "d", "e")
COLLECTIONS = 3

real_data = pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"),
    reason="SEEPAGE_DATA does not name the folder of the data",
)


@pytest.fixture(scope="module")
def scripts():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        yield (
            importlib.import_module("reading_grid"),
            importlib.import_module("search_readings"),
        )


@pytest.fixture(scope="module")
def tiny(scripts):
    """Two columns and five numbers with two partitions each, of related records.

    The third edges of each number divide as the first do.
    """
    reading_grid, _ = scripts
    generator = np.random.default_rng(5)
    common = generator.normal(size=600)
    records = {
        name: common + generator.normal(size=600) for name in ("x", "y", *NUMBERS)
    }
    for name in ("x", "y"):
        records[name] = (records[name] > 0).astype(np.int64)
    ways = [("two", [0.0]), ("three", [-1.0, 1.5]), ("again", [0.0, 99.0])]
    wide = reading_grid.widened(
        pa.table(records), ["x", "y"], dict.fromkeys(NUMBERS, ways)
    )
    cells = [
        reading_grid.Cell(
            "oue", 1.0, 0.257, estimated=False, bound=True, tolerance=0.01
        ),
        reading_grid.Cell("ss", 1.0, 0.0018, bound=True, tolerance=0.15),
        reading_grid.Cell("grr", 3.0, 0.01),
        reading_grid.Cell("exp", 1.0, 0.01),
    ]
    return reading_grid.grid(wide, cells, COLLECTIONS)


@pytest.mark.parametrize(
    "channel",
    [
        GRR(4, 1.0).inferred_channel(),
        GRR(4, 0.0).inferred_channel(),
        np.eye(4),
        np.array(
            [
                [0.5, 0.5, 0, 0],
                [0.1, 0.2, 0.3, 0.4],
                [0, 0, 0.5, 0.5],
                [0.7, 0.1, 0.1, 0.1],
            ]
        ),
        np.array([[0.1] * 7 + [0.3], [0.3] + [0.1] * 7, [0.125] * 8, [0.2, 0.05] * 4]),
    ],
)
def test_many_tables_at_once_have_the_same_distribution(scripts, channel):
    cells = np.array([40, 3, 10, 0])
    size = 4_000
    stack = np.repeat(cells[:, None], size, axis=1)
    rows = scripts[0].simulate_row(stack, channel, 2, np.random.default_rng(1))
    assert (rows.sum(axis=0) == 2 * cells.sum()).all()
    expected = 2 * cells @ channel
    spread = 2 * cells @ (channel * (1 - channel))
    assert rows.mean(axis=1) == pytest.approx(
        expected, abs=4.5 * np.sqrt(spread.max() / size)
    )
    varied = spread > 0.5
    assert rows.var(axis=1)[varied] == pytest.approx(spread[varied], rel=0.15)


def _every_reading(found):
    left_out = len(found.wide.pairs.domain)
    return list(product(*([*columns, left_out] for columns in found.wide.versions)))


def test_equal_partitions_are_one_column(tiny):
    names = tiny.wide.pairs.domain.names
    columns = tiny.wide.columns
    assert len(names) == 2 + 2 * len(NUMBERS)
    assert columns["c two["] == columns["c two]"] == columns["c again["]
    assert columns["c two["] != columns["c three["] != columns["d three["]
    assert [len(versions) for versions in tiny.wide.versions] == [2] * len(NUMBERS)


def test_an_edge_belongs_to_the_bin_above_or_below(scripts):
    table = pa.table({"x": [0, 1, 0], "a": [1, 2, 3]})
    wide = scripts[0].widened(table, ["x"], {"a": [("two", [2.0])]})
    above = wide.columns["a two["]
    below = wide.columns["a two]"]
    assert wide.pairs.marginal(above).tolist() == [1, 2]
    assert wide.pairs.marginal(below).tolist() == [2, 1]


@pytest.mark.parametrize(
    "labels", [("a two[", "c three[", "e two["), ("d three[",), ()]
)
def test_sums_over_pairs_are_the_errors_themselves(scripts, tiny, labels):
    """Against leakages of the reading's own columns alone, and `nmse` of each
    collection.
    """
    columns = [0, 1, *(tiny.wide.columns[label] for label in labels)]
    pairs = tiny.wide.pairs.select(columns)
    for cell, error in zip(tiny.cells, tiny.errors(columns[2:]), strict=True):
        how = cell.mechanism
        if how == "ss":
            how = library_subset_selection(pairs, cell.epsilon)
        own = leakage_matrix(pairs, cell.epsilon, mechanism=how, view="inferred").values
        theory = leakage_matrix(pairs, cell.epsilon).values if cell.bound else own
        found = [own]
        if cell.estimated:
            drawn = scripts[0].estimates(
                tiny.wide.pairs, cell.epsilon, cell.mechanism, COLLECTIONS
            )
            found = drawn[:, np.array(columns)[:, None], columns]
        assert all(nmse(one, theory)[1] == 0 for one in found)
        direct = np.mean([nmse(one, theory)[0] for one in found])
        assert error == pytest.approx(direct, rel=1e-9)


def test_an_infinite_estimate_adds_to_neither_sum(scripts):
    """Fifty reports of one record leave some of twenty values out."""
    table = pa.table(
        {
            "x": [0] * 400 + [1],
            "y": [*range(20)] * 20 + [3],
            "z": [0, 1, 1] * 133 + [0, 1],
        }
    )
    wide = scripts[0].widened(table, ["x", "y", "z"], {})
    found = scripts[0].grid(wide, [scripts[0].Cell("grr", 3.0, 0.01)], 1)
    (drawn,) = scripts[0].estimates(wide.pairs, 3.0, "grr", 1)
    error, infinite = nmse(
        drawn, leakage_matrix(wide.pairs, 3.0, mechanism="grr", view="inferred").values
    )
    assert infinite > 0
    assert found.errors([]) == pytest.approx([error], rel=1e-9)


def test_the_search_finds_what_trying_every_reading_finds(scripts, tiny):
    asked = [cell for cell in tiny.cells if cell.tolerance < np.inf]
    met = {
        reading
        for reading in _every_reading(tiny)
        if all(
            abs(error / cell.printed - 1) <= cell.tolerance
            for error, cell in zip(tiny.errors(reading), asked, strict=False)
        )
    }
    assert 0 < len(met) < len(_every_reading(tiny)) == 3**5
    found = [tuple(reading) for reading in scripts[0].search(tiny).tolist()]
    assert len(found) == len(set(found))
    assert set(found) == met


@real_data
def test_the_near_reading_of_cvd_is_the_one_on_the_page(scripts):
    """The labels that the script prints for it name the same bins as `Data` does."""
    _, script = scripts
    records = script.dataset("cardio").read()
    data = Data()
    names = []
    rules = {}
    for label in script.NEAR:
        name, _, rule = label.rstrip("[").partition(" ")
        names.append(name)
        values = records[name].to_numpy().astype(np.float64)
        rules[name] = [
            one for one in script.rules(values, script.BANDS[name]) if one[0] == rule
        ]
    wide = scripts[0].widened(records, list(data.pairs("cardio").domain.names), rules)
    for name, label in zip(names, script.NEAR, strict=True):
        marginal = wide.pairs.marginal(wide.columns[label])
        assert marginal.tolist() == data.near_cardio.marginal(name).tolist()


@real_data
def test_the_near_reading_of_adult_meets_table_two_within_15_percent(scripts):
    readings = importlib.import_module("adult_readings")
    pairs = Data().near_adult
    names = list(pairs.domain.names)
    near = readings.Tried("", readings.errors_of(pairs, names))
    assert near.deviation == pytest.approx(0.124, abs=5e-4)
    fewer = readings.Tried(
        "", readings.errors_of(pairs, [n for n in names if n != "occupation"])
    )
    assert fewer.deviation > readings.NEAR


@real_data
@pytest.mark.slow
def test_the_search_over_adult_prints_what_the_note_quotes(scripts, capsys):
    """Some two minutes."""
    importlib.import_module("adult_readings").print_adult_search()
    first, nearest, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "Adult: 2,720 readings tried, 2,312 different, 9 meet all sixteen"
    )
    assert nearest.startswith("7.4%: quantile:4, without ('fnlwgt',), missing left out")
    (note,) = (
        note for note in SEARCHED if note.startswith("Adult: 2,720 combinations, 2,312")
    )
    assert "within 7.4 %, has 4 quantile bins and no fnlwgt" in note


def test_missing_data_are_one_line(scripts, monkeypatch, tmp_path):
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path))
    for section in scripts[1].SECTIONS:
        monkeypatch.setattr("sys.argv", ["search_readings.py", section])
        with pytest.raises(SystemExit, match="is not at hand") as refusal:
            scripts[1].main()
        assert "\n" not in str(refusal.value)


@real_data
@pytest.mark.slow
def test_the_search_prints_what_the_note_quotes(scripts, capsys):
    """Some three minutes: 384 million tables."""
    scripts[1].cvd()
    printed = capsys.readouterr().out
    assert "383,594,400 readings tried, 19,175 meet Table II" in printed
    (row,) = (
        line
        for line in printed.splitlines()
        if line.startswith("50 to 100: 5,932, 4,819")
    )
    assert row.split()[-4:] == ["10.7", "1.45", "49.6", "4.76"]
    assert any("384 million" in note and "19,175" in note for note in SEARCHED)
    assert any(
        "errors of 11, 1.5, 50 and 4.8" in note for note in PAPER["table1"].notes
    )
