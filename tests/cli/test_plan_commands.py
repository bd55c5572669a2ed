"""`seepage perturb` and `seepage estimate` as a user meets them."""

import contextlib
import csv
import io
import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import seepage as sp
from seepage.cli import main
from seepage.workflow.plan import Plan

SCRIPT = """
import sys
from seepage.cli import main
main(sys.argv[1:])
"""


def run(*arguments, cwd="."):
    """Run a command in this process, for speed; `test_the_whole_way` starts one of its
    own.
    """
    out = io.StringIO()
    err = io.StringIO()
    code = 0
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main(list(map(str, arguments)))
        except SystemExit as end:
            code = end.code
    return SimpleNamespace(
        returncode=code, stdout=out.getvalue(), stderr=err.getvalue()
    )


def check_error(done, message):
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stdout == ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A survey, its plan, and the reports of its people."""
    place = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(11)
    sex = rng.choice(["F", "M"], 4000)
    job = np.where(
        rng.random(4000) < 0.7, np.where(sex == "F", "nurse", "smith"), "other"
    )
    table = pa.table({"sex": sex, "job": job, "age": rng.integers(18, 91, 4000)})
    pa.csv.write_csv(table, place / "survey.csv")
    pairs = sp.count_pairs(table, bins={"age": [18, 40, 60, 90]})
    plan = sp.calibrate(pairs, 6.0, guarantee="worst")
    plan.save(place / "plan.json")
    done = run(
        "perturb",
        "survey.csv",
        "--plan",
        "plan.json",
        "-o",
        "reports.parquet",
        cwd=place,
    )
    assert done.returncode == 0, done.stderr
    assert "4,000 reports of 3 attributes -> reports.parquet" in done.stdout
    assert done.stderr == ""
    return place


def test_from_calibration_to_estimates(folder):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            SCRIPT,
            "estimate",
            "reports.parquet",
            "--plan",
            "plan.json",
        ],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "4,000 reports of 3 attributes, unbiased" in done.stdout
    expected = Plan.load(folder / "plan.json").estimate(folder / "reports.parquet")
    assert f"{expected['job'].frequencies[0]:.5f}" in done.stdout
    assert abs(expected["sex"].frequencies[0] - 0.5) < 0.1


def test_json_csv_and_files(folder, tmp_path):
    arguments = ["estimate", folder / "reports.parquet", "--plan", folder / "plan.json"]
    expected = Plan.load(folder / "plan.json").estimate(folder / "reports.parquet")
    done = run(*arguments, "--format", "json")
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))
    done = run(
        *arguments, "--format", "csv", "--consistent", "-o", tmp_path / "out.csv"
    )
    assert done.stdout == ""
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    sums = sum(float(row["frequency"]) for row in rows if row["attribute"] == "job")
    assert abs(sums - 1) < 1e-9
    assert min(float(row["frequency"]) for row in rows) >= 0


def test_tables(folder):
    arguments = ["--plan", "plan.json", "--table", "sex,job"]
    done = run(
        "estimate", "reports.parquet", *arguments, "--format", "json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    plan = Plan.load(folder / "plan.json")
    expected = plan.table(folder / "reports.parquet", "sex", by="job")
    assert np.allclose(found["cells"]["estimate"], expected.values)
    assert found["people_by_form"] == {"1": 4000}
    done = run("estimate", "reports.parquet", *arguments, cwd=folder)
    assert "4,000 people: 4,000 of form 1; as precise as" in done.stdout
    assert "share of sex given job" in done.stdout
    done = run(
        "estimate",
        "reports.parquet",
        *arguments,
        "--consistent",
        "--format",
        "csv",
        cwd=folder,
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert abs(sum(float(row["estimate"]) for row in rows) - 1) < 1e-9


def test_regressions_weights_and_totals(folder, tmp_path):
    usual = ["estimate", "reports.parquet", "--plan", "plan.json"]
    plan = Plan.load(folder / "plan.json")
    reports = folder / "reports.parquet"
    done = run(*usual, "--regress", "sex ~ age", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["coefficients"]
    assert np.allclose(found["coefficient"], plan.regress(reports, "sex ~ age").values)
    assert "age[T." in run(*usual, "--regress", "sex ~ age", cwd=folder).stdout
    region = ["north"] * 1000 + ["south"] * 3000
    weights = [3.0] * 1000 + [1.0] * 3000
    beside = tmp_path / "beside.csv"
    lines = [
        f"{r},{w},{i % 7}" for i, (r, w) in enumerate(zip(region, weights, strict=True))
    ]
    beside.write_text("region,w,x\n" + "\n".join(lines))
    totals = tmp_path / "totals.csv"
    totals.write_text("attribute,value,total\nregion,north,1\nregion,south,1\n")
    given = [*usual, "--covariates", beside]
    weighted = run(*given, "--weights", "w", "--format", "json", cwd=folder)
    raked = run(*given, "--known-totals", totals, "--format", "json", cwd=folder)
    expected = plan.estimate(reports, weights=weights).to_dict()
    assert json.loads(weighted.stdout) == expected
    for name, part in json.loads(raked.stdout)["attributes"].items():
        assert np.allclose(
            part["frequencies"], expected["attributes"][name]["frequencies"]
        )
    done = run(*given, "--regress", "sex ~ x + region", "--weights", "w", cwd=folder)
    assert "region[T.south]" in done.stdout, done.stderr
    assert "sandwich" in done.stdout
    check_error(
        run(*usual, "--known-totals", totals, cwd=folder),
        "--known-totals needs --covariates",
    )


def test_a_seed_repeats_and_says_what_it_is(folder, tmp_path):
    arguments = [
        "perturb",
        folder / "survey.csv",
        "--plan",
        folder / "plan.json",
        "--seed",
        5,
    ]
    for name in ("one", "two"):
        done = run(*arguments, "-o", tmp_path / name)
        assert done.returncode == 0
        assert "for research only" in done.stderr
    assert pq.read_table(tmp_path / "one").equals(pq.read_table(tmp_path / "two"))
    assert not pq.read_table(tmp_path / "one").equals(
        pq.read_table(folder / "reports.parquet")
    )


def test_a_value_outside_the_domain(folder, tmp_path):
    content = (folder / "survey.csv").read_text().replace("smith", "secret pilot", 1)
    row = content[: content.index("secret pilot")].count("\n")
    (tmp_path / "odd.csv").write_text(content)
    arguments = ["perturb", tmp_path / "odd.csv", "--plan", folder / "plan.json"]
    done = run(*arguments, "-o", tmp_path / "r.parquet")
    check_error(done, f"record {row:,}: column 'job' has a value outside the domain")
    assert "secret" not in done.stderr
    assert not (tmp_path / "r.parquet").exists()


BAD_CALLS = {
    "no such plan": (
        ["perturb", "survey.csv", "--plan", "plam.json"],
        "plam.json cannot be read",
    ),
    "no such data": (["perturb", "surwey.csv", "--plan", "plan.json"], "did you mean"),
    "records for reports": (
        ["estimate", "survey.csv", "--plan", "plan.json"],
        "survey.csv",
    ),
    "unknown in a table": (
        ["estimate", "reports.parquet", "--plan", "plan.json", "--table", "sex,jab"],
        "did you mean 'job'?",
    ),
    "consistent regression": (
        [
            "estimate",
            "reports.parquet",
            "--plan=plan.json",
            "--regress",
            "a ~ b",
            "--consistent",
        ],
        "--consistent is for frequencies",
    ),
    "unknown column": (
        ["estimate", "reports.parquet", "--plan=plan.json", "--regress", "sex ~ jab"],
        "there is no column 'jab'; did you mean 'job'?",
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_calls_end_in_one_clear_line(folder, tmp_path, case):
    arguments, message = BAD_CALLS[case]
    before = sorted(folder.iterdir())
    done = run(*arguments, "-o", tmp_path / "out", cwd=folder)
    check_error(done, message)
    assert not list(tmp_path.iterdir())
    assert sorted(folder.iterdir()) == before


def test_an_edited_plan_is_rejected_by_both(folder, tmp_path):
    text = (
        (folder / "plan.json")
        .read_text()
        .replace('"epsilon": 2.0', '"epsilon": 9.0', 1)
    )
    (tmp_path / "plan.json").write_text(text)
    plan = ["--plan", tmp_path / "plan.json"]
    done = run("perturb", folder / "survey.csv", *plan, "-o", tmp_path / "r.parquet")
    check_error(done, "it was edited, its content does not match its digest; plan anew")
    check_error(run("estimate", folder / "reports.parquet", *plan), "was edited")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_one_absurd_report_or_damaged_metadata_end_in_one_line(folder, tmp_path):
    pairs = sp.count_pairs(folder / "survey.csv", bins={"age": [18, 40, 60, 90]})
    plan = sp.calibrate(pairs, 6.0, guarantee="worst", mechanism="she")
    plan.save(tmp_path / "plan.json")
    reports = plan.perturb(folder / "survey.csv")
    place = reports.schema.get_field_index("age")
    ages = reports.column("age").to_pylist()
    ages[1234][1] = 1e308
    field = reports.schema.field("age")
    pq.write_table(
        reports.set_column(place, field, pa.array(ages, field.type)),
        tmp_path / "absurd.parquet",
        use_compliant_nested_type=False,
    )
    field = field.with_metadata({b"seepage.reports": b'{"kind": "\xff"}'})
    pq.write_table(
        reports.set_column(place, field, reports.column("age")),
        tmp_path / "metadata.parquet",
        use_compliant_nested_type=False,
    )
    for name, message in {
        "absurd": "record 1,235: column 'age' is damaged",
        "metadata": "column 'age' of metadata.parquet must hold reports of",
    }.items():
        for more in ([], ["--table", "sex,age"], ["--regress", "sex ~ age"]):
            call = ["estimate", f"{name}.parquet", "--plan", "plan.json", *more]
            check_error(run(*call, cwd=tmp_path), message)


def test_help_has_examples():
    for command in ("perturb", "estimate"):
        done = run(command, "--help")
        assert done.returncode == 0
        assert "Examples:" in done.stdout
    assert "RESEARCH ONLY" in run("perturb", "--help").stdout
