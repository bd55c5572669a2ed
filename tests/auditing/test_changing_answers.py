"""What stored reports reveal of answers that change, against enumeration of paths."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import seepage as sp
from seepage.auditing.changing_answers import (
    MAX_PATH_ROUNDS,
    StoredBit,
    privacy_of_changes,
    repeated_reports,
)
from seepage.mechanisms.published_randomiser import AnswerChanges, RandomisedAttribute

E = math.e
GRR_1 = np.array([[E, 1.0], [1.0, E]]) / (1 + E)
ILLNESS = np.array([[0.98, 0.02], [0.0, 1.0]])
FAIR = np.array([0.5, 0.5])


@dataclass
class ChangeLeakage:
    first: float
    last: float
    revealed: float


def change_leakage(channel, changes, start, rounds):
    repeated = repeated_reports(channel, AnswerChanges(changes, start), rounds)
    leakages = []
    for matrix in (repeated.given_first, repeated.given_last):
        largest = matrix.max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = largest / matrix.min(axis=0)
        leakages.append(float(np.log(ratios[largest > 0].max())))
    found = ChangeLeakage(*leakages, repeated.revealed)
    labels = tuple(map(str, range(channel.shape[1])))
    values = tuple(map(str, range(len(channel))))
    attribute = RandomisedAttribute("a", values, labels, channel)
    attribute = replace(attribute, changes=AnswerChanges(changes, start))
    pure = privacy_of_changes(attribute, rounds).pure
    assert pure == pytest.approx(max(leakages))
    assert pure >= max(leakages) - 1e-12
    return found


def symmetric(first, second):
    return np.array([[1 - first, first], [second, 1 - second]])


@pytest.mark.parametrize(("rounds", "share"), [(4, 0.032), (12, 0.109)])
def test_an_illness_is_revealed(rounds, share):
    leakage = change_leakage(GRR_1, ILLNESS, np.array([0.9, 0.1]), rounds)
    assert leakage.first == leakage.last == math.inf
    assert leakage.revealed == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((0.05, 0.05), (2.0, 2.0)),
        ((0.05, 0.2), (3.73, 5.11)),
        ((0.01, 0.3), (6.09, 8.87)),
    ],
)
def test_answers_that_return(rates, expected):
    for rounds, leakage in zip((4, 12), expected, strict=True):
        start = np.array([rates[1], rates[0]]) / sum(rates)
        found = change_leakage(GRR_1, symmetric(*rates), start, rounds)
        assert max(found.first, found.last) == pytest.approx(leakage, abs=6e-3)
        assert found.first == pytest.approx(found.last)


def test_answers_that_stay_leak_the_epsilon_of_one_report():
    found = change_leakage(GRR_1, np.eye(2), FAIR, 10)
    assert found.first == pytest.approx(1.0)
    assert found.revealed == pytest.approx(0.0, abs=1e-12)


def enumerated(channel, changes, start, rounds):
    """The same by enumeration of answers and stored reports, in plain Python."""
    k, m = channel.shape
    first = {}
    last = {}
    for path in itertools.product(range(k), repeat=rounds):
        moved = math.prod(changes[a, b] for a, b in itertools.pairwise(path))
        for stored in itertools.product(range(m), repeat=k):
            drawn = math.prod(channel[v, stored[v]] for v in range(k))
            reports = tuple(stored[v] for v in path)
            row = first.setdefault(reports, np.zeros(k))
            row[path[0]] += moved * drawn
            row = last.setdefault(reports, np.zeros(k))
            row[path[-1]] += start[path[0]] * moved * drawn
    shares = sum(last.values())
    return (
        max(math.log(row.max() / row.min()) for row in first.values()),
        max(
            math.log((row / shares).max() / (row / shares).min())
            for row in last.values()
        ),
        sum(row.sum() for reports, row in last.items() if len(set(reports)) > 1),
    )


@pytest.mark.parametrize("seed", range(5))
def test_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    k = 2 + seed % 2
    m = 2 + (seed + 1) % 2
    channel = rng.dirichlet(np.ones(m), k)
    changes = rng.dirichlet(np.ones(k), k)
    start = rng.dirichlet(np.ones(k))
    found = change_leakage(channel, changes, start, 4)
    expected = enumerated(channel, changes, start, 4)
    assert (found.first, found.last, found.revealed) == pytest.approx(expected)


def test_too_many_sequences_raise():
    with pytest.raises(sp.InputError, match="too many sequences"):
        change_leakage(GRR_1, ILLNESS, FAIR, 100)


TWO_LEVELS = StoredBit(1 / (1 + E**2), 1 / (1 + E), E / (1 + E))


def test_the_path_total_of_two_levels():
    assert TWO_LEVELS.path_total(4) == pytest.approx(2.65, abs=6e-3)
    assert TWO_LEVELS.path_total(12) == pytest.approx(6.61, abs=6e-3)
    assert TWO_LEVELS.path_total(1) < 1.0  # one report, of two noises
    far = TWO_LEVELS.path_total(10 * MAX_PATH_ROUNDS)
    assert far == TWO_LEVELS.path_total(MAX_PATH_ROUNDS)


@pytest.mark.parametrize("bit", [TWO_LEVELS, StoredBit(0.25, 0.5, 0.75)])
def test_the_path_total_against_enumeration(bit):
    rounds = 5
    likelihoods = []
    for path in itertools.product((0, 1), repeat=rounds):
        of_path = np.zeros(2**rounds)
        for stored in itertools.product((0, 1), repeat=2):
            drawn = 1.0
            for value, one in enumerate(stored):
                drawn *= 1 - bit.flip if value == one else bit.flip
            one = [bit.one_if_one if stored[v] else bit.one_if_zero for v in path]
            for code, y in enumerate(itertools.product((0, 1), repeat=rounds)):
                terms = [p if b else 1 - p for p, b in zip(one, y, strict=True)]
                of_path[code] += drawn * math.prod(terms)
        likelihoods.append(of_path)
    table = np.array(likelihoods)
    expected = np.log(table.max(axis=0) / table.min(axis=0)).max()
    assert bit.path_total(rounds) == pytest.approx(expected)


def vendor(**keys):
    attribute = {"values": ["no", "yes"], "keep": E / (1 + E), **keys}
    return {"attributes": {"ill": attribute}, "rounds": 4, "memoised": True}


def test_an_audit_of_stored_reports_says_what_it_does_not_cover():
    found = sp.audit(vendor(), claim=1.0)
    assert found.verdict == "holds"
    assert "only while answers do not change" in found.notes[0]
    assert "infinite for a value that cannot be left" in found.notes[0]
    assert not sp.audit(vendor(), claim=4.0, memoised=False).notes
    assert not sp.audit(vendor(), claim=1.0, rounds=1).notes
    assert not sp.audit(vendor(), claim=1.0, linked=False).notes


def test_an_audit_with_rates_of_change():
    rates = {"changes": ILLNESS.tolist(), "start": [0.9, 0.1]}
    found = sp.audit(vendor(**rates), claim=1.0)
    assert found.verdict == "refuted"
    assert found.epsilon == math.inf
    assert found.notes[0].startswith("ill: answers change, so 3.2% of people send two")
    assert "is possible from value no and impossible from value yes" in found.witness
    fair = {"changes": symmetric(0.05, 0.05).tolist(), "start": [0.5, 0.5]}
    assert sp.audit(vendor(**fair), claim=2.0).epsilon == pytest.approx(2.0)
    assert sp.audit(vendor(**fair), claim=1.99).verdict == "refuted"


def test_an_audit_of_two_levels_gives_the_path_total():
    rappor = {"k": 2, "f": 2 / (1 + E**2), "p": 1 / (1 + E), "q": E / (1 + E)}
    whole = {"attributes": {"a": rappor}, "rounds": 12, "memoised": True}
    found = sp.audit(whole, claim=4.0)
    assert found.verdict == "holds"
    assert (
        "one bit of all 12 reports changes the odds about when at least 745 times"
        in found.notes[0]
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"changes": ILLNESS.tolist()}, "both changes and start"),
        ({"changes": [[1.0]], "start": [1.0]}, "a matrix of 2 rows"),
        ({"changes": [[0.5, 0.6], [0, 1]], "start": [1, 0]}, "must sum to 1"),
        ({"changes": ILLNESS.tolist(), "start": [0.5, 0.6]}, "must sum to 1"),
    ],
)
def test_rates_that_are_none_raise(keys, message):
    with pytest.raises(sp.InputError, match=message):
        sp.audit(vendor(**keys), claim=1.0)


def test_rates_without_a_stored_report_raise():
    rates = {"changes": ILLNESS.tolist(), "start": [0.9, 0.1]}
    with pytest.raises(sp.InputError, match="no stored report is repeated"):
        sp.audit(vendor(**rates), claim=4.0, memoised=False)
    rappor = {"k": 2, "f": 0.5, "p": 0.5, "q": 0.75, **rates}
    whole = {"attributes": {"a": rappor}, "rounds": 3, "memoised": True}
    with pytest.raises(sp.InputError, match="must have no changes"):
        sp.audit(whole, claim=4.0)


def test_samples_of_several_rounds_are_of_one_answer():
    found = sp.audit(
        lambda value, rounds: [value] * rounds,
        claim=1.0,
        values=[0, 1],
        rounds=3,
        samples=50,
    )
    assert "nothing is said of answers that change" in found.notes[0]
