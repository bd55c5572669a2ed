"""`analyse`: one call from any data to matrix and totals, saved and loaded whole."""

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seepage as sp
from command import run
from seepage._core.errors import InputError
from seepage.analysis.analysis import sealed
from seepage.pages.analysis_page import report_page

SAVED = Path(__file__).parents[1] / "pages" / "result.json"
PEOPLE = pa.table(
    {
        "a": ["x", "y"] * 50,
        "b": ["x", "x", "y", "y"] * 25,
        "c": ["x", "y", "y", "x"] * 25,
    }
)


def _same(first, second):
    assert first.to_dict() == second.to_dict()
    assert repr(first) == repr(second)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mechanism": "grr", "guarantee": "all", "limit": 2.0},
        {"mechanism": {"a": "grr", "b": None, "c": "oue"}, "view": "inferred"},
        {"mechanism": "gauss", "delta": 1e-6, "guarantee": "worst"},
        {"min_count": 3.0, "prior": 0.5, "limit": [1.0, None, 2.0]},
        {"guarantee": "exact", "sample": 50},
    ],
)
def test_a_saved_analysis_is_loaded_whole(tmp_path, options):
    found = sp.analyse(PEOPLE, [0.5, 1.0, 2.0], **options)
    found.save(tmp_path / "result.json")
    _same(sp.Analysis.load(tmp_path / "result.json"), found)


def test_the_version_shown_is_the_one_that_computed_the_result(tmp_path):
    """Not the one that draws the page."""
    found = sp.analyse(PEOPLE, 1.0)
    assert f"<dd>{sp.__version__}</dd>" in report_page(found)
    file = tmp_path / "result.json"
    file.write_text(json.dumps(sealed(found.to_dict() | {"seepage": "0.0.7"})))
    loaded = sp.Analysis.load(file)
    assert loaded.version == "0.0.7"
    assert "<dd>saved by version 0.0.7, totals not recomputed</dd>" in report_page(
        loaded
    )
    loaded.save(file)
    assert sp.Analysis.load(file).version == "0.0.7"


def test_a_saved_result_is_loaded_and_drawn(tmp_path):
    found = sp.Analysis.load(SAVED)
    assert [total.guarantee for total in found.totals.totals] == [
        "exact",
        "merged",
        "worst",
        "sampled",
        "independent",
        "witness",
    ]
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    assert found.totals["exact"].values.tolist() == saved["totals"]["exact"]["totals"]
    assert (
        found.totals["exact"].evidence[0].to_dict()
        == saved["totals"]["exact"]["evidence"][0]
    )
    assert found.experienced.to_dict() == saved["experienced"]
    assert set(found.limits) == {2.0}
    found.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report_page(found)


def test_a_saved_result_with_a_public_attribute_is_loaded(tmp_path):
    found = sp.analyse(PEOPLE, 1.0, mechanism=["public", "grr", "grr"])
    found.save(tmp_path / "result.json")
    _same(sp.Analysis.load(tmp_path / "result.json"), found)


def test_a_result_that_was_edited_is_not_loaded(tmp_path):
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    saved["cpl"][0][1] /= 2
    for content, message in (
        (saved, "was edited, its content does not match its checksum; analyse anew"),
        (sealed(saved), "the leakages of .*edited.json are not those of its counts"),
    ):
        (tmp_path / "edited.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            sp.Analysis.load(tmp_path / "edited.json")


def test_any_data_gives_the_same_analysis(tmp_path):
    pairs = sp.count_pairs(PEOPLE)
    pairs.save(tmp_path / "people.pairs")
    wanted = sp.analyse(pairs, 1.0, mechanism="grr", name="people")
    for data in (PEOPLE, PEOPLE.to_pandas(), sp.Records.from_data(PEOPLE)):
        _same(sp.analyse(data, 1.0, mechanism="grr", name="people"), wanted)
    stored = sp.analyse(tmp_path / "people.pairs", mechanism="grr", name="people")
    assert stored.table == ("DATA",)  # a design needs the records
    words = {"table": wanted.table, "design_step": wanted.design_step}
    _same(replace(stored, **words), wanted)
    assert sp.analyse(tmp_path / "people.pairs").name == "people.pairs"
    chosen = sp.analyse(PEOPLE, columns=["b", "a"])
    assert chosen.matrix.domain.names == ("b", "a")


def test_records_are_used_where_a_guarantee_needs_them():
    found = sp.analyse(PEOPLE, 1.0, mechanism="grr", guarantee="all")
    assert found.totals["exact"].kind == "certified"
    assert found.totals.unavailable == {}
    assert found.totals.refuted["independent"] == ("a", "b", "c")
    counted = sp.analyse(sp.count_pairs(PEOPLE), 1.0, guarantee=["exact", "worst"])
    assert "needs records" in counted.totals.unavailable["exact"]


def test_it_is_a_result_with_one_row_for_each_ordered_pair():
    found = sp.analyse("adult", 2.0, columns=["sex", "race", "income"])
    assert repr(found).startswith(
        "Analysis('adult', 3 attributes, epsilon 2; largest change of odds: worst 404x"
    )
    frame = found.to_pandas()
    assert len(frame) == 6
    for row in frame.itertuples():
        assert row.leakage == found.matrix[row.target, row.source].value
    assert frame["mechanism"].isna().all()
    assert found.to_csv().startswith(
        "target,source,leakage,delta,epsilon,mechanism,view\nsex,race,0."
    )
    assert ">Analysis(" in found._repr_html_()
    assert found.chart().to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guarantee": "exactly"}, "did you mean 'exact'"),
        ({"limit": float("nan")}, "limit must be"),
        ({"limit": [1.0]}, "one for each of the 3 attributes"),
        ({"view": "reports"}, "did you mean 'report'"),
        ({"column": ["a"]}, "did you mean 'columns'"),
        ({"epsilon": -1}, "epsilon must be"),
        ({"confidence": 1.0}, "confidence must be above 0 and below 1"),
        ({"name": PEOPLE}, "name must be a string"),
        ({"command": ["seepage"]}, "command must be a string"),
    ],
)
def test_bad_arguments_raise(options, message):
    with pytest.raises(InputError, match=message):
        sp.analyse(PEOPLE, **options)


def test_numbers_are_those_of_the_functions_it_calls():
    found = sp.analyse(PEOPLE, 1.0, mechanism="grr", guarantee=["exact", "independent"])
    assert np.array_equal(
        found.matrix.values,
        sp.leakage_matrix(sp.count_pairs(PEOPLE), 1.0, mechanism="grr").values,
    )
    for name in ("exact", "independent"):
        total = sp.total_leakage(PEOPLE, 1.0, mechanism="grr", guarantee=name)
        assert np.array_equal(found.totals[name].values, total.values)


@pytest.mark.parametrize("guarantees", ["worst", "all"])
def test_progress_is_called_for_reading_and_for_totals(guarantees):
    seen = []
    told = {"mechanism": "grr", "progress": lambda *n: seen.append(n)}
    for data in (PEOPLE, sp.count_pairs(PEOPLE)):
        sp.analyse(data, guarantee=guarantees, **told)
    sp.analyse("adult", guarantee=guarantees, columns=["sex", "race", "income"], **told)
    assert (100, 100) in seen


def test_a_leak_through_a_skip_pattern_is_listed_as_that(tmp_path):
    rng = np.random.default_rng(4)
    smoker = rng.random(2_000) < 0.4
    packs = np.where(smoker, rng.choice(["a", "b"], 2_000), None).tolist()
    people = pa.table({"smoker": np.where(smoker, "yes", "no"), "packs": packs})
    sentence = (
        "packs -> smoker: a skip pattern, packs is missing exactly where smoker is no"
    )
    assert sentence in html.unescape(report_page(sp.analyse(people, 1.0)))
    pa.csv.write_csv(people, tmp_path / "people.csv")
    done = run("analyse", "people.csv", "--epsilon", 1, cwd=tmp_path)
    assert f"  {sentence}\n" in done.stdout
    unrelated = people.set_column(1, "packs", pa.array(packs[1:] + packs[:1]))
    assert "skip pattern" not in report_page(sp.analyse(unrelated, 1.0))


def test_a_limit_is_decided_by_totals_that_look_at_the_records(tmp_path):
    rng = np.random.default_rng(3)
    coins = rng.integers(0, 2, (3, 4_000))
    people = pa.table({"a": coins[0], "b": coins[1], "same": coins[0], "c": coins[2]})
    found = sp.analyse(people, 1.0, mechanism="grr", limit=1.5)
    assert {total.guarantee for total in found.totals.totals} >= {"exact", "witness"}
    states = {j.attribute: j.state for j in found.verdict.judgements}
    assert states == {"a": "exceeded", "same": "exceeded", "b": "within", "c": "within"}
    plain = ["worst", "independent"]
    assert [t.guarantee for t in sp.analyse(people, 1.0).totals.totals] == plain
    assert [
        t.guarantee for t in sp.analyse(people, 1.0, guarantee="auto").totals.totals
    ] == plain
    pairs = sp.count_pairs(people)
    assert [
        t.guarantee for t in sp.analyse(pairs, 1.0, limit=1.5).totals.totals
    ] == plain
    pa.csv.write_csv(people, tmp_path / "people.csv")
    command = (
        "analyse",
        tmp_path / "people.csv",
        "--mechanism",
        "grr",
        "--limit",
        "1.5",
    )
    assert "2 exceeded, proven by exact" in run(*command, "--guarantee", "auto").stdout
    assert "exact" not in run(*command, "--guarantee", "worst").stdout


def test_an_analysis_of_uncertain_rows(tmp_path):
    """An extra column, the curve over distances, and a page; the verdict is the
    table's.
    """
    columns = ["sex", "race", "income"]
    plain = sp.analyse("adult", 1.0, columns=columns)
    analysis = sp.analyse(
        "adult", 1.0, columns=columns, uncertainty={"sex": 0.05, "*": 0}
    )
    assert (analysis.matrix.values == plain.matrix.values).all()
    frame = analysis.to_pandas()
    of_sex = frame["target"] == "sex"
    assert (frame["within"] > frame["leakage"])[of_sex].all()
    assert np.allclose(frame["within"][~of_sex], frame["leakage"][~of_sex])
    curve = analysis.uncertainty_curve([0.1, 0, 0.02])
    assert curve.distances.tolist() == [0, 0.02, 0.1]
    assert curve.totals[0] == pytest.approx(plain.totals["independent"].values.max())
    assert np.all(np.diff(curve.totals) > 0)
    assert curve.chart() is not None
    analysis.save(tmp_path / "uncertain.json")
    loaded = sp.Analysis.load(tmp_path / "uncertain.json")
    assert loaded.distances == analysis.distances
    assert np.array_equal(loaded.within.values, analysis.within.values)
    analysis.report(tmp_path / "uncertain.html")
    page = (tmp_path / "uncertain.html").read_text(encoding="utf-8")
    assert "If rows are not those of the table" in page
    assert "If rows are not those of the table" not in report_page(plain)
    with pytest.raises(sp.InputError, match="which smoothing changes"):
        sp.analyse("adult", 1.0, columns=columns, uncertainty=0.1, prior=1)
