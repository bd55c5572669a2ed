"""The page: self-contained, escaped, with missing data listed."""

import re
from html.parser import HTMLParser

import msgspec

from seepage.study.reproduction import make_page
from seepage.study.reproduction.findings import PAPER, Claim, Comparison, Finding

EVIL = '<script>alert("x")</script> & <img src=http://evil>'


def _found(comparisons, **paper):
    found = Finding("fig4a", msgspec.structs.replace(PAPER["fig4a"], **paper))
    found.comparisons += comparisons
    return found


class _Tags(HTMLParser):
    VOID = ("meta", "img", "br", "link")

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []

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


def test_everything_is_escaped(tmp_path, monkeypatch):
    evil = Comparison(EVIL, EVIL, 1.0, EVIL, EVIL, "consistent", EVIL, EVIL)
    words = dict.fromkeys(("place", "title", "shows"), EVIL)
    found = _found([evil], notes=(EVIL,), **words)
    found.rows += [{EVIL: EVIL}]
    monkeypatch.setattr(
        "seepage.study.reproduction.PAPER", PAPER | {"fig4a": found.paper}
    )
    page = make_page([found], tmp_path)
    assert not any(tag in ("script", "img") for tag, _ in _tags(page))
    assert page.count("&lt;script&gt;") >= 10


def test_the_page_loads_no_external_resources(tmp_path):
    (tmp_path / "fig4a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    found = _found([Claim("x").compare(1.0)])
    found.charts[""] = "drawn already"
    page = make_page([found], tmp_path)
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
        Comparison("missing", "0.5", None, "", "", "not testable", "", "no such file"),
        Claim("own").compare(1.5),
    ]
    page = make_page([_found(comparisons)], tmp_path)
    for words in (
        "✓ confirmed",
        "✗ deviates",
        "○ consistent",
        "– not testable",
        "± 10 %",
    ):
        assert words in page
    for words in ("one of two", "no such file"):
        assert f'<span class="reason">{words}</span>' in page
    text = " ".join(re.sub(r"<[^>]*>", "", page).split())
    assert "1 numbers and statements are confirmed and 1 deviate." in text
    assert (
        "1 are consistent with a reading that we chose, and 1 are not testable" in text
    )
    rows = re.findall(r"<tr><td>(\w+)</td>.*?class=\"verdict ([\w-]+)\"", page)
    verdicts = ["confirmed", "deviates", "consistent", "not-testable", "ours"]
    assert [verdict for _, verdict in rows] == verdicts


def test_missing_data_are_listed(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path))
    page = make_page([_found([], data=("adult", "celeba"))], tmp_path)
    assert "Not at hand in this run: CelebA;" in page
    assert "Data: Adult (pair counts bundled), CelebA (not at hand)." in page
    assert "No copy of DSS, the paper's fourth dataset, was found" in page


def test_items_that_were_not_computed_are_listed(tmp_path):
    page = make_page([], tmp_path)
    assert page.count("not made yet") == 14
