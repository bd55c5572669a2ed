"""A plan of people with several records: each person sends one report, of the first
record.
"""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seepage as sp
from command import run
from seepage._core.errors import TableError
from seepage.channel.records import Records
from seepage.collection.perturb_table import perturb_file
from seepage.pages.plan_page import plan_page
from seepage.plan.promises import ground
from seepage.workflow.plan import Plan

PEOPLE = 400
VISITS = 10
CLEAR = 80.0  # nats: at this limit nearly every report is the answer itself


def panel(seed=1):
    """Ten visits of each person in random order, whose first ones are known."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(PEOPLE), VISITS))
    columns = {
        "id": ids,
        "ward": rng.integers(0, 3, len(ids)),
        "ill": rng.integers(0, 2, len(ids)),
    }
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def first_records(table):
    return table.to_pandas().drop_duplicates("id")


@pytest.fixture(scope="module")
def plan():
    return sp.calibrate(panel(), CLEAR, guarantee="worst", mechanism="grr", person="id")


def codes(plan, frame):
    return {
        name: [plan.domain[name].code(str(value)) for value in frame[name]]
        for name in plan.collected.names
    }


def reported(reports):
    return {name: reports.column(name).to_pylist() for name in reports.column_names}


def test_each_person_sends_the_report_of_the_first_record(plan):
    assert plan.person == "id"
    reports = plan.perturb(panel(), rng=1)
    assert reports.num_rows == PEOPLE
    assert reported(reports) == codes(plan, first_records(panel()))


@pytest.mark.parametrize("limit", [2.0, CLEAR])
def test_a_design_keeps_its_person(limit, tmp_path):
    made = sp.design(panel(), limit, person="id", shape="never", effort=0.02)
    assert made.person == "id"
    assert made.perturb(panel()).num_rows == PEOPLE
    made.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json").perturb(panel()).num_rows == PEOPLE


def test_all_plans_of_a_comparison_have_the_person():
    found = sp.compare_limits(panel(), [1, 2], person="id", shape="never", effort=0.02)
    assert [plan.person for plan in found.plans] == ["id", "id"]


def test_records_read_by_person_give_plans_with_it():
    records = Records.from_data(panel(), person="id")
    assert sp.calibrate(records, 2.0, guarantee="worst").person == "id"
    some = records.select(["ward"])
    assert sp.design(some, 2.0, scope="table", shape="never").person == "id"


def test_files_of_several_batches_give_one_report_each(plan, tmp_path):
    table = panel()
    for number in range(4):
        part = table.slice(number * 1000, 1000)
        pyarrow.csv.write_csv(part, tmp_path / f"part{number}.csv")
    output = tmp_path / "reports.parquet"
    assert perturb_file(plan, str(tmp_path / "*.csv"), output) == PEOPLE
    assert plan.estimate(output).records == PEOPLE


def test_dropped_records_are_not_the_first():
    """In an analysis the first record of each person that is not dropped is kept."""
    table = pa.table({"id": [1, 1, 2, 2], "ill": [None, "yes", "no", "yes"]})
    records = Records.from_data(table, missing="drop", person="id")
    assert records.domain["ill"].values == ("no", "yes")
    assert records.marginal(0).tolist() == [1, 1]


def test_identifiers_derive_the_report_of_each_person(plan):
    key = bytes(range(32))
    first = plan.perturb(panel(), identifier="id", key=key)
    assert first.num_rows == PEOPLE
    assert first.equals(plan.perturb(panel(), identifier="id", key=key))
    named = panel().append_column("name", panel()["id"].cast(pa.string()))
    assert first.equals(plan.perturb(named, identifier="name", key=key))


def test_a_table_without_the_column_raises_one_line(plan, tmp_path):
    with pytest.raises(TableError) as caught:
        plan.perturb(panel().rename_columns(["ids", "ward", "ill"]))
    assert str(caught.value) == (
        "one report is sent for each 'id', and the table has no such column; did you "
        "mean 'ids'?"
    )
    with pytest.raises(TableError, match=r"record 2: column 'id' is missing"):
        plan.perturb(pa.table({"id": [1, None], "ward": [0, 0], "ill": [0, 0]}))


def test_the_column_can_have_another_name_or_be_named_later(plan):
    renamed = panel().rename_columns(["patient", "ward", "ill"])
    assert plan.perturb(renamed, person="patient").num_rows == PEOPLE
    counted = sp.calibrate(sp.count_pairs(panel(), person="id"), 2.0, guarantee="worst")
    assert counted.person is None
    assert counted.perturb(panel()).num_rows == PEOPLE * VISITS
    assert counted.perturb(panel(), person="id").num_rows == PEOPLE


def test_a_check_reads_one_record_of_each_person(plan):
    assert plan.check(panel(2)).records == PEOPLE
    assert (
        plan.check(Records.from_data(panel(2), person="id", domain=plan.domain)).records
        == 400
    )
    one_each = pa.Table.from_pandas(first_records(panel(2)))
    assert plan.check(one_each).records == PEOPLE
    with pytest.raises(TableError, match="no column 'id'"):
        plan.check(panel().drop_columns("id"))


def test_page_and_file_name_the_column(plan):
    content = plan.to_dict()["plan"]["provenance"]
    assert content["person"] == "id"
    made = sp.design(panel(), 2.0, person="id", shape="never", effort=0.02)
    assert "one record per person (column 'id')" in ground(made)
    assert "Each person, by the column &#39;id&#39;, answers once." in plan_page(made)


def test_plans_without_a_person_are_as_before():
    without = sp.calibrate(panel().drop_columns("id"), 2.0, guarantee="worst")
    assert without.person is None
    assert "person" not in without.to_dict()["plan"]["provenance"]
    assert "Each person answers once." in plan_page(without)
    assert without.perturb(panel()).num_rows == PEOPLE * VISITS


def test_reports_of_clients_do_not_depend_on_the_person(plan):
    without = sp.calibrate(
        panel().drop_columns("id"), CLEAR, guarantee="worst", mechanism="grr"
    )
    assert without.collection == plan.collection
    assert without.digest != plan.digest


def test_the_commands_send_one_report_of_each_person(tmp_path):
    files = {
        name: str(tmp_path / name)
        for name in ("panel.csv", "plan.json", "key", "out.parquet")
    }
    data, saved, key, output = files.values()
    pyarrow.csv.write_csv(panel(), data)
    run(
        "calibrate",
        data,
        "--limit",
        "2",
        "--guarantee",
        "worst",
        "--person",
        "id",
        "-o",
        saved,
    )
    given = data, "--plan", saved, "-o", output
    told = f"{PEOPLE} reports of 2 attributes, one for each 'id' -> "
    assert told in run("perturb", *given).stdout
    assert (
        told in run("perturb", *given, "--identifier", "id", "--key-file", key).stdout
    )
    pyarrow.csv.write_csv(panel().drop_columns("id"), data)
    refused = run("perturb", *given)
    assert refused.returncode == 2
    assert (
        "one report is sent for each 'id', and the table has no such column"
        in refused.stderr
    )
