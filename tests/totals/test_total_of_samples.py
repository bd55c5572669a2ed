"""Totals of a sample of records: assumptions, never promises."""

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from plan_examples import plan_of_totals
from seepage._core.errors import GuaranteeError, InputError
from seepage.calibration.published import calibrate_as_the_paper
from seepage.channel.records import Records
from seepage.totals.total_settings import TotalSettings
from seepage.totals.totals_comparison import compare_totals

DOMAIN = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
CODES = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
ALL = Records(DOMAIN, CODES, [1000] * 4)
SAMPLE = Records(DOMAIN, CODES, [10] * 4, population=4000)


@pytest.mark.parametrize(
    "guarantee", ["exact", "merged", "sampled", "independent", "witness"]
)
def test_totals_of_a_sample_are_assumed(guarantee):
    found = sp.total_leakage(
        SAMPLE, 1.0, mechanism="grr", guarantee=guarantee, reports=2000
    )
    assert found.kind == "assumed"
    assert found.notes[0].startswith(
        "from a sample of 40 of 4,000 records: valid only if "
    )
    whole = sp.total_leakage(
        ALL, 1.0, mechanism="grr", guarantee=guarantee, reports=2000
    )
    assert not any("sample of" in note for note in whole.notes)
    if guarantee in ("exact", "merged", "independent"):
        np.testing.assert_allclose(found.values, whole.values, rtol=1e-12)


def test_the_sum_of_budgets_needs_no_records():
    """The total does not; the leakages of pairs beside it do."""
    found = sp.total_leakage(SAMPLE, 1.0, mechanism="grr", guarantee="worst")
    assert found.kind == "certified"
    assert found.notes[0].startswith(
        "leakages of pairs: from a sample of 40 of 4,000 records: "
    )
    assert sp.total_leakage(ALL, 1.0, mechanism="grr", guarantee="worst").notes == ()


def test_comparisons_of_a_sample_are_assumed():
    found = sp.analyse(SAMPLE, 1.0, mechanism="grr", guarantee="all").totals
    assert [total.guarantee for total in found.totals if total.kind == "certified"] == [
        "worst"
    ]


def test_pair_counts_of_a_sample_are_a_sample():
    found = sp.total_leakage(
        SAMPLE.pairs(), 1.0, mechanism="grr", guarantee="independent"
    )
    assert found.notes[0].startswith("from a sample of 40 of 4,000 records: ")
    assert "from a sample of 40 of 4,000 records" in repr(
        sp.leakage_matrix(SAMPLE.pairs(), 1.0)
    )
    assert "sample" not in repr(sp.leakage_matrix(ALL.pairs(), 1.0))
    chart = sp.leakage_matrix(SAMPLE.pairs(), 1.0).chart().to_dict()
    assert "sample of 40 of 4,000 records" in str(chart["title"])


def test_notes_say_which_values_the_sample_does_not_have():
    few = Records(DOMAIN, [[0, 0, 0], [0, 1, 1]], population=9)
    found = sp.total_leakage(few, 1.0, mechanism="grr", guarantee="exact")
    assert "no record of the sample has '1' of 'a': excluded from totals" in found.notes
    whole = sp.total_leakage(
        Records(DOMAIN, few.codes), 1.0, mechanism="grr", guarantee="exact"
    )
    assert "no record has '1' of 'a': excluded from totals" in whole.notes


@pytest.mark.parametrize("data", [SAMPLE, SAMPLE.pairs()], ids=["records", "pairs"])
@pytest.mark.parametrize("guarantee", ["auto", "independent", "exact"])
def test_budgets_need_all_records(data, guarantee):
    with pytest.raises(
        GuaranteeError, match=r"budgets need all records, .* 40 of 4,000 rec"
    ):
        sp.calibrate(data, 3.0, guarantee=guarantee, scope="table")


def test_the_paper_calibrates_on_all_records_too():
    assert calibrate_as_the_paper(ALL.pairs(), 3.0) > 1
    with pytest.raises(GuaranteeError, match="budgets need all records"):
        calibrate_as_the_paper(SAMPLE.pairs(), 3.0)


@pytest.mark.parametrize("guarantee", ["exact", "independent"])
def test_plans_need_all_records(guarantee):
    whole = sp.total_leakage(ALL, 1.0, mechanism="grr", guarantee=guarantee)
    plan = plan_of_totals(whole, limit=3.0)
    assert plan.check(ALL).totals.tolist() == plan.totals.tolist()
    with pytest.raises(GuaranteeError, match="totals of a plan need all records"):
        plan.check(SAMPLE)


def test_totals_with_the_matrix_of_a_sample_are_assumed():
    matrix = sp.leakage_matrix(SAMPLE.pairs(), 1.0, mechanism="grr")
    total = compare_totals(ALL, matrix, ["exact"], TotalSettings())["exact"]
    assert total.kind == "assumed"
    assert total.notes[0].startswith("from a sample of 40 of 4,000 records")


def test_a_plan_by_the_sum_of_budgets_names_the_sample(tmp_path):
    plan = sp.calibrate(SAMPLE, 3.0, guarantee="worst")
    assert plan.kind == "certified"
    assert (plan.provenance.records, plan.provenance.population) == (40, 4000)
    assert any("sample of 40 of 4,000 records" in note for note in plan.notes)
    plan.save(tmp_path / "plan.json")
    assert sp.Plan.load(tmp_path / "plan.json") == plan
    assert plan.check(SAMPLE).within
    sp.calibrate(ALL, 3.0, guarantee="worst").save(tmp_path / "all.json")
    assert "population" not in (tmp_path / "all.json").read_text()


def test_estimates_of_a_sample_have_a_caution():
    options = {"surrogates": 0, "replicas": 5, "rng": 1}
    for found in (
        sp.estimate_leakage(SAMPLE, mechanism="grr", epsilon=1.0, **options)["a", "b"],
        sp.estimate_leakage(SAMPLE.pairs(), mechanism="grr", epsilon=1.0, **options)[
            "a", "b"
        ],
        sp.estimate_leakage(
            SAMPLE,
            mechanism="grr",
            epsilon=1.0,
            target="a",
            sources=["b", "differ"],
            **options,
        ).only,
    ):
        assert found.cautions[0].startswith("from a sample of 40 of 4,000 records: ")
    whole = sp.estimate_leakage(ALL, mechanism="grr", epsilon=1.0, **options)["a", "b"]
    assert not any("sample" in caution for caution in whole.cautions)


@pytest.fixture(scope="module")
def frame():
    draw = np.random.default_rng(3)
    return pa.table(
        {name: draw.integers(0, 3, 2000).astype(str).tolist() for name in "abc"}
    )


@pytest.mark.parametrize("guarantee", ["exact", "independent", "worst"])
def test_the_seed_draws_the_sample(frame, guarantee):
    found = [
        sp.total_leakage(
            frame, 1.0, mechanism="grr", guarantee=guarantee, sample=50, rng=seed
        )
        for seed in (1, 2, 1)
    ]
    assert [total.matrix.pairs.population for total in found] == [2000] * 3
    assert found[0].matrix.pairs == found[2].matrix.pairs != found[1].matrix.pairs
    expected = Records.from_data(frame, sample=50, rng=1).pairs()
    assert found[0].matrix.pairs == expected
    if guarantee != "worst":
        assert not np.array_equal(found[0].values, found[1].values)
        assert np.array_equal(found[0].values, found[2].values)


def test_comparisons_take_the_seed_too(frame):
    one, two = (
        sp.analyse(
            frame, 1.0, mechanism="grr", guarantee=["independent"], sample=50, rng=seed
        ).totals["independent"]
        for seed in (1, 2)
    )
    assert one.kind == "assumed"
    assert not np.array_equal(one.values, two.values)
    drawn = [
        sp.total_leakage(
            frame, 1.0, mechanism="grr", guarantee="exact", sample=50, rng=None
        )
        for _ in "ab"
    ]
    assert not np.array_equal(drawn[0].values, drawn[1].values)


def test_counts_have_no_records_to_draw():
    for data in (ALL, ALL.pairs()):
        with pytest.raises(InputError, match="sample has no effect"):
            sp.total_leakage(
                data, 1.0, mechanism="grr", guarantee="independent", sample=5
            )


def test_streams_of_a_sample_have_a_note():
    for data in (SAMPLE, SAMPLE.pairs()):
        found = sp.stream_leakage(data, 1.0)
        assert found.notes[0].startswith("from a sample of 40 of 4,000 records: ")
        assert found.to_dict()["notes"] == list(found.notes)
    assert sp.stream_leakage(ALL, 1.0).notes == ()
