"""Published parameters of other people's randomisers as transition matrices."""

import json
import math
from itertools import combinations, product

import numpy as np
import pytest

import oracles
import seepage as sp

SIXTH = 1 / 6


def read(**parameters):
    return sp.Randomiser.read(parameters)["value"]


def test_forced_response():
    survey = read(p=4 * SIXTH, p0=SIXTH, p1=SIXTH, values=["no", "yes"])
    assert survey.values == survey.reports == ("no", "yes")
    np.testing.assert_allclose(survey.matrix, [[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
    # forced yes twice as often as forced no
    skewed = read(p=0.4, p0=0.2, p1=0.4)
    np.testing.assert_allclose(skewed.matrix, [[0.6, 0.4], [0.2, 0.8]])


def test_kept_value():
    kept = read(keep=0.7, k=4)
    assert kept.values == ("0", "1", "2", "3")
    np.testing.assert_allclose(kept.matrix[1], [0.1, 0.7, 0.1, 0.1])


def test_bits_of_all_reports():
    encoding = read(p=0.75, q=0.25, values=["a", "b", 3])
    assert encoding.values == ("a", "b", "3")
    np.testing.assert_allclose(encoding.pair[0], [3 / 16, 9 / 16, 1 / 16, 3 / 16])
    with pytest.raises(sp.InputError, match="too many reports"):
        encoding.matrix  # noqa: B018
    matrix = oracles.bit_matrix(3, 0.75, 0.25)
    bits = list(product((0, 1), repeat=3))
    for column, both in enumerate([(1, 1), (1, 0), (0, 1), (0, 0)]):
        chosen = [report[:2] == both for report in bits]
        np.testing.assert_allclose(
            encoding.pair[:, column], matrix[:2, chosen].sum(axis=1)
        )


@pytest.mark.parametrize("name", ["grr", "exp", "ss", "oue", "rappor"])
def test_registered_mechanisms(name):
    """Matrices of named mechanisms are theirs, and what two values decide is their
    epsilon.
    """
    named = read(mechanism=name, epsilon=1.5, k=5)
    made = sp.mechanism(name, 5, 1.5)
    bits = name in ("oue", "rappor")
    matrix = oracles.bit_matrix(5, *made.support) if bits else named.matrix
    assert matrix.shape[0] == 5
    assert np.allclose(matrix.sum(axis=1), 1)
    ratios = matrix.max(axis=0) / matrix.min(axis=0)
    contrast = made.likely_sets.contrast
    assert math.log(ratios.max()) == pytest.approx(contrast, abs=1e-12)
    if named.pair is not None:
        first, second = named.pair
        assert math.log(first[1] / second[1]) == pytest.approx(contrast, abs=1e-12)
        assert first.sum() == pytest.approx(1, abs=1e-15)


def test_pairs_are_sums_of_reports():
    """What reports say of two values is their matrix, summed over all else: subset
    selection.
    """
    subset = read(mechanism="ss", epsilon=0.5, k=6)
    sets = list(combinations(range(6), subset.mechanism.size))
    assert subset.mechanism.size > 1
    for column, (first, second) in enumerate([(1, 1), (1, 0), (0, 1), (0, 0)]):
        chosen = [(0 in one) == first and (1 in one) == second for one in sets]
        np.testing.assert_allclose(
            subset.pair[:, column], subset.matrix[:2, chosen].sum(axis=1), atol=1e-15
        )


def test_rappor_of_several_hash_functions_has_no_matrix():
    rappor = read(f=0.5, p=0.5, q=0.75, h=2, cohorts=8, k=100)
    assert rappor.copies == 2
    assert rappor.mechanism.f == 0.5
    with pytest.raises(sp.InputError, match="too many reports"):
        rappor.matrix  # noqa: B018


def test_matrices_mechanisms_and_files(tmp_path):
    cells = [[0.9, 0.1], [0.2, 0.8]]
    given = sp.Randomiser.read(np.array(cells))["value"]
    path = tmp_path / "survey.json"
    path.write_text(
        json.dumps({"attributes": {"ill": {"matrix": cells, "reports": ["a", "b"]}}})
    )
    saved = sp.Randomiser.read(path)["ill"]
    assert saved.reports == ("a", "b")
    assert saved.values == ("0", "1")
    np.testing.assert_array_equal(given.matrix, saved.matrix)
    table = tmp_path / "survey.csv"
    table.write_text("0.9,0.1\n0.2,0.8\n")
    np.testing.assert_array_equal(sp.Randomiser.read(table)["value"].matrix, cells)
    subset = sp.Randomiser.read(sp.SubsetSelection(6, 0.5))["value"]
    assert subset.reports == tuple(map(str, range(15)))
    assert (subset.matrix == sp.SubsetSelection(6, 0.5).channel()).all()


def test_rounds_and_links():
    parts = {name: {"keep": 0.6, "k": 2} for name in "abc"}
    whole = sp.Randomiser.read(
        {"attributes": parts, "rounds": 3, "linked": [["a", "c"]]}
    )
    assert list(whole) == ["a", "b", "c"]
    assert whole.rounds == 3
    assert not whole.memoised
    assert whole.linked == (("a", "c"), ("b",))


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (
            {"keeep": 1, "k": 2},
            "there is no key 'keeep' in 'value'; did you mean 'keep'?",
        ),
        (
            {"keep": 0.5, "k": 2, "q": 1},
            "there is no key 'q' in 'value'; its keys are changes, k, keep, start, "
            "values",
        ),
        (
            {"attributes": {"a": {"keep": 1, "k": 2}}, "round": 2},
            "there is no key 'round' in the specification; did you mean 'rounds'?",
        ),
        (
            {"format": "seepage plan", "version": 1},
            "an audit needs the parameters of a randomiser, got a file of the format "
            "'seepage plan'",
        ),
        (
            {"p": 0.5},
            "'value' must have one of the keys matrix, mechanism, keep, p0, f, q, got "
            "p",
        ),
        ({"keep": 0.5}, "'value' must have values or k, got neither"),
        (
            {"keep": 1.5, "k": 2},
            "cannot be read: Expected `float` <= 1.0 - at `$.keep`",
        ),
        (
            {"p": 0.5, "p0": 0.2, "p1": 0.2},
            "'value' cannot be read: p + p0 + p1 must be 1, got 0.9",
        ),
        ([[0.5, 0.4], [0.5, 0.5]], "but row 0 sums to 0.9"),
        (
            {"matrix": [[1, 0], [0, 1]], "values": ["a"]},
            "'value' must have 2 different labels, got ('a',)",
        ),
        ({"keep": 0.5, "values": ["a", "a"]}, "must have 2 different labels"),
        ({"mechanism": "gr", "epsilon": 1, "k": 2}, "did you mean 'grr'?"),
        (
            {"attributes": {"a": {"keep": 1, "k": 2}}, "linked": [["b"]]},
            "each of linked must be",
        ),
        ("no/such.json", "no/such.json cannot be read"),
        ("no/such.csv", "no/such.csv cannot be read"),
    ],
)
def test_one_line_for_bad_specifications(source, line):
    with pytest.raises(sp.InputError) as caught:
        sp.Randomiser.read(source)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_files(tmp_path):
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("0.5,0.5\n1\n")
    with pytest.raises(sp.InputError, match="columns changed from 2 to 1 at row 2"):
        sp.Randomiser.read(ragged)
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(sp.InputError, match="is no JSON"):
        sp.Randomiser.read(broken)
