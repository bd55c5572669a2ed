"""Verdicts of the reproduction: tolerances of rounding and noise, and their order."""

import pytest

from reproduction.fig7_utility import raw_counts
from reproduction.findings import HEADLINE, VERDICTS, Claim
from reproduction.paper_data import standing
from seepage import benchmark_mechanisms, load_pairs


@pytest.mark.parametrize(
    ("ours", "noise", "verdict"),
    [
        (0.2949, 0.0, "confirmed"),
        (0.2951, 0.0, "deviates"),
        (0.2951, 0.001, "confirmed"),
        (0.2849, 0.0, "deviates"),
    ],
)
def test_a_tolerance_is_rounding_and_three_deviations(ours, noise, verdict):
    claim = Claim("error", printed=0.29, digits=2)
    assert claim.compare(ours, noise=noise).verdict == verdict


def test_trailing_zeros_count_as_printed():
    claim = Claim("error", printed=0.3, digits=2)
    assert claim.compare(0.306).verdict == "deviates"
    assert Claim("error", printed=0.3, digits=1).compare(0.306).verdict == "confirmed"


@pytest.mark.parametrize(
    ("fields", "agreeing", "disagreeing"),
    [
        ({}, "confirmed", "deviates"),
        ({"chosen": "a reading"}, "consistent", "deviates"),
        ({"coded": "a reading"}, "as in the authors' code", "deviates"),
        ({"by_definition": "a proof"}, "follows from the definition", "deviates"),
        ({"refutes": True}, "confirmed", "refutes the paper"),
        ({"unknown": "columns"}, "confirmed", "input unknown"),
        ({"unknown": "columns", "refutes": True}, "confirmed", "input unknown"),
        ({"untestable": "no data"}, "not testable", "not testable"),
    ],
)
def test_verdicts(fields, agreeing, disagreeing):
    claim = Claim("share", says="most", minimum=0.5, **fields)
    assert claim.compare(0.6).verdict == agreeing
    assert claim.compare(0.4).verdict == disagreeing
    assert {agreeing, disagreeing} <= set(VERDICTS)
    assert set(HEADLINE) <= set(VERDICTS)


def test_unrelated_tables_are_counted_by_the_same_tolerance():
    claim = Claim("error", printed=0.29, digits=2)
    found = claim.compare(0.29, unrelated=[0.286, 0.31, 0.2951], noise=0.0001)
    assert found.unrelated == "2 of 3"
    assert claim.compare(0.29).unrelated == ""


def test_columns_that_the_paper_does_not_list_are_an_unknown_input():
    assert "unknown" in standing("Adult, near reading")
    assert "chosen" in standing("CVD, documented columns")
    assert standing("CelebA") == {}
    assert "untestable" in standing("NIST ACS")


def test_raw_counts_of_exp_are_biased_towards_equal_frequencies():
    """The numbers of Fig. 7a that the authors' aggregator gives on Adult."""
    pairs = load_pairs("adult")
    scores = benchmark_mechanisms(pairs, [1.0], mechanisms=["exp"]).scores
    rows = [vars(score) | {"mechanism": "EXP"} for score in scores]
    [row] = raw_counts(rows, pairs)
    assert row["frequency_error"] == pytest.approx(0.48, abs=0.005)
    assert scores[0].expected_frequency_error == pytest.approx(0.022, abs=0.003)
