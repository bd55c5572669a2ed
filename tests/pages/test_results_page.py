"""The page of results: what was estimated, promised and found, and nothing that
runs.
"""

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
from seepage.pages.results_view import finding, largest_difference, together_view
from seepage.plan.promises import answer_text

pytestmark = pytest.mark.filterwarnings("ignore:numbers of .* count as the midpoints")

PEOPLE = people(3000)
PLAN = plan_for(counts(), 2.0)
REPORTS = PLAN.perturb(PEOPLE, rng=1)
DRIFTED = [("sex", "F", "M"), ("job", "nurse", "smith"), ("ill", "yes", "no")]


def page_of(folder, plan=PLAN, reports=REPORTS, **options):
    found = sp.write_results(plan, reports, folder / "page.html", **options)
    return found, unescape((folder / "page.html").read_text(encoding="utf-8"))


def rows(page):
    """The rows of the table of shares: question, answer, share and interval in %."""
    table = page[page.index('<table class="shares') :]
    table = table[: table.index("</table>")]
    number = r"(-?[\d.]+)"
    pattern = (
        r"<bdi>([^<]*)</bdi></th><td><bdi>([^<]*)</bdi></td>"
        rf"<td[^>]*>{number}</td><td[^>]*>{number} to {number}</td>"
    )
    return [
        (name, value, *map(float, numbers))
        for name, value, *numbers in re.findall(pattern, table)
    ]


@pytest.mark.parametrize("consistent", [False, True])
def test_every_share_is_shown_with_both_ends_of_its_interval(tmp_path, consistent):
    found, page = page_of(tmp_path, consistent=consistent)
    assert found.to_dict() == PLAN.estimate(REPORTS, consistent=consistent).to_dict()
    expected = [
        (attribute.name, answer_text(value), *(100 * np.array([s.value, *s.interval])))
        for attribute in DOMAIN
        for value in attribute.values
        for s in [found.share(attribute.name, value)]
    ]
    shown = rows(page)
    assert [row[:2] for row in shown] == [row[:2] for row in expected]
    assert np.allclose([r[2:] for r in shown], [r[2:] for r in expected], atol=0.0501)
    assert ("nearest distributions" in page) == consistent
    assert "<script" not in page
    assert "script-src" not in page


def test_no_band_has_a_negative_width_and_no_number_a_negative_half_width(tmp_path):
    rare = pa.table({"ill": ["no"] * 995 + ["yes"] * 5, "sex": ["F", "M"] * 500})
    plan = plan_for(sp.count_pairs(rare), 0.3)
    pages = [
        page_of(tmp_path, plan, plan.perturb(rare, rng=seed), consistent=consistent)[1]
        for seed in range(5)
        for consistent in (False, True)
    ]
    assert any(re.search(r"<b>-[\d.]+ %</b>", page) for page in pages)
    for page in pages:
        assert "±" not in page
        bands = re.findall(r'x="([^"]*)%" width="([^"]*)%" y="50%"', page)
        assert bands
        for left, width in bands:
            assert 0 <= float(left) <= 100
            assert 0 <= float(width) <= 100 - float(left) + 0.011
        ends = re.findall(r"(-?[\d.]+) to (-?[\d.]+)</span></span>", page)
        assert ends
        assert all(float(low) <= float(high) for low, high in ends)


def test_the_page_begins_with_what_was_found(tmp_path):
    found, page = page_of(tmp_path)
    errors = [estimate.standard_errors.max() for estimate in found.estimates.values()]
    heading = re.search(r"<h1><bdi>(.*?)</bdi></h1>", page)[1]
    assert heading == finding(found).replace(" %", "\N{NO-BREAK SPACE}%")
    heading = finding(found)
    share = found.share("sex", "M")
    assert heading.startswith(f"About {100 * share.value:.0f} % answer “M” to sex, ")
    lead = re.search(r'<p class="lead">(.*?)</p>', page)[1]
    width = float(re.search(r"within ([\d.]+) points, 19 times of 20", lead)[1])
    assert 0 <= width - 196 * max(errors) < 0.1
    joint = float(re.search(r"all 9 at once to within ([\d.]+)\.", lead)[1])
    assert joint > width
    assert "3,000" in page
    assert "whoever the people are" in page
    assert "was not checked on a newer table" in page


def many_questions():
    """A plan of 42 questions of 2 to 7 answers, with groups that are asked four."""
    rng = np.random.default_rng(3)
    columns = {
        f"question {number}": np.array([f"answer {code}" for code in "abcdefg"])[
            rng.integers(0, 2 + number % 6, 2_000)
        ]
        for number in range(42)
    }
    table = pa.table(columns)
    return sp.calibrate(table, 60.0, guarantee="worst"), table


def test_a_page_of_results_has_at_most_three_thousand_pixels(opened, tmp_path):
    """Of 42 questions; each is on the open page whole, or not at all."""
    plan, table = many_questions()
    _, page = page_of(tmp_path, plan, plan.perturb(table, rng=1))
    shown = opened(page, viewport={"width": 1440, "height": 900})
    assert shown.evaluate("document.documentElement.scrollHeight") <= 3000
    figure = shown.locator(".shares-figure")
    for name in figure.locator(".dot-head h3").all_inner_texts():
        if name == "One of two answers":
            continue
        number = int(name.split()[1])
        block = figure.locator(".dot-head", has_text=name).first
        rows = block.evaluate(
            "e => { let n = 0; while ((e = e.nextElementSibling)"
            " && e.matches('.dot-row:not(.axis-row)')) n++; return n }"
        )
        assert rows == 2 + number % 6


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_longest_numbers_fit(opened, tmp_path, width):
    """Those of unbiased estimates above 100 %."""
    _, page = page_of(tmp_path)
    number = r'<b>[-0-9.]+ %</b> <span class="small">[-0-9. to]+</span>'
    longest = '<b>100.6 %</b> <span class="small">100.5 to 100.0</span>'
    page, count = re.subn(number, longest, page)
    assert count > 8
    shown = opened(page, viewport={"width": width, "height": 900})
    for cell in shown.locator(".dot-row .number:visible").all()[:4]:
        assert cell.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_the_first_sentence_names_answers_not_all_others():
    found = sp.make_survey(500, rng=1)
    town = np.where(np.arange(500) % 3 == 0, "Bath", "(other)")
    town[::7] = "Ayr"
    table = found.select(["sleep"]).append_column("town", pa.array(town))
    plan = sp.calibrate(table, 8.0, guarantee="worst", scope="table")
    sentence = finding(plan.estimate(plan.perturb(table, rng=1)))
    assert "“Bath” to town" in sentence


@pytest.mark.parametrize("limit", [1.0, 40.0])
def test_the_page_says_whether_the_limits_hold_on_a_newer_table(tmp_path, limit):
    plan = sp.calibrate(
        PEOPLE.select(["sex", "job", "ill"]), limit, scope="table", mechanism="grr"
    )
    drifted = pa.table({name: [a, b] * 50 for name, a, b in DRIFTED})
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1), data=drifted)
    assert "The plan promises, for people distributed as in its table, that all" in page
    above = plan.check(drifted).exceeded
    assert above
    assert (
        f"On 100 other records the total is above its limit about {', '.join(above)}."
        in page
    )
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1), data=PEOPLE)
    assert "Every total is within its limit on 3,000 other records." in page


def test_shares_of_which_the_mean_was_wanted_are_left_out_of_the_first_sentence(
    tmp_path,
):
    records = PEOPLE.select(["age", "sex"])
    plan = sp.design(
        records, 2.0, want=["mean age"], scope="table", shape="never", bins={"age": 3}
    )
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1))
    assert "Each share of sex is known to within" in page


def test_tables_drift_and_leakages_are_shown(tmp_path):
    plan = sp.calibrate(
        PEOPLE.select(["sex", "job", "ill"]), 2.0, scope="table", mechanism="grr"
    )
    alike = pa.table({"sex": ["F", "M"] * 50, "job": ["nurse", "smith"] * 50})
    drifted = alike.append_column("ill", pa.array(["yes", "no"] * 50))
    reports = plan.perturb(PEOPLE, rng=1)
    joint = plan.table(reports, "sex", by="ill")
    _, page = page_of(tmp_path, plan, reports, joint=[("sex", "ill")], data=drifted)
    assert "the total is above its limit about " in page
    cell = joint["F", "yes"]
    ends = " to ".join(f"{100 * end:.1f}" for end in cell.interval)
    assert f"<td>{100 * cell.value:.1f} ({ends})</td>" in page
    share = joint.shares()["M", "yes"]
    assert f"<b>{100 * share.value:.1f} %</b>" in page
    leak = plan.analyse(reports).strongest(1)[0]
    assert f'data-label="Nats">{leak.leakage:.2f}</td>' in page
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
    assert f"mean {found.mean('age').value:.4g}, " in page
    assert (
        '<figcaption class="title"><bdi>sex</bdi> by <bdi>ill</bdi></figcaption>'
        in page
    )
    assert "Rows are answers to <bdi>ill</bdi>" in page


def test_what_cannot_be_told_is_said(tmp_path):
    plan = forms_plan(counts(), [product(sex=1.0), product(job=1.0)])
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1))
    assert "No group is asked two questions with a report each" in page
    assert 'id="tables"' not in page
    plan = three_forms(counts())
    found, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1))
    assert f">{found['job'].records:,}</td>" in page


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


def test_a_share_in_a_group_lies_in_its_own_interval(tmp_path):
    """Few reports with much noise: unbiased estimates are below 0 and above 1."""
    people = PEOPLE.select(["sex", "job"]).slice(0, 60)
    plan = sp.calibrate(people, 0.7, scope="table", mechanism="grr")
    outside = 0
    for seed in range(8):
        table = plan.table(plan.perturb(people, rng=seed), "sex", by="job")
        values = table.shares().values
        outside += int(((values < 0) | (values > 1)).sum())
        view = together_view(table, 20)
        for block in view.blocks:
            for row in block.rows:
                value = float(row.value.removesuffix(" %"))
                low, high = map(float, row.interval.split(" to "))
                assert low <= value <= high
    assert outside


def test_the_page_has_the_texts_of_a_codebook(tmp_path):
    labels = tmp_path / "codebook.csv"
    labels.write_text(
        "attribute,question,value,label\n"
        "sex,What is your sex?,,\nsex,,M,male\nsex,,F,female\n"
        "job,What do you do?,,\njob,,nurse,a nurse\n"
    )
    _, page = page_of(tmp_path, labels=labels)
    heading = re.search(r"<h1><bdi>(.*?)</bdi></h1>", page)[1]
    assert "answer “male” to “What is your sex?”" in heading
    assert "<h3><bdi>What do you do?</bdi></h3>" in page
    assert "<bdi>a nurse</bdi>" in page
    assert "sex: male" in page


def coins(shares, people=20_000):
    """A table of two coins: the share of heads of the first by side of the second."""
    drawn = np.random.default_rng(5).random(people)
    sides = np.arange(people) % 2
    heads = drawn < np.asarray(shares)[sides]
    return pa.table(
        {
            "first": np.array(["no", "yes"])[heads.astype(int)],
            "second": np.array(["left", "right"])[sides],
        }
    )


@pytest.mark.parametrize(("shares", "differ"), [((0.2, 0.8), True), ((0.5, 0.5), 0)])
def test_two_groups_differ_where_their_intervals_do_not_overlap(shares, differ):
    people = coins(shares)
    plan = sp.calibrate(people, 4.0, scope="table", guarantee="worst")
    table = plan.table(plan.perturb(people, rng=2), "first", by="second")
    sentence = largest_difference(table, ["yes"])
    if not differ:
        assert "intervals of no two groups of second lie apart" in sentence
        return
    pattern = (
        r"“yes” is the answer to first of ([\d.]+) % with second “right” and of "
        r"([\d.]+) % with “left”\."
    )
    more, fewer = map(float, re.fullmatch(pattern, sentence).groups())
    assert more == pytest.approx(80, abs=8)
    assert fewer == pytest.approx(20, abs=8)


def test_headings_of_many_shares_are_in_order(tmp_path, opened, axe_violations):
    """Questions with more than two answers have headings below that of the shares."""
    plan = sp.calibrate(PEOPLE.select(["job"]), 2.0, scope="table", mechanism="grr")
    _, page = page_of(tmp_path, plan, plan.perturb(PEOPLE, rng=1))
    assert axe_violations(opened(page)) == []
