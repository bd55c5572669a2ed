"""Simulated people answer in Chromium, a local endpoint collects, and estimates find
the truth.
"""

import gzip
import json

import numpy as np
import pytest
from scipy.stats import chisquare

import wires
from collector import collecting
from command import run
from plan_examples import counts, people, plan_for, three_forms
from seepage.collection.client_files import client_vectors, write_client

DRIVE = """
async ({ records, endpoint }) => {
  const client = await import("./seepage.js");
  const plan = await client.loadPlan(await (await fetch("plan.json")).text());
  const one = async (record) => {
    const person = new client.Respondent(plan, { storage: client.memoryStorage() });
    await person.report(record);
    await person.send(endpoint);
  };
  for (let begin = 0; begin < records.length; begin += 20) {
    await Promise.all(records.slice(begin, begin + 20).map(one));
  }
}
"""

COMPARE = """
async () => {
  const client = await import("./seepage.js");
  const job = await fetch("job.json", { cache: "no-store" });
  const { plan, vectors } = await job.json();
  const loaded = await client.loadPlan(plan);
  const octets = (text) =>
    Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
  const forms = vectors.forms.filter(
    ([bytes, number]) => client.drawForm(loaded, octets(bytes)).number !== number);
  const records = vectors.records.filter(({ form, answers, bytes, report }) => {
    const made = client.perturb(loaded.forms[form - 1], answers, octets(bytes));
    return client.canonicalJson(made) !== client.canonicalJson(report);
  });
  return forms.length + records.length;
}
"""

SHARES = [0.5, 0.3, 0.2]
"""Of `three_forms`."""


def binned(rows):
    """People with the value of their age's bin."""
    bins = counts().domain["age"].values
    return [
        {**person, "age": bins[(person["age"] >= 40) + (person["age"] >= 60)]}
        for person in people(rows).to_pylist()
    ]


def share_of(records, name, values):
    return np.array(
        [sum(one[name] == value for one in records) for value in values]
    ) / len(records)


@pytest.fixture
def site(tmp_path):
    with collecting(tmp_path) as server:
        (tmp_path / "index.html").write_text("<!doctype html><title>people</title>")
        server.folder = tmp_path
        yield server


def collect(tab, site, plan, records):
    """Let everybody answer in the page; return the file of what arrived."""
    write_client(plan, site.folder)
    tab.goto(f"{site.address}/index.html")
    tab.evaluate(DRIVE, {"records": records, "endpoint": f"{site.address}/reports"})
    path = site.folder / "reports.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(site.lines)))
    return path


def check_everyone_asked_the_same(tab, site, rows):
    plan = plan_for(
        counts(), 2.0, {"sex": "grr", "job": "ss", "age": "oue", "ill": "rappor"}
    )
    records = binned(rows)
    check_estimates(plan, collect(tab, site, plan, records), records)


def check_estimates(plan, reports, records):
    """`seepage estimate` finds the frequencies of those who were asked, within standard
    errors.
    """
    path = reports.with_name("whole-plan.json")
    plan.save(path)
    done = run("estimate", reports, "--plan", path, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["records"] == len(records)
    for name, estimate in found["attributes"].items():
        gaps = np.array(estimate["frequencies"]) - share_of(
            records, name, estimate["values"]
        )
        assert np.abs(gaps / estimate["standard_errors"]).max() < 4.5


def check_three_forms(tab, site, rows):
    """Return plan, reports and records of people who got their forms by the shares."""
    plan = three_forms(counts())
    records = binned(rows)
    reports = collect(tab, site, plan, records)
    forms = [json.loads(line)["form"] for line in site.lines]
    seen = np.bincount(forms, minlength=4)[1:]
    assert chisquare(seen, rows * np.array(SHARES)).pvalue > 1e-6
    assert chisquare(seen, rows * np.array(SHARES[::-1])).pvalue < 1e-6
    return plan, reports, records


def test_reports_of_people_give_their_frequencies(tab, site):
    check_everyone_asked_the_same(tab, site, 150)


def test_forms_are_given_by_their_shares(tab, site):
    check_three_forms(tab, site, 150)


@pytest.mark.slow
def test_reports_of_two_thousand_people_give_their_frequencies(tab, site):
    check_everyone_asked_the_same(tab, site, 2000)


@pytest.mark.slow
def test_forms_of_two_thousand_people_are_given_by_their_shares(tab, site):
    check_estimates(*check_three_forms(tab, site, 2000))


def check_vectors(tab, site, wire, count):
    wires.install_client(site.folder)
    tab.goto(f"{site.address}/index.html")
    job = {"plan": wires.client_file(wire), "vectors": client_vectors(wire, count)}
    for spoilt in (0, 1):
        job["vectors"]["records"][0]["report"]["form"] += spoilt
        (site.folder / "job.json").write_text(json.dumps(job))
        assert tab.evaluate(COMPARE) == spoilt


def test_vectors_come_out_in_chromium_as_in_python(tab, site):
    check_vectors(tab, site, wires.three_forms_wire(), 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*wires.MECHANISMS, "forms"])
def test_ten_thousand_vectors_come_out_in_chromium_as_in_python(tab, site, name):
    made = wires.MECHANISMS.get(name)
    wire = wires.three_forms_wire() if made is None else wires.one_question_wire(made)
    check_vectors(tab, site, wire, 10_000)
