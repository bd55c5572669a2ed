"""The published JSON schemas are those of the code, and of what it writes."""

import json
from dataclasses import asdict

import jsonschema
import numpy as np
import pytest

import seepage as sp
from pictures import ROOT, script
from seepage.tables.codebooks import read_codebook_rows

FOLDER = ROOT / "docs" / "schemas"
SCHEMAS = script("make_schemas")

TABLE = {
    "person": np.repeat(np.arange(1_000), 2),
    "sex": np.repeat(np.arange(1_000) % 2, 2),
    "ill": np.arange(2_000) % 7 == 0,
    "hours": np.arange(2_000) % 41,
}


SEX = {"values": ["Female", "Male"], "keep": 0.7}


def check(name, content):
    schema = json.loads((FOLDER / f"{name}-1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(content)


def rejects(name, content):
    with pytest.raises(jsonschema.ValidationError):
        check(name, content)


def frame(columns):
    pa = pytest.importorskip("pyarrow")
    return pa.table(columns)


def test_the_schemas_are_current():
    written = {p.name: p.read_text(encoding="utf-8") for p in FOLDER.glob("*.json")}
    assert SCHEMAS.texts() == written, "run scripts/make_schemas.py"


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    made = sp.design(sp.make_survey(5_000), 2.0, effort=0.02)
    return made, tmp_path_factory.mktemp("plan")


def test_a_plan(plan):
    made, folder = plan
    made.save(folder / "plan.json")
    content = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    check("plan", content)
    rejects("plan", {**content, "version": 2})
    rejects("plan", {**content, "more": 1})


def test_a_plan_of_equal_budgets(tmp_path):
    sp.calibrate("adult", 3.0, columns=["sex", "income"]).save(tmp_path / "plan.json")
    check("plan", json.loads((tmp_path / "plan.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": "grr", "limit": 2.0},
        {"uncertainty": 0.02, "limit": 1.0, "epsilon": 0.5},
        {"mechanism": "gauss", "delta": 1e-6},
        {"mechanism": "grr", "guarantee": ["exact", "witness"]},
    ],
)
def test_an_analysis(options, tmp_path):
    table = frame({name: TABLE[name] for name in ("sex", "ill")})
    found = sp.analyse(table, **{"epsilon": 1.0, **options})
    found.save(tmp_path / "analysis.json")
    content = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    check("analysis", content)
    rejects("analysis", {key: content[key] for key in content if key != "verdict"})
    assert repr(sp.Analysis.load(tmp_path / "analysis.json")) == repr(found)


@pytest.mark.parametrize(
    ("randomiser", "options"),
    [
        ({"k": 20, "keep": 0.5}, {"claim": 2.0}),
        (np.eye(2), {"claim": 1.0}),
        ({"attributes": {"sex": SEX}}, {"claim": 1.0, "data": "adult"}),
    ],
)
def test_an_audit(randomiser, options, tmp_path):
    sp.audit(randomiser, **options).save(tmp_path / "audit.json")
    content = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    check("audit", content)
    rejects("audit", {**content, "format": "seepage analysis"})
    sp.Audit.load(tmp_path / "audit.json")
    (tmp_path / "later.json").write_text(json.dumps({**content, "version": 2}))
    with pytest.raises(sp.InputError, match="no saved audit"):
        sp.Audit.load(tmp_path / "later.json")


def test_a_check():
    content = json.loads(json.dumps(sp.check(frame(TABLE)).to_dict()))
    assert content["format"] == "seepage check"
    assert content["version"] == 1
    assert content["repeats"]
    check("check", content)
    rejects("check", {**content, "records": "2,000"})


def test_a_check_of_a_plan(plan):
    made, _ = plan
    content = json.loads(json.dumps(made.check(sp.make_survey(2_000)).to_dict()))
    assert content["format"] == "seepage plan check"
    assert content["version"] == 1
    assert [row["attribute"] for row in content["attributes"]] == list(
        made.domain.names
    )
    check("plan-check", content)
    rejects("plan-check", {**content, "records": "2,000"})


def test_codebooks(plan, tmp_path):
    made, folder = plan
    made.save_codebook(folder / "plan.csv")
    sp.check(frame(TABLE)).save_codebook(tmp_path / "check.csv")
    for file in (folder / "plan.csv", tmp_path / "check.csv"):
        rows = [asdict(row) for row in read_codebook_rows(file)]
        assert len(rows) > 3
        check("codebook", rows)
    rejects("codebook", [{**rows[0], "role": "ask nobody"}])
