"""The page: self-contained, escaped, with missing data listed."""

import re
from html.parser import HTMLParser

import pytest

from seepage.study.reproduction.findings import PAPER, Claim, Comparison, FinishedItem, not_compared
from seepage.study.reproduction.runner import differences, expected_numbers, make_page

EVIL = '<script>alert("x")</script> & <img src=http://evil>'


def _kept(comparisons, **changes):
    content = {
        "item": "fig4a",
        "digest": "0" * 64,
        "version": "0",
        "seconds": 1.0,
        "data": {"Adult": "at hand"},
        "shows": "bars",
        "comparisons": comparisons,
        "notes": ["a note"],
        "charts": [],
        "rows": 0,
    }
    return FinishedItem(**{**content, **changes})


class _Tags(HTMLParser):
    VOID = ("meta", "img", "br", "link")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def _tags(page):
    parser = _Tags()
    parser.feed(page)
    assert not parser.open
    return parser.seen


def test_everything_is_escaped(tmp_path):
    evil = Comparison(EVIL, EVIL, 1.0, EVIL, EVIL, "consistent", EVIL, EVIL)
    (tmp_path / "fig4a.csv").write_text(f'"{EVIL.replace(chr(34), chr(34) * 2)}"\nx\n')
    page = make_page(
        PAPER, [_kept([evil], shows=EVIL, notes=[EVIL], data={EVIL: EVIL}, rows=1)], tmp_path
    )
    assert not any(tag in ("script", "img") for tag, _ in _tags(page))
    assert page.count("&lt;script&gt;") >= 8


def test_the_page_loads_no_external_resources(tmp_path):
    (tmp_path / "fig4a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    page = make_page(PAPER, [_kept([Claim("x").compare(1.0)], charts=["fig4a"])], tmp_path)
    tags = _tags(page)
    assert not [tag for tag, _ in tags if tag in ("script", "link", "iframe", "object")]
    sources = [attrs["src"] for _, attrs in tags if "src" in attrs]
    assert len(sources) == 1
    assert sources[0].startswith("data:image/svg+xml;base64,")
    assert all(attrs.get("alt") for tag, attrs in tags if tag == "img")
    assert "url(" not in page
    assert "@import" not in page


def test_each_verdict_is_shown_with_its_tolerance(tmp_path):
    comparisons = [
        Claim("within", printed=2.0, within=0.1).compare(2.1),
        Claim("outside", printed=2.0, within=0.1).compare(2.5),
        Claim("claimed", "never", maximum=5, chosen="one of two").compare(3),
        not_compared("missing", "0.5", "no such file"),
        Claim("own").compare(1.5),
    ]
    page = make_page(PAPER, [_kept(comparisons)], tmp_path)
    for words in ("✓ confirmed", "✗ deviates", "○ consistent", "– not testable", "± 10 %"):
        assert words in page
    for words in ("one of two", "no such file"):
        assert f'<span class="reason">{words}</span>' in page
    text = " ".join(re.sub(r"<[^>]*>", "", page).split())
    assert "1 numbers and statements are confirmed and 1 deviate." in text
    assert "1 are consistent with a reading that we chose, and 1 are not testable" in text
    rows = re.findall(r"<tr><td>(\w+)</td>.*?class=\"verdict ([\w-]+)\"", page)
    verdicts = ["confirmed", "deviates", "consistent", "not-testable", "ours"]
    assert [verdict for _, verdict in rows] == verdicts


def test_missing_data_are_listed(tmp_path):
    page = make_page(
        PAPER, [_kept([], data={"CelebA": "not at hand", "Adult": "at hand"})], tmp_path
    )
    assert "Not at hand in this run: CelebA" in page
    assert "No copy of DSS, the paper's fourth dataset, was found" in page


def test_items_that_were_not_computed_are_listed(tmp_path):
    page = make_page(PAPER, [], tmp_path)
    assert page.count("not made yet") == 14


def test_numbers_that_differ_from_the_committed_run_are_named(tmp_path):
    known = expected_numbers()["fig4a"]
    comparisons = [Claim(name).compare(value) for name, value in known.items()]
    same = make_page(PAPER, [_kept(comparisons)], tmp_path)
    assert f"{len(known)} of {len(known)} numbers as in the committed run" in same
    comparisons[0] = Claim(comparisons[0].what).compare(comparisons[0].ours * 1.001)
    other = make_page(PAPER, [_kept(comparisons)], tmp_path)
    assert f"{len(known) - 1} of {len(known)} numbers as in the committed run, different" in other


@pytest.mark.parametrize(("value", "differs"), [(1 + 1e-7, []), (1 + 1e-5, ["a"]), (-1.0, ["a"])])
def test_differences(value, differs):
    assert differences({"a": value, "new": 1.0}, {"a": 1.0, "gone": 1.0}) == differs


def test_zero_is_compared_by_size():
    assert differences({"a": 1e-13}, {"a": 0.0}) == []
    assert differences({"a": 1e-3}, {"a": 0.0}) == ["a"]
