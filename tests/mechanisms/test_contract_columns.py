"""How every registered mechanism treats odd columns, bad input, files and
randomness.
"""

import json
import math

import numpy as np
import pytest
from contract import (
    IMPOSSIBLE,
    MATRIX,
    NAMES,
    PURE,
    every_mechanism,
    every_registered,
    make,
    read,
    same,
    write,
)
from scipy.stats import chisquare

from seepage._core.errors import InputError
from seepage.designs.forms.question import Question
from seepage.mechanisms.arrow_reports import reports_from_arrow
from seepage.mechanisms.mechanism_registry import mechanism
from seepage.mechanisms.randomness import ROWS

# Odd columns --------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("k", [1, 2, 1000])
def test_alphabets_of_one_two_and_a_thousand(name: str, k: int, secure: bool) -> None:
    k = min(k, 40) if name == MATRIX else k
    tested = make(name, k, 4.0)
    count = 3000
    codes = np.arange(count) % k
    reports = tested.perturb(codes, None if secure else 61)
    assert len(reports) == count
    hits = np.mean(tested.infer(reports, 62) == codes)
    rate = tested.hit_rate
    assert abs(hits - rate) <= 5 * math.sqrt(rate * (1 - rate) / count) + 1e-3
    found = tested.estimate(reports)
    wrong = np.abs(found.frequencies - np.bincount(codes, minlength=k) / count)
    assert (wrong <= 6 * found.standard_errors + 1e-9).all()
    assert tested.bits >= 0


@every_mechanism
@pytest.mark.parametrize("epsilon", [0.0, 2.0])
def test_an_alphabet_of_one_has_epsilon_0(name: str, epsilon: float) -> None:
    tested = make(name, 1, epsilon)
    assert (tested.epsilon, tested.delta, tested.realised_epsilon) == (0.0, 0.0, 0.0)
    assert tested.inferred_channel() == pytest.approx(1.0)
    assert tested.guess_contrast == 0
    assert tested.leakage([[1.0], [1.0]]).value == 0
    reports = tested.perturb([0, 0, 0], 1)
    assert tested.infer(reports, 2).tolist() == [0, 0, 0]
    found = tested.estimate(reports)
    assert found.frequencies.tolist() == [1.0]
    assert found.standard_errors.tolist() == [0.0]


@every_mechanism
@pytest.mark.parametrize("secure", [False, True])
def test_empty_columns(name: str, secure: bool) -> None:
    tested = make(name, 4, 1.0)
    reports = tested.perturb([], None if secure else 1)
    assert len(reports) == 0
    assert tested.infer(reports).shape == (0,)
    assert tested.log_likelihood(reports).shape == (0, 4)
    assert tested.tally(reports).tolist() == [0.0] * 4
    for nothing in (reports, []):
        with pytest.raises(InputError, match="without reports"):
            tested.estimate(nothing)


@pytest.mark.parametrize("name", PURE)
def test_reports_at_epsilon_0_are_independent_of_the_value(name: str) -> None:
    tested = make(name, 3, 0.0)
    reports = tested.perturb([0, 1, 2], 1)
    assert np.ptp(tested.log_likelihood(reports), axis=1) == pytest.approx(0, abs=1e-12)
    with pytest.raises(InputError, match="no information"):
        tested.estimate(reports)


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("epsilon", [1e-320, 1e-200])
def test_tiny_budgets_have_huge_variances(name: str, epsilon: float) -> None:
    tested = make(name, 3, epsilon)
    assert (tested.variance(100, [0.0, 0.5, 1.0]) > 1e12).all()
    assert 0 <= tested.leakage(np.eye(3)).value <= epsilon


# Bad input ----------------------------------------------------------------------------

SECRET = 987_654_321


@every_mechanism
@pytest.mark.parametrize(
    "codes",
    [[0, -SECRET], [SECRET], [0, 3], [0.5], [[0, 1]], ["1"], [True], [None], 2, "12"],
)
def test_codes_outside_the_alphabet_raise_without_repeating_them(
    name: str, codes: object
) -> None:
    with pytest.raises(InputError, match="codes must be") as error:
        make(name, 3, 1.0).perturb(codes)
    assert str(SECRET) not in str(error.value)
    assert "\n" not in str(error.value)


@every_registered
@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -1.0, "1", None, True, 1j])
def test_epsilon_must_be_a_finite_number(name: str, epsilon: object) -> None:
    with pytest.raises(InputError, match="epsilon must be"):
        make(name, 3, epsilon)


@every_mechanism
@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, True])
def test_k_must_be_an_integer(name: str, k: object) -> None:
    with pytest.raises(InputError, match="k must be"):
        make(name, k, 1.0)


@every_registered
@pytest.mark.parametrize("delta", [math.nan, 1.0, -0.1, "0.1"])
def test_delta_must_be_a_relaxation(name: str, delta: object) -> None:
    with pytest.raises(InputError, match="delta"):
        mechanism(name, 3, 1.0, delta)


@every_mechanism
def test_reports_of_another_mechanism_raise(name: str) -> None:
    tested = make(name, 3, 1.0)
    others = [make(name, 4, 1.0), make(name, 3, 1.5)]
    others += [make(other, 3, 1.0) for other in NAMES if other != name]
    for other in others:
        reports = other.perturb([0, 1], 1)
        for use in (tested.estimate, tested.infer, tested.log_likelihood):
            with pytest.raises(InputError, match="reports must come from"):
                use(reports)
    for use in (tested.estimate, tested.infer):
        with pytest.raises(InputError, match="reports must come from"):
            use([np.array([1, 2])])


# Files --------------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("k", [1, 3, 64, 70])
@pytest.mark.parametrize("rows", [0, 200])
def test_reports_survive_arrow_and_parquet(
    name: str, k: int, rows: int, tmp_path
) -> None:
    tested = make(name, k, 1.0)
    reports = tested.perturb(np.arange(rows) % k, 71)
    path = tmp_path / "reports.parquet"
    write(reports, path)
    back = read(path)
    sliced = reports_from_arrow(reports.array()[50:], reports.field("anything"))
    assert same(back, reports)
    assert repr(back) == repr(reports)
    assert "\n" not in repr(reports)
    assert same(sliced, reports[50:])
    assert np.array_equal(tested.infer(back, 1), tested.infer(reports, 1))
    assert [path] == list(tmp_path.iterdir())


@every_registered
def test_description_is_plain_json_and_recreates_the_mechanism(name: str) -> None:
    tested = make(name, 5, 0.7)
    described = json.loads(json.dumps(tested.describe()))
    assert described == tested.describe()
    assert described["mechanism"] == name
    assert described["k"] == 5
    again = Question.of("a", tested).mechanism_for(5)
    assert again.describe() == tested.describe()
    assert name in repr(tested)


# Randomness ---------------------------------------------------------------------------


@every_mechanism
def test_a_seed_fixes_the_reports_and_the_guesses(name: str) -> None:
    tested = make(name, 7, 1.0)
    codes = np.arange(ROWS + 500) % 7
    assert same(tested.perturb(codes, 81), tested.perturb(codes, 81))
    assert same(
        tested.perturb(codes, 81), tested.perturb(codes, np.random.default_rng(81))
    )
    assert not same(tested.perturb(codes, 81), tested.perturb(codes, 82))
    reports = tested.perturb(codes, 81)
    assert np.array_equal(tested.infer(reports, 83), tested.infer(reports, 83))


@every_mechanism
def test_reports_come_from_the_operating_system_unless_there_is_a_seed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested = make(name, 40, 1.0)
    codes = np.arange(500) % 40
    assert not same(tested.perturb(codes), tested.perturb(codes))

    def asked(count: int) -> bytes:
        raise PermissionError

    monkeypatch.setattr("os.urandom", asked)
    assert tested.perturb(codes, 81)
    with pytest.raises(PermissionError):
        tested.perturb(codes)


@every_registered
@pytest.mark.parametrize("secure", [False, True])
def test_guesses_at_epsilon_0_are_uniform(name: str, secure: bool) -> None:
    """No choice favours a value: k is no power of 2, and a quarter more would be
    seen.
    """
    tested = make(name, 7, 0.0, delta=1e-9)
    count = 60_000
    reports = tested.perturb(np.full(count, 2), None if secure else 91)
    seen = np.bincount(tested.infer(reports, 92), minlength=7)
    favoured = np.full(7, count / 7.25)
    favoured[2] *= 1.25
    assert chisquare(seen, favoured).pvalue < IMPOSSIBLE < chisquare(seen).pvalue
