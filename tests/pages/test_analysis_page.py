"""The page as a file: self-contained, harmless, made from a saved result alone."""

import base64
import hashlib
import json
import math
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
from seepage._core.odds import measured_odds
from seepage.analysis.budget_grid import GRID, leakage_grid
from seepage.app.application import SHIPPED
from seepage.cli.report import report as command
from seepage.pages.analysis_page import SCRIPT, STYLES, report_page
from seepage.pages.analysis_view import (
    about_picture,
    finding_of,
    leak_pictures,
    total_bars,
)
from seepage.pages.check_page import STYLES as CHECK_STYLES
from seepage.pages.odds_rows import OddsEntry, odds_bars
from seepage.pages.pair_map import MAX_QUESTIONS
from seepage.pages.plan_page import STYLES as PLAN_STYLES

TEMPLATES = Path(sp.__file__).parent / "pages" / "templates"
TEXT = (TEMPLATES / SCRIPT).read_text(encoding="utf-8")
FORBIDDEN = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new "
    r"Function|fetch\(|XMLHttp|"
    r"https?://(?!www\.w3\.org/2000/svg)"
)


@pytest.fixture(scope="module")
def small():
    return analysed(sp.load_pairs("adult").select(["sex", "race", "income"]), limit=3.0)


def _page_when_saved(analysis):
    """Return the page of a computed analysis with the line of a saved one."""
    computed = f"<dd>{sp.__version__}</dd>"
    saved = f"<dd>saved by version {sp.__version__}, totals not recomputed</dd>"
    page = report_page(analysis)
    assert page.count(computed) == 1
    return page.replace(computed, saved)


def test_a_saved_result_gives_the_same_page(small, tmp_path):
    place = tmp_path / "result.json"
    place.write_bytes(msgspec.json.encode(small.to_dict()))
    loaded = sp.Analysis.load(place)
    assert loaded.matrix.pairs == small.matrix.pairs
    assert report_page(loaded) == _page_when_saved(small)


def test_the_command_writes_the_page(small, tmp_path):
    from click.testing import CliRunner

    (tmp_path / "result.json").write_bytes(msgspec.json.encode(small.to_dict()))
    out = tmp_path / "out.html"
    done = CliRunner().invoke(command, [str(tmp_path / "result.json"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text(encoding="utf-8") == _page_when_saved(small)


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
    assert sorted(json.loads(data)["map"]["names"]) == sorted(odd)


def _content(page):
    data = re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(data)["map"]


def test_of_many_questions_those_with_the_strongest_leaks_are_in_the_map():
    found = analysed(synthetic(30, 3), mechanism="grr")
    content = _content(report_page(found))
    assert len(content["names"]) == MAX_QUESTIONS
    lower = found.matrix.interval().lower
    strengths = dict(
        zip(
            found.matrix.domain.names,
            np.maximum(lower.max(axis=0), lower.max(axis=1)),
            strict=True,
        )
    )
    left_out = set(strengths) - set(content["names"])
    assert min(strengths[name] for name in content["names"]) >= max(
        strengths[name] for name in left_out
    )


@pytest.mark.parametrize("attributes", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_pages_of_many_questions_are_small(attributes):
    page = report_page(analysed(synthetic(attributes, 3), mechanism="grr"))
    assert len(page.encode()) < 1_000_000


def test_a_page_without_vl_convert_has_tables_and_says_so(small, monkeypatch):
    monkeypatch.setattr(checks, "is_installed", lambda module: False)
    page = report_page(small)
    assert '<svg class="picture"' not in page
    assert 'class="odds-rows"' in page


def test_one_attribute_has_a_page():
    assert "<!doctype html>" in report_page(analysed(synthetic(1, 3)))


def test_scripts_are_clean():
    assert not re.search(FORBIDDEN, TEXT)
    assert "\t" not in TEXT
    assert not re.search(r" +$|[^=!]==[^=]|\bvar\b|console\.", TEXT, re.MULTILINE)


def test_scripts_compute_no_leakage():
    assert not re.search(r"Math\.(log|log1p|exp|expm1)\b", TEXT)


def test_every_script_and_style_is_on_a_page():
    served = {file for file, _ in SHIPPED.values()}
    scripts = {SCRIPT}
    names = {*STYLES, *PLAN_STYLES, *CHECK_STYLES, "questionnaire"}
    styles = {f"css/{name}.css" for name in names}
    files = [*TEMPLATES.glob("js/*.js"), *TEMPLATES.glob("css/*.css")]
    there = {path.relative_to(TEMPLATES).as_posix() for path in files}
    assert there == scripts | styles | served


PARSE = """
const { SourceTextModule } = require("node:vm");
const texts = JSON.parse(require("node:fs").readFileSync(0));
for (const [identifier, text] of Object.entries(texts))
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

    found = parsed({"pair_map": TEXT})
    assert found.returncode == 0, found.stderr
    assert "SyntaxError" in parsed({"odd": "export const = 1;"}).stderr


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


# Other amounts of noise ---------------------------------------------------------------


def _odds(text):
    return math.inf if text == "any number of" else float(text.replace(",", ""))


@pytest.mark.parametrize(
    "mechanism", [None, "grr", "rappor", "oue", "exp", "blh", "olh", "she", "ss"]
)
@pytest.mark.parametrize("view", ["report", "inferred"])
def test_odds_on_the_page_are_never_below_those_of_python(mechanism, view):
    pairs = synthetic(4, 3)
    content = _content(report_page(analysed(pairs, 0.8, mechanism, view)))
    budgets = sorted({0.8, *GRID})
    assert len(content["stops"]) == len(budgets)
    assert budgets[content["analysed"]] == 0.8
    names = content["names"]
    for budget, stop in zip(budgets, content["stops"], strict=True):
        matrix = sp.leakage_matrix(pairs, budget, mechanism=mechanism, view=view)
        cells = iter(zip(stop["odds"], stop["cells"], strict=True))
        for target in names:
            for source in names:
                odds, (text, _) = next(cells)
                exact = math.exp(matrix.leak_among(target, source, 100).value)
                if source != target:
                    assert exact * (1 - 1e-12) <= _odds(odds) <= exact * 1.01
                    assert float(text) == pytest.approx(exact, abs=0.051, rel=0.01)


def test_budgets_of_the_grid_are_in_proportion():
    found = analysed(synthetic(3, 4), [0.5, 1.0, 20.0], ["grr", "oue", "ss"])
    content = _content(report_page(found))
    steps = [2 * step for step in GRID]
    assert content["analysed"] == steps.index(20.0)
    assert [stop["noise"] for stop in content["stops"]] == [
        measured_odds(step) for step in steps
    ]


def test_a_budget_of_0_is_on_the_grid():
    content = _content(report_page(analysed(synthetic(2, 3), 0.0)))
    assert content["analysed"] == 0
    assert content["stops"][0]["noise"] == "1"


def test_a_mechanism_that_the_registry_does_not_create_has_no_other_budgets():
    pairs = synthetic(3, 3)
    chances = [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    survey = sp.MatrixMechanism(chances, name="survey")
    page = report_page(sp.analyse(pairs, 1.0, mechanism=[survey] * 3))
    assert len(_content(page)["stops"]) == 1
    false = sp.MatrixMechanism(chances, name="grr")
    assert len(leakage_grid(sp.leakage_matrix(pairs, 1.0, mechanism=[false] * 3))) == 1


def test_budgets_whose_exponential_overflows_have_a_page():
    content = _content(report_page(analysed(synthetic(3, 3), 700.0)))
    assert content["stops"][content["analysed"]]["noise"] == "any number of"


# Pictures -----------------------------------------------------------------------------


def test_the_shares_of_a_leak_are_those_that_are_sent():
    """Of noisy single answers; their ratio is the leakage."""
    found = sp.analyse("adult", 1.0, mechanism="grr")
    (first, *_) = leak_pictures(found)
    matrix = found.matrix
    witness = matrix.leak_among(first.target, first.source, 500).witness
    channel = matrix.channel(first.target, first.source)
    noise = matrix.releases[matrix.domain.index(first.source)].mechanism.channel()
    sent = noise[:, channel.output.code(str(witness.likely[0]))]
    for (kind, percent), value in zip(
        first.kinds, (witness.likelier, witness.other), strict=True
    ):
        assert kind == str(value)
        row = channel.matrix[channel.given.code(kind)]
        assert percent == round(100 * float(row @ sent))
    assert f"{first.odds} times as often" in first.sentence


def test_without_a_mechanism_the_shares_are_those_of_the_report_that_tells_most():
    """It says only whether the answer is among the likely ones, with noise; the ratio
    of the shares is the bound.
    """
    found = sp.analyse("adult", 1.0)
    (first, *_) = leak_pictures(found)
    leakage = found.matrix.leak_among(first.target, first.source, 500)
    channel = found.matrix.channel(first.target, first.source)
    columns = [channel.output.code(str(value)) for value in leakage.witness.likely]
    honest = math.e / (1 + math.e)
    sent = []
    for kind, percent in first.kinds:
        share = channel.matrix[channel.given.code(kind)][columns].sum()
        sent.append(honest * share + (1 - honest) * (1 - share))
        assert percent == pytest.approx(100 * sent[-1], abs=0.5)
    assert math.log(sent[0] / sent[1]) == pytest.approx(leakage.value, abs=1e-9)
    assert "is sent by" in first.sentence
    assert first.sentence.endswith(f": {first.odds} times as often.")


def test_reports_that_are_no_answers_leave_the_true_shares():
    found = sp.analyse("adult", 1.0, mechanism="oue")
    (first, *_) = leak_pictures(found)
    witness = found.matrix.leak_among(first.target, first.source, 500).witness
    channel = found.matrix.channel(first.target, first.source)
    columns = [channel.output.code(str(value)) for value in witness.likely]
    row = channel.matrix[channel.given.code(first.kinds[0][0])]
    assert first.kinds[0][1] == pytest.approx(100 * row[columns].sum(), abs=1)
    assert "is true of" in first.sentence
    assert f"after the noise, {first.odds} times as often" in first.sentence


def test_totals_are_to_scale():
    entries = [
        OddsEntry(name="a", state="over", value=math.log(100), text="at least 100 ×"),
        OddsEntry(name="b", state="within", value=math.log(10), text="at most 10 ×"),
        OddsEntry(name="c", state="open", value=0.0, text="not known"),
        OddsEntry(name="d", state="over", value=math.inf, text="at least any number"),
    ]
    bars = odds_bars(entries, limit=math.log(10), limit_text="10 ×")
    widths = [row.width for row in bars.rows]
    assert widths == pytest.approx([100.0, 50.0, 0.0, 100.0])
    assert bars.limit == pytest.approx(50.0)
    linear = odds_bars([OddsEntry(name="a", state="told", value=math.log(3), text="")])
    assert linear.growth == ""
    (row,) = linear.rows
    ticks = {text: place for place, text in linear.ticks}
    assert row.width == pytest.approx(ticks["3 ×"])


@pytest.mark.parametrize(
    ("limit", "state", "order"),
    [
        ("40x", "within", "Within the limit"),
        ("10x", "over", "Do not collect like this"),
    ],
)
def test_the_finding_counts_the_questions(limit, state, order):
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "c")])
    copies = sp.Records(domain, [[0, 0, 0], [1, 1, 1]], [6_000, 4_000])
    found = sp.analyse(copies, 1.0, mechanism="grr", limit=limit, guarantee="exact")
    finding = finding_of(found)
    assert (finding.state, finding.order) == (state, order)
    assert "3 questions" in finding.sentence
    facts = " ".join(fact.text for fact in finding.facts)
    assert ("10 × is allowed" in facts) == (state == "over")
    if state == "over":
        assert finding.facts[0].number == "20 ×"  # e^3, rounded down


def test_equal_totals_are_a_sentence_and_no_picture():
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "c")])
    copies = sp.Records(domain, [[0, 0, 0], [1, 1, 1]], [6_000, 4_000])
    assert (
        total_bars(sp.analyse(copies, 1.0, mechanism="grr", guarantee="worst")) is None
    )


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
    bars = about_picture(found).bars
    told = {row.name: float(row.text.split(" ")[0]) for row in bars.rows}
    assert told["other"] < 1.1 < min(told.get("a", 2), told.get("like", 2)) < 2.71
    assert told[f"{target} itself"] == 2.72
    assert "at least 200 of 4,000 records" in report_page(found)
