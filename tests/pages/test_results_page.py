"""The page of results: what was estimated, promised and found, and nothing that runs."""

import re
from html import escape, unescape

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from command import run
from plan_examples import (
    DOMAIN,
    counts,
    forms_plan,
    people,
    plan_for,
    product,
    three_forms,
)

PEOPLE = people(3000)
PLAN = plan_for(counts(), 2.0)
REPORTS = PLAN.perturb(PEOPLE, rng=1)
DRIFTED = [("sex", "F", "M"), ("job", "nurse", "smith"), ("ill", "yes", "no")]
TOLD = "that all reports of a person together tell at most"


def page_of(folder, plan=PLAN, reports=REPORTS, **options):
    found = sp.write_results(plan, reports, folder / "page.html", **options)
    return found, unescape((folder / "page.html").read_text(encoding="utf-8"))


def rows(page):
    """The rows of the tables of shares: value, percentage and interval."""
    pattern = (
        r"<bdi>([^<]*)</bdi></th><td>(-?[\d.]+)</td><td>(-?[\d.]+) to (-?[\d.]+)</td>"
    )
    return [
        (value, *map(float, numbers)) for value, *numbers in re.findall(pattern, page)
    ]


@pytest.mark.parametrize("consistent", [False, True])
def test_every_share_is_shown_with_its_interval(tmp_path, consistent):
    found, page = page_of(tmp_path, consistent=consistent)
    assert found.to_dict() == PLAN.estimate(REPORTS, consistent=consistent).to_dict()
    expected = [
        (value, *(100 * np.array([share.value, *share.interval])))
        for attribute in DOMAIN
        for value in attribute.values
        for share in [found.share(attribute.name, value)]
    ]
    shown = rows(page)
    assert [row[0] for row in shown] == [row[0] for row in expected]
    assert np.allclose([r[1:] for r in shown], [r[1:] for r in expected], atol=0.0501)
    assert page.count('<svg class="whisker"') == len(expected)
    assert ("nearest distributions" in page) == consistent
    assert "<script" not in page
    assert "script-src" not in page


def found_in(page):
    """The paragraphs of the first section."""
    section = page[
        page.index('<section id="found"') : page.index('<section id="results"')
    ]
    return re.findall(r"<p[^>]*>(.*?)</p>", section, re.DOTALL)


def test_the_page_begins_with_what_was_found(tmp_path):
    found, page = page_of(tmp_path)
    errors = [estimate.standard_errors.max() for estimate in found.estimates.values()]
    first, promise, checked = found_in(page)
    assert first.startswith(
        "3,000 people reported, and every share is known to within "
    )
    width = float(re.search(r"within ([\d.]+) points \(19 times of 20\)\.$", first)[1])
    assert 0 <= width - 196 * max(errors) < 0.1
    assert promise.startswith(
        f"The plan promises, whoever the people are, {TOLD} 8 nats"
    )
    assert checked == "Whether it still holds was not checked on a newer table."
    assert page.index(first) < page.index('class="shares"')


@pytest.mark.parametrize("limit", [1.0, 40.0])
def test_the_first_sentences_say_whether_the_limits_hold_on_a_newer_table(
    tmp_path, limit
):
    plan = sp.calibrate(
        PEOPLE.select(["sex", "job", "ill"]), limit, scope="table", mechanism="grr"
    )
    drifted = pa.table({name: [a, b] * 50 for name, a, b in DRIFTED})
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1), data=drifted)
    _, promise, checked = found_in(page)
    assert (
        f"The plan promises, for people distributed as in its table, {TOLD} {limit:g}"
        in promise
    )
    assert checked.startswith("On a newer table of 100 records ")
    above = plan.check(drifted).exceeded
    assert above
    assert checked.endswith(f"the total is above its limit about {', '.join(above)}.")
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1), data=PEOPLE)
    assert (
        found_in(page)[2]
        == "On a newer table of 3,000 records every total is within its limit."
    )


def test_shares_of_which_the_mean_was_wanted_are_left_out_of_the_first_sentence(
    tmp_path,
):
    records = PEOPLE.select(["age", "sex"])
    plan = sp.design(
        records, 2.0, want=["mean age"], scope="table", shape="never", bins={"age": 3}
    )
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1))
    assert "every share of sex is known to within" in found_in(page)[0]


def test_tables_drift_and_leakages_are_shown(tmp_path):
    plan = sp.calibrate(
        PEOPLE.select(["sex", "job", "ill"]), 2.0, scope="table", mechanism="grr"
    )
    alike = pa.table({"sex": ["F", "M"] * 50, "job": ["nurse", "smith"] * 50})
    drifted = alike.append_column("ill", pa.array(["yes", "no"] * 50))
    reports = plan.perturb(PEOPLE, rng=1)
    joint = plan.table(reports, "sex", by="ill")
    _, page = page_of(tmp_path, plan, reports, joint=[("sex", "ill")], data=drifted)
    assert "Above the limit: " in page
    assert f"{100 * joint.frequencies[0, 1]:.1f} <span" in page
    leak = plan.analyse(reports).strongest(1)[0]
    assert f'<td data-label="nats">{leak.leakage:.2f}</td>' in page
    _, page = page_of(tmp_path, plan, reports, data=PEOPLE)
    assert "Every total is within its limit on 3,000 other records." in page


def test_wanted_tables_and_means_are_shown(tmp_path):
    people = PEOPLE.select(["sex", "age", "ill"])
    plan = sp.design(
        people,
        2.0,
        want=["mean age", "sex x ill"],
        scope="table",
        shape="never",
        bins=3,
    )
    found, page = page_of(tmp_path, plan, plan.perturb(people, rng=1))
    assert f"Mean: <strong>{found.mean('age').value:.4g}</strong>" in page
    assert "<bdi>sex</bdi> and <bdi>ill</bdi>: % of all people" in page


def test_what_cannot_be_told_is_said(tmp_path):
    plan = forms_plan(counts(), [product(sex=1.0), product(job=1.0)])
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1))
    assert "No form asks for two attributes with a report each" in page
    assert "Not checked: the totals above" in page
    plan = three_forms(counts())
    found, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1))
    assert f"{found['job'].records:,} people asked" in page


def test_names_are_escaped(tmp_path):
    strange = "<script>alert(1)</script>"
    table = pa.table({strange: ["a", "b"] * 50, "b": ["x", "y"] * 50})
    plan = plan_for(sp.count_pairs(table))
    sp.write_results(
        plan, plan.perturb(table, rng=1), tmp_path / "page.html", name=strange
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert strange not in page
    assert escape(strange) in page


def test_the_command_writes_page_and_csv(tmp_path):
    PLAN.save(tmp_path / "plan.json")
    import pyarrow.parquet as pq

    pq.write_table(REPORTS, tmp_path / "reports.parquet")
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    usual = ("estimate", "reports.parquet", "--plan", "plan.json")
    done = run(*usual, "--check", "people.parquet", cwd=tmp_path)
    assert (done.returncode, "--report" in done.stderr) == (2, True)
    done = run(
        *(*usual, "--report", "page.html", "--check", "people.parquet"),
        *("--format", "csv", "-o", "shares.csv"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "shares.csv").read_text() == PLAN.estimate(REPORTS).to_csv()
    assert "on 3,000 other records" in (tmp_path / "page.html").read_text()
