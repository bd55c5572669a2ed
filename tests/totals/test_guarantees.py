"""One text per guarantee: complete, and quoted word by word in the documentation."""

from pathlib import Path

import pytest

from seepage.totals.guarantees import GUARANTEES, KINDS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", GUARANTEES)
def test_the_theory_quotes_every_guarantee(name):
    found = GUARANTEES[name]
    theory = (DOCS / "theory-totals.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {found.kind} | {found.meaning} | {found.needs} |\n" in theory
    assert f"- **`{name}`.** {found.promise} {found.excludes}\n" in theory


def test_the_glossary_quotes_every_kind():
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    for kind, meaning in KINDS.items():
        assert f"*{kind}*, {meaning}" in glossary


def test_the_tour_quotes_the_total_that_is_assumed():
    words = (DOCS / "tour.md").read_text(encoding="utf-8").split()
    assert GUARANTEES["independent"].meaning in " ".join(words)


def test_sentences_are_sentences_and_kinds_are_sorted():
    kinds = [list(KINDS).index(guarantee.kind) for guarantee in GUARANTEES.values()]
    assert kinds == sorted(kinds)
    for name, guarantee in GUARANTEES.items():
        assert guarantee.name == name
        for sentence in (guarantee.promise, guarantee.excludes):
            assert sentence.startswith("It ")
            assert sentence.endswith(".")
        assert not guarantee.meaning.endswith(".")
