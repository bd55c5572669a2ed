"""Comparisons: the verdict follows from the tolerance."""

import math

import pytest

from seepage.study.reproduction.findings import (
    PAPER,
    VERDICTS,
    Claim,
    Comparison,
    Finding,
    PaperItem,
)


def printed(what, paper, found, within=0.0, **options):
    return Claim(what, printed=paper, within=within, **options).compare(found)


def stated(what, says, found, **options):
    return Claim(what, says, **options).compare(found)


def ours(what, found, group=""):
    return Claim(what, group=group).compare(found)


@pytest.mark.parametrize(
    ("paper", "found", "within", "verdict"),
    [
        (2.0, 2.0, 0.0, "confirmed"),
        (2.0, 2.2, 0.1001, "confirmed"),
        (2.0, 2.21, 0.1, "deviates"),
        (2.0, 1.79, 0.1, "deviates"),
    ],
)
def test_a_printed_number_within_its_relative_tolerance(paper, found, within, verdict):
    assert printed("x", paper, found, within).verdict == verdict


@pytest.mark.parametrize(
    ("found", "verdict"), [(0.34, "confirmed"), (2.9, "confirmed"), (3.1, "deviates")]
)
def test_a_printed_number_within_a_factor(found, verdict):
    one = printed("x", 1.0, found, factor=3)
    assert (one.verdict, one.tolerance) == (verdict, "a factor 3")


def test_a_chosen_reading_is_consistent_at_best_and_a_deviation_has_its_reason():
    choice = {"chosen": "the near reading", "reason": "rare values"}
    agreeing, outside = (
        printed("x", 1.0, value, 0.1, **choice) for value in (1.05, 2.0)
    )
    assert (agreeing.verdict, agreeing.reason) == ("consistent", "the near reading")
    assert (outside.verdict, outside.reason) == ("deviates", "rare values")
    assert stated("x", "all", 3, minimum=5, reason="why").verdict == "deviates"
    assert printed("x", 1.0, 1.05, 0.1, reason="rare values").reason == ""


@pytest.mark.parametrize("value", [1.0, 5.0])
def test_what_is_not_testable_is_no_evidence_whatever_the_number(value):
    one = printed("x", 1.0, value, 0.1, untestable="circular", chosen="any")
    assert (one.verdict, one.reason, one.ours) == ("not testable", "circular", value)


def test_deviations_as_text():
    assert printed("x", 0.3381, 0.3353, 0.01).deviation == "-0.83 %"
    assert printed("x", 1.0, 375.2, 0.01).deviation == "375 times"
    assert printed("x", 1.0, 0.043, 0.01).deviation == "0.043 times"


@pytest.mark.parametrize(
    ("limits", "found", "verdict"),
    [
        ({"minimum": 1}, 1, "confirmed"),
        ({"minimum": 1}, 0.99, "deviates"),
        ({"maximum": 1}, 1, "confirmed"),
        ({"maximum": 1}, 1.01, "deviates"),
        ({"minimum": 1, "maximum": 2}, 3, "deviates"),
    ],
)
def test_a_claim_between_its_limits(limits, found, verdict):
    assert stated("x", "claim", found, **limits).verdict == verdict


def test_limits_as_text():
    assert stated("x", "claim", 1, minimum=1).tolerance == "at least 1"
    assert stated("x", "claim", 1, maximum=2).tolerance == "at most 2"
    assert stated("x", "claim", 1, minimum=0.5, maximum=2).tolerance == "0.5 to 2"


def test_nan_never_agrees():
    assert stated("x", "claim", math.nan, minimum=0).verdict == "deviates"
    assert printed("x", 1.0, math.nan, 0.5).verdict == "deviates"


def test_verdicts_without_a_comparison():
    found = Finding("item", PAPER["fig4a"])
    found.not_compared("x", "0.3", "no file")
    [missing] = found.comparisons
    assert (missing.ours, missing.verdict, missing.reason) == (
        None,
        "not testable",
        "no file",
    )
    assert ours("y", 1.0).verdict == "ours"
    assert list(VERDICTS) == [
        "confirmed",
        "deviates",
        "consistent",
        "not testable",
        "ours",
    ]


def test_the_placeholders_of_a_claim_are_filled():
    claims = {
        "number": Claim("{label}: a", printed=2.0, within=0.1, group="{label}"),
        "words": Claim("{label}: b", "{label} is small", maximum=1.0),
        "ours": Claim("c"),
    }
    item = PaperItem(
        "Fig. 0", "title", "shows", claims=claims, missing=Claim("{label}: d", "e")
    )
    found = Finding("fig0", item)
    found.claim("number", 2.1, label="x")
    found.claim("words", 3.0, {"reason": "{label} is large"}, label="x")
    found.claim("ours", 3.0)
    found.not_compared_on(["x"])
    assert found.comparisons == [
        printed("x: a", 2.0, 2.1, 0.1, group="x"),
        stated("x: b", "x is small", 3.0, maximum=1.0, reason="x is large"),
        ours("c", 3.0),
        Comparison(
            "x: d", "e", None, "", "", "not testable", "", "the data are not at hand"
        ),
    ]


def test_every_claim_is_compared_in_one_way():
    claims = [claim for item in PAPER.values() for claim in item.claims.values()]
    assert len(claims) > 40
    for claim in claims:
        assert not (claim.says and claim.printed is not None), claim
        assert bool(claim.says) == (
            math.isfinite(claim.minimum) or math.isfinite(claim.maximum)
        ), claim
        assert (claim.printed is not None) == bool(claim.within or claim.factor), claim
