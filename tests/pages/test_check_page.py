"""The page of a check: decisions first, a row per column, and nothing of people."""

from html import unescape

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seepage as sp
from command import run
from plan_pages import ODD
from seepage.pages.check_page import check_page
from seepage.pages.check_view import MOST_OPEN, SHOWN_OPEN, check_view

WIDE = {"width": 1440, "height": 900}


def mixed(records=2_000):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "respondent": [f"person-{number}" for number in rng.permutation(records)],
            "health": rng.choice([1, 2, 3, 4, 9], records),
            "coffee": rng.choice(["no", "yes"], records),
            "illness": rng.choice(["none", "rare"], records, p=[0.99, 0.01]),
            "hours": rng.integers(0, 60, records),
        }
    )


def test_decisions_come_first_and_each_column_has_a_row(opened):
    check = sp.check(mixed())
    page = opened(check_page(check, name="people.csv"), viewport=WIDE)
    rows = page.locator(".columns tbody tr")
    assert rows.count() == len(check)
    classes = [rows.nth(i).get_attribute("class") for i in range(rows.count())]
    assert classes == sorted(classes, key=["decide", "ask", "never"].index)
    health = rows.filter(has_text="health").inner_text()
    assert "“9” may mean no answer" in health
    assert "--missing-marker health=9" in health
    assert page.locator(".decision").count() == 2
    assert "people.csv" in page.inner_text(".bar .file")
    assert page.inner_text("h1").startswith("4 of 5 columns will be asked. Two need")


def test_bars_are_the_shares_of_the_answers():
    table = mixed()
    check = sp.check(table)
    (row,) = [row for row in check_view(check).rows if row.name == "coffee"]
    yes = table["coffee"].to_pylist().count("yes") / len(table)
    heights = {bar.label.split(":")[0]: bar.height for bar in row.bars}
    assert heights["yes"] / heights["no"] == pytest.approx(yes / (1 - yes), rel=0.01)
    shares = dict(check["hours"].shares)
    assert sum(shares.values()) == pytest.approx(1)
    assert len(shares) == 10


def test_values_that_point_to_people_are_not_on_the_page():
    page = check_page(sp.check(mixed()))
    assert "person-" not in page
    assert "different values" in page


def test_of_many_columns_those_to_decide_are_open(opened):
    rng = np.random.default_rng(1)
    columns = {f"v{i}": rng.choice(["no", "yes"], 500) for i in range(300)}
    columns["scale"] = rng.choice([1, 2, 3, 99], 500)
    view = check_view(sp.check(pa.table(columns)))
    assert len(columns) > MOST_OPEN
    assert len(view.rows) == SHOWN_OPEN
    assert view.rows[0].name == "scale"
    assert len(view.rows) + len(view.further) == len(columns)
    page = opened(check_page(sp.check(pa.table(columns))), viewport=WIDE)
    assert page.evaluate("document.documentElement.scrollHeight") <= 3000


def test_hostile_names_are_text(opened):
    columns = {name: ["yes", "no"] * 50 for name in ODD}
    page = opened(check_page(sp.check(pa.table(columns)), name=ODD[0]))
    shown = page.locator(".columns tbody th bdi").all_text_contents()
    assert sorted(shown) == sorted(ODD)
    assert page.locator("script").count() == 0
    page.set_viewport_size({"width": 390, "height": 844})
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def test_the_command_and_the_method_write_the_page(tmp_path):
    pyarrow.csv.write_csv(mixed(), tmp_path / "people.csv")
    done = run("check", "people.csv", "--report", "check.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = unescape((tmp_path / "check.html").read_text(encoding="utf-8"))
    assert "4 of 5 columns will be asked." in written
    sp.check(mixed()).report(tmp_path / "method.html", name="people.csv")
    assert unescape((tmp_path / "method.html").read_text(encoding="utf-8")) == written
