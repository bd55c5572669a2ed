"""Reports are read with the plan that they were collected with, and with no other."""

import math
import os
import random

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import seepage as sp
from plan_examples import counts, people, plan_for
from seepage._core.errors import InputError
from seepage.collection.perturb_table import perturb_file
from seepage.collection.report_files import open_reports
from seepage.mechanisms.reports import METADATA

PLAN = plan_for(counts(), 1.0, "oue")


@pytest.fixture(scope="module")
def reports():
    return PLAN.perturb(people(1000))


def error_message(reports, plan=PLAN):
    with pytest.raises(InputError) as caught:
        plan.estimate(reports)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def same(first, second):
    """Whether two estimates agree to the rounding error of their sums."""
    return all(
        first[name].frequencies
        == pytest.approx(second[name].frequencies, rel=1e-12, abs=1e-14)
        for name in first.estimates
    )


def test_a_table_a_file_many_files_and_a_folder_say_the_same(reports, tmp_path):
    expected = PLAN.estimate(reports)
    assert expected.records == 1000
    pq.write_table(reports.slice(0, 400), tmp_path / "a.parquet", row_group_size=100)
    pq.write_table(reports.slice(400), tmp_path / "b.parquet")
    pq.write_table(reports, tmp_path / "all.pq")
    parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for data in (
        tmp_path / "all.pq",
        str(tmp_path / "?.parquet"),
        parts,
        pa.concat_tables([reports.slice(0, 1), reports.slice(1)]),
    ):
        assert same(PLAN.estimate(data), expected)
    (tmp_path / "all.pq").unlink()
    assert same(PLAN.estimate(tmp_path), expected)
    batch = reports.combine_chunks().to_batches()[0]
    assert same(PLAN.estimate(batch), expected)


def test_columns_may_be_reordered_and_others_are_ignored(reports):
    more = reports.append_column("when", [["noon"] * 1000]).select(
        ["when", "ill", "sex", "age", "job"]
    )
    assert same(PLAN.estimate(more), PLAN.estimate(reports))


def test_reports_of_another_plan_are_rejected(reports):
    for other in (
        plan_for(counts(), 1.1, "oue"),
        plan_for(counts(), 1.0, "grr"),
        plan_for(counts().select(["sex", "job"]), 1.0, "oue"),
    ):
        assert "reports of another plan" in error_message(reports, other)


def test_notes_and_limits_do_not_matter(reports):
    other = plan_for(counts(), 1.0, "oue", notes=["another"])
    assert other.digest != PLAN.digest
    assert same(other.estimate(reports), PLAN.estimate(reports))


def test_columns_must_come_from_the_mechanisms_of_the_plan(reports):
    """Also where the collection is not stated, as in tables put together by hand."""
    bare = reports.replace_schema_metadata(None)
    assert same(PLAN.estimate(bare), PLAN.estimate(reports))
    other = plan_for(counts(), 2.0, "oue")
    message = error_message(bare, other)
    assert "column 'sex' of the table must hold reports of" in message
    assert "'epsilon': 2.0" in message
    assert "must have one column of reports 'ill'" in error_message(
        bare.drop_columns("ill")
    )
    assert "column 'sex'" in error_message(bare.set_column(0, "sex", [["F"] * 1000]))


def with_metadata(table, content):
    field = table.schema.field(0).with_metadata(
        {METADATA: content} if content else None
    )
    return table.replace_schema_metadata(None).set_column(0, field, table.column(0))


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"[]", b'{"kind": "bits"}', b"\xff"]
)
def test_damaged_metadata_is_rejected(reports, content):
    assert "column 'sex' of the table must hold reports of" in error_message(
        with_metadata(reports, content)
    )


def test_a_false_type_under_true_metadata_is_rejected(reports):
    field = reports.schema.field(0)
    text = pa.field(field.name, pa.string(), metadata=field.metadata)
    bare = reports.replace_schema_metadata(None)
    assert "column 'sex'" in error_message(bare.set_column(0, text, [["x"] * 1000]))


def test_empty_reports_are_rejected(reports):
    field = reports.schema.field(0).with_nullable(True)
    gaps = pa.array([None, *reports.column(0).to_pylist()[1:]], field.type)
    message = error_message(
        reports.replace_schema_metadata(None).set_column(0, field, gaps)
    )
    assert (
        "record 1: column 'sex' is damaged: it must hold one report of each person"
        in message
    )


def test_impossible_reports_are_rejected(reports):
    field = reports.schema.field(0)
    forged = pa.array([b"\xff" * 8] * 1000, field.type)
    forged_table = reports.replace_schema_metadata(None).set_column(0, field, forged)
    assert "must set bits below 2" in error_message(forged_table)
    with pytest.raises(InputError, match="must set bits below 2"):
        PLAN.table(forged_table, "sex", by="job")


def test_an_empty_table_of_reports_raises(reports):
    assert "must not be empty" in error_message(reports.slice(0, 0))
    with pytest.raises(InputError, match="must not be empty"):
        PLAN.table(reports.slice(0, 0), "sex", by="job")


def test_other_objects_than_reports_raise(reports, tmp_path):
    assert "must be an Arrow table" in error_message(12)
    pa.csv.write_csv(people(10), tmp_path / "people.csv")
    assert "holds no reports of the plan" in error_message(tmp_path / "people.csv")
    pq.write_table(people(10), tmp_path / "people.parquet")
    assert "column 'sex'" in error_message(tmp_path / "people.parquet")
    assert "there is no file or folder" in error_message(tmp_path / "reports.parquet")


def test_a_truncated_or_damaged_file_is_rejected(tmp_path):
    path = tmp_path / "reports.parquet"
    perturb_file(PLAN, people(5000), path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert "cannot be read as a Parquet file of reports" in error_message(path)
    damaged = bytearray(content)
    damaged[len(content) // 3] ^= 0xFF
    path.write_bytes(bytes(damaged))
    assert "cannot be read as a Parquet file of reports" in error_message(path)


def test_batches_are_small_whatever_the_file(tmp_path):
    plan = plan_for(counts().select(["sex", "ill"]), 1.0)
    path = tmp_path / "reports.parquet"
    table = plan.perturb(people(200_000))
    pq.write_table(table, path, row_group_size=200_000)
    sizes = [
        len(batch[0]) for _, batch, _ in open_reports(plan, path).by_form({0: ["ill"]})
    ]
    assert sum(sizes) == 200_000
    assert max(sizes) <= 1 << 16


def test_the_collection_is_in_the_file(tmp_path):
    path = tmp_path / "reports.parquet"
    perturb_file(PLAN, people(10), path)
    schema = pq.read_schema(path)
    assert schema.metadata[b"seepage.collection"].decode() == PLAN.collection
    described = msgspec.json.decode(schema.field("job").metadata[METADATA])
    assert described["origin"] == PLAN.mechanisms["job"].describe()


# Damage -------------------------------------------------------------------------------


def with_reports(table, values):
    """The reports with the first entries of the first column replaced."""
    field = table.schema.field(0)
    column = table.column(0).to_pylist()
    column[: len(values)] = values
    return table.set_column(0, field, pa.array(column, field.type))


DAMAGED = {
    "grr": ([0, 1, 2], "record 3: column 'sex' is damaged: reports must hold integers"),
    "oue": (
        [b"\xff" + b"\0" * 7],
        "record 1: column 'sex' is damaged: reports must set bits",
    ),
    "ss": (
        [b"\0" * 8],
        "record 1: column 'sex' is damaged: reports must hold exactly 1",
    ),
    "olh": (
        [{"seed": 1, "bucket": 9}],
        "record 1: column 'sex' is damaged: reports must name",
    ),
    "she": (
        [[0.0, 1e308]],
        "record 1: column 'sex' is damaged: reports must hold numbers from",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("as_file", [False, True])
def test_a_report_that_cannot_be_drawn_is_named(tmp_path, name, as_file):
    plan = plan_for(counts(), 1.0, name)
    values, message = DAMAGED[name]
    table = with_reports(plan.perturb(people(100)), values)
    if as_file:
        pq.write_table(table, tmp_path / "r.parquet", use_compliant_nested_type=False)
        table = tmp_path / "r.parquet"
    assert message in error_message(table, plan)
    for use in (
        lambda: plan.table(table, "sex", by="job"),
        lambda: plan.regress(table, "sex ~ job"),
    ):
        with pytest.raises(InputError, match="is damaged"):
            use()


@pytest.fixture(scope="module")
def vectors():
    plan = plan_for(counts(), 1.0, "she")
    reports = plan.perturb(people(70_000))
    return plan, reports, reports.column(0).to_pylist()


@pytest.mark.parametrize(
    "entry", [1e308, -1e308, 205.1, -204.1, math.nan, math.inf, None]
)
def test_vectors_beyond_the_noise_are_damaged(vectors, entry):
    """At epsilon 1 the scale is 2, and noise reaches 204."""
    plan, reports, column = vectors
    column[69_999] = [0.0, entry]
    field = reports.schema.field(0)
    damaged = reports.set_column(0, field, pa.array(column, field.type))
    assert "the table, record 70,000: column 'sex' is damaged" in error_message(
        damaged, plan
    )
    column[69_999] = [-204.0, 205.0]
    assert plan.estimate(reports.set_column(0, field, pa.array(column, field.type)))


def test_empty_parts_of_reports_are_rejected():
    plan = plan_for(counts(), 1.0, "olh")
    table = with_reports(plan.perturb(people(100)), [{"seed": None, "bucket": 1}])
    assert "got null values" in error_message(table, plan)


@pytest.mark.parametrize("step", [16, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["grr", "oue", "olh", "she"])
def test_a_changed_byte_raises_or_changes_nothing(tmp_path, name, step):
    plan = plan_for(counts(200).select(["sex", "job"]), 1.0, name)
    path = tmp_path / "reports.parquet"
    perturb_file(plan, people(40), path)
    content = path.read_bytes()
    expected = plan.estimate(path)
    rng = random.Random(1)
    raised = 0
    for position in range(0, len(content), step):
        damaged = bytearray(content)
        damaged[position] ^= rng.choice([1, 0x80, 0xFF])
        path.write_bytes(bytes(damaged))
        try:
            assert same(plan.estimate(path), expected)
        except InputError:
            raised += 1
    assert raised > len(content) / step / 4


@pytest.mark.posix
def test_a_pipe_is_rejected_with_the_reason(tmp_path):
    os.mkfifo(tmp_path / "reports")
    assert "must be a file or a folder" in error_message(tmp_path / "reports")


def test_a_file_of_reports_that_is_given_twice_raises(tmp_path):
    path = tmp_path / "reports.parquet"
    link = tmp_path / "link.parquet"
    perturb_file(PLAN, people(10), path)
    assert "reports.parquet is given twice" in error_message([path, path])
    link.symlink_to(path)
    for twice in ([path, link], tmp_path, str(tmp_path / "*.parquet")):
        assert "reports.parquet is given twice, also as" in error_message(twice) or (
            "link.parquet is given twice, also as" in error_message(twice)
        )


@pytest.mark.parametrize("mechanism", ["grr", "oue", "olh", "ss", "she"])
def test_frames_of_reports_are_read_like_the_table(mechanism):
    plan = plan_for(counts(), 1.0, mechanism)
    table = plan.perturb(people(300))
    expected = plan.estimate(table).to_pandas()
    for frame in (table.to_pandas(), pl.from_arrow(table)):
        assert plan.estimate(frame).to_pandas().equals(expected)


def test_frames_of_forms_have_gaps():
    coins = sp.Records.from_data(people(2000))
    plan = sp.design(coins, 1.0, scope="table", effort=0.02)
    table = plan.perturb(people(500))
    assert (
        plan.estimate(table.to_pandas())
        .to_pandas()
        .equals(plan.estimate(table).to_pandas())
    )


def test_frames_without_reports_raise_one_line(reports):
    assert "must have one column of reports" in error_message(
        reports.to_pandas().iloc[:, 1:]
    )
    assert "holds no reports of the plan" in error_message(
        reports.to_pandas().assign(sex="x")
    )
