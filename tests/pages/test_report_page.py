"""The page as a file: self-contained, harmless, made from a saved result alone."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from report_pages import analysed, synthetic

import seepage as sp
from seepage._core import checks
from seepage._core.errors import InputError
from seepage.analysis.budget_grid import GRID, leakage_grid
from seepage.app.application import SHIPPED
from seepage.cli.report import report as command
from seepage.pages.analysis_page import SCRIPTS, STYLES, UNIT, report_page
from seepage.pages.check_page import STYLES as CHECK_STYLES
from seepage.pages.plan_page import STYLES as PLAN_STYLES

TEMPLATES = Path(sp.__file__).parent / "pages" / "templates"
TEXTS = {
    name: (TEMPLATES / "js" / f"{name}.js").read_text(encoding="utf-8")
    for name in SCRIPTS
}
FORBIDDEN = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(|XMLHttp|"
    r"https?://(?!www\.w3\.org/2000/svg)"
)
TOP_LEVEL = re.compile(r"^(?:function\*?|class|const|let) (\w+)", re.MULTILINE)


@pytest.fixture(scope="module")
def small():
    return analysed(sp.load_pairs("adult").select(["sex", "race", "income"]), limit=3.0)


def test_a_saved_result_gives_the_same_page(small, tmp_path):
    place = tmp_path / "result.json"
    place.write_bytes(msgspec.json.encode(small.to_dict()))
    loaded = sp.Analysis.load(place)
    assert loaded.matrix.pairs == small.matrix.pairs
    assert report_page(loaded) == report_page(small)


def test_the_command_writes_the_page(small, tmp_path):
    from click.testing import CliRunner

    (tmp_path / "result.json").write_bytes(msgspec.json.encode(small.to_dict()))
    out = tmp_path / "out.html"
    done = CliRunner().invoke(command, [str(tmp_path / "result.json"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text(encoding="utf-8") == report_page(small)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is no JSON"),
        (b"[]", "is no saved result: Expected `object`, got `array`"),
        (b'{"attributes": []}', "missing required field `format`"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"attributes": NaN}', "is no JSON"),
        (b"\xff", "is no JSON"),
    ],
)
def test_other_files_than_results_are_rejected(tmp_path, content, message):
    (tmp_path / "odd.json").write_bytes(content)
    with pytest.raises(
        InputError, match=rf"{message}.*; an analysis is written as JSON"
    ):
        sp.Analysis.load(tmp_path / "odd.json")


def test_a_missing_file_is_rejected(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        sp.Analysis.load(tmp_path / "none.json")


def test_the_policy_allows_this_script_and_style_alone(small):
    page = report_page(small)
    policy = re.search(r'Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    for tag, directive in (
        ('script type="module"', "script-src"),
        ("style", "style-src"),
    ):
        inside = re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_name_can_leave_its_element():
    odd = ["</script><script>alert(1)</script>", "<!-- <script>", "{{script}}"]
    page = report_page(
        analysed(synthetic(3, 2, names=odd), name="</title><script>alert(2)")
    )
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    data = re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data)["names"] == odd


@pytest.mark.parametrize("values", [2, 5, pytest.param(10, marks=pytest.mark.slow)])
def test_forty_attributes_fit_three_megabytes(forty_page, values):
    assert len(forty_page(values).encode()) < 3_000_000


def test_a_page_of_many_attributes_has_the_witnesses_of_the_largest_leakages(
    monkeypatch,
):
    found = analysed(synthetic(12, 3), mechanism="grr")
    for module in ("analysis.budget_grid", "pages.analysis_page"):
        monkeypatch.setattr(f"seepage.{module}.MAX_ATTRIBUTES", 5)
    page = report_page(found)
    data = json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1])
    assert "analysed budgets only, and the witnesses of the 25 largest" in page
    assert len(data["grid"]) == 1
    kept = sorted(found.matrix.values.ravel(), reverse=True)[:25]
    assert (
        sorted((found.matrix.values.flat[int(c)] for c in data["pairs"]), reverse=True)
        == kept
    )


@pytest.mark.slow
def test_three_hundred_attributes_fit_five_megabytes():
    page = report_page(analysed(synthetic(300, 3), mechanism="grr"))
    assert len(page.encode()) < 5_000_000


def test_a_page_without_vl_convert_has_tables_and_says_so(small, monkeypatch):
    monkeypatch.setattr(checks, "is_installed", lambda module: False)
    page = report_page(small)
    assert '<svg class="picture"' not in page
    assert "This picture needs vl-convert" in page
    assert "<caption>Totals in nats, as analysed</caption>" in page


def test_one_attribute_has_a_page():
    assert "<!doctype html>" in report_page(analysed(synthetic(1, 3)))


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_clean(name):
    text = TEXTS[name]
    assert not re.search(FORBIDDEN, text)
    assert "\t" not in text
    assert not re.search(r" +$|[^=!]==[^=]|\bvar\b|console\.", text, re.MULTILINE)


def test_scripts_compute_no_leakage():
    assert not re.search(
        r"Math\.(log|log1p|expm1)\b", "".join(TEXTS.values()).replace("log10", "")
    )


def test_every_script_and_style_is_on_a_page():
    served = {file for file, _ in SHIPPED.values()}
    scripts = {f"js/{name}.js" for name in SCRIPTS}
    names = {*STYLES, *PLAN_STYLES, *CHECK_STYLES, "questionnaire", "reproduction"}
    styles = {f"css/{name}.css" for name in names}
    files = [*TEMPLATES.glob("js/*.js"), *TEMPLATES.glob("css/*.css")]
    there = {path.relative_to(TEMPLATES).as_posix() for path in files}
    assert there == scripts | styles | served


def test_scripts_share_no_names():
    names = [each for text in TEXTS.values() for each in TOP_LEVEL.findall(text)]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)


PARSE = """
const { SourceTextModule } = require("node:vm");
for (const [identifier, text] of Object.entries(JSON.parse(require("node:fs").readFileSync(0))))
  new SourceTextModule(text, { identifier });
"""


def test_scripts_parse_as_modules():
    if (node := shutil.which("node")) is None:
        pytest.skip("needs Node.js")

    def parsed(scripts):
        options = ["--experimental-vm-modules", "--eval", PARSE]
        return subprocess.run(
            [node, *options],
            input=json.dumps(scripts),
            capture_output=True,
            text=True,
            check=False,
        )

    found = parsed(TEXTS)
    assert found.returncode == 0, found.stderr
    assert "SyntaxError" in parsed({**TEXTS, "odd": "export const = 1;"}).stderr


def test_a_result_cannot_lose_its_population(small, tmp_path):
    pairs = small.matrix.pairs
    sample = sp.PairCounts(
        pairs.domain, pairs.marginals, pairs.counts, population=10**6
    )
    result = analysed(sample).to_dict()
    place = tmp_path / "result.json"
    for edited in ({**result, "population": None}, {**result, "population": 10**7}):
        place.write_bytes(msgspec.json.encode(edited))
        with pytest.raises(InputError, match="does not match its checksum"):
            sp.Analysis.load(place)
    without = {
        key: value for key, value in small.to_dict().items() if key != "population"
    }
    place.write_bytes(msgspec.json.encode(without))
    with pytest.raises(InputError, match="missing required field `population`"):
        sp.Analysis.load(place)


def test_a_public_attribute_has_no_page_and_says_so():
    found = analysed(synthetic(3, 3), mechanism=["public", "grr", "grr"])
    with pytest.raises(InputError, match="'attribute 1' is public"):
        report_page(found)


# The grid of budgets ------------------------------------------------------------------


def _grid(page):
    data = json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1])
    return data["analysed"], data["grid"]


@pytest.mark.parametrize(
    "mechanism", [None, "grr", "rappor", "oue", "exp", "blh", "olh", "she", "ss"]
)
@pytest.mark.parametrize("view", ["report", "inferred"])
def test_leakages_on_the_page_are_never_below_those_of_python(mechanism, view):
    pairs = synthetic(4, 3)
    analysed_at, grid = _grid(report_page(analysed(pairs, 0.8, mechanism, view)))
    assert [point["largest"] for point in grid] == sorted({0.8, *GRID})
    assert grid[analysed_at]["largest"] == 0.8
    for point in grid:
        exact = sp.leakage_matrix(
            pairs, point["largest"], mechanism=mechanism, view=view
        ).values
        shown = UNIT * np.array(point["values"]).reshape(exact.shape)
        assert (shown >= exact * (1 - 1e-12)).all()
        assert (shown <= exact + 1.001 * UNIT).all()


def test_budgets_of_the_grid_are_in_proportion():
    found = analysed(synthetic(3, 4), [0.5, 1.0, 20.0], ["grr", "oue", "ss"])
    at, grid = _grid(report_page(found))
    assert grid[at]["epsilons"] == [0.5, 1.0, 20.0]
    assert [point["largest"] for point in grid] == [2 * step for step in GRID]
    for point in grid:
        assert np.array(point["epsilons"]) / point["largest"] == pytest.approx(
            [0.025, 0.05, 1.0]
        )


def test_a_budget_of_0_is_on_the_grid():
    at, grid = _grid(report_page(analysed(synthetic(2, 3), 0.0)))
    assert at == 0
    assert grid[0]["epsilons"] == [0.0, 0.0]
    assert grid[1]["epsilons"] == [0.1, 0.1]


def test_a_mechanism_that_the_registry_does_not_create_has_no_other_budgets():
    pairs = synthetic(3, 3)
    survey = sp.MatrixMechanism(
        [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], name="survey"
    )
    page = report_page(sp.analyse(pairs, 1.0, mechanism=[survey] * 3))
    assert "Leakages at other budgets are not known for these mechanisms" in page
    assert len(_grid(page)[1]) == 1
    false = sp.MatrixMechanism(
        [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], name="grr"
    )
    assert len(leakage_grid(sp.leakage_matrix(pairs, 1.0, mechanism=[false] * 3))) == 1


def test_budgets_whose_exponential_overflows_have_a_page():
    at, grid = _grid(report_page(analysed(synthetic(3, 3), 700.0)))
    assert grid[at]["largest"] == grid[-1]["largest"] == 700.0


def test_the_picture_of_one_target_ignores_values_of_few_people():
    """A value of one person makes every source tell all about it."""
    rng = np.random.default_rng(3)
    answer = rng.integers(0, 2, 4_000)
    like = np.where(rng.random(4_000) < 0.8, answer, 1 - answer)
    columns = {
        "a": answer.astype("U4"),
        "like": like.astype("U4"),
        "other": rng.integers(0, 3, 4_000),
    }
    for name in ("a", "like"):
        columns[name][0] = "rare"
    found = sp.analyse(pa.table(columns), 1.0, mechanism="grr")
    target = found.leaks(1)[0].target
    assert target != "other"
    assert found.matrix[target, "other"].value > 0.5
    page = report_page(found)
    shown = page[page.index('id="about"') : page.index("What is known of every total")]
    told = re.findall(r"nats\): ([0-9.]+); source: ([\w ]+)", shown)
    told = {name: float(value) for value, name in told}
    assert told["other"] < 0.1 < min(told.get("a", 1.0), told.get("like", 1.0)) < 1.0
    assert told[f"{target} itself"] == 1.0
    assert "values with at least 200 of 4,000 records" in shown
