"""The analysers: their formulas, their refusals, and a worked example of adding one."""

import numpy as np
import pytest

import seepage as sp
from seepage._registry import ANALYSERS
from seepage.study import baselines
from seepage.study.baselines import analyse_with, analyser, analysers, register_analyser
from strategies import pair_counts

BINARY = sp.Domain([sp.Attribute(name, ("no", "yes")) for name in "abc"])


@pytest.fixture
def pairs():
    return sp.PairCounts(
        BINARY,
        [[60, 40], [50, 50], [30, 70]],
        [40, 20, 10, 30, 18, 42, 12, 28, 15, 35, 15, 35],
    )


def test_registry_holds_the_papers_analysers():
    names = {"spl-anl", "grf 0.2", "grf 0.4", "its", "cbp", "grr-anl", "exp-anl", "algorithm 2"}
    assert names <= set(analysers())


@pytest.mark.parametrize("name", sorted(analysers()))
def test_contract(name, pairs):
    epsilons = np.array([0.5, 1.0, 2.0])
    values = analyse_with(analyser(name), pairs, epsilons)
    assert values.shape == (3, 3)
    assert (np.diag(values) == 0).all()
    assert (values <= epsilons[None, :] + 1e-12).all(), "no analyser exceeds the source's epsilon"


def test_graph_joins_whole_components():
    rng = np.random.default_rng(2)
    a, c = rng.integers(2, size=(2, 4_000))
    b, d = a.copy(), rng.integers(2, size=4_000)
    b[:1000], e = c[:1000], c.copy()
    e[:1000] = rng.integers(2, size=1_000)
    b[2000:3500] = c[2000:3500]
    pairs = pair_counts(dict(zip("abcde", (a, b, c, d, e), strict=True)))
    pcc = np.abs(sp.correlation_matrix(pairs, "pcc").values)
    assert pcc[0, 4] < 0.1 < min(pcc[0, 1], pcc[1, 2], pcc[2, 4])
    found = baselines.DependencyGraph(0.1).leakages(pairs, np.ones(5))
    assert (found[0] > 0).tolist() == [False, True, True, False, True]
    assert (found[3] > 0).tolist() == [False] * 5


def test_graph_uses_the_threshold_inclusively(pairs):
    strength = abs(sp.correlation_matrix(pairs, "pcc")[0, 1])
    ones = np.ones(3)
    at = baselines.DependencyGraph(strength).leakages(pairs, ones)
    above = baselines.DependencyGraph(np.nextafter(strength, 1)).leakages(pairs, ones)
    assert at[0, 1] == 1
    assert above[0, 1] == 0


def test_covariance_based_never_exceeds_grr_on_random_pairs():
    rng = np.random.default_rng(5)
    for _ in range(300):
        table = rng.integers(1, 200, size=(2, 2))
        pairs = sp.PairCounts(
            BINARY.select(["a", "b"]), [table.sum(axis=1), table.sum(axis=0)], table.ravel()
        )
        budget = np.full(2, rng.uniform(0.1, 4))
        symmetric = analyser("cbp").leakages(pairs, budget)
        assert symmetric[0, 1] == pytest.approx(symmetric[1, 0], abs=1e-12)
        assert (symmetric <= analyser("its").leakages(pairs, budget) + 1e-12).all()


def test_covariance_based_refuses_larger_alphabets():
    with pytest.raises(sp.DomainError, match=r"binary attributes only, and 'age' has 6 values"):
        analyser("cbp").leakages(sp.load_pairs("adult"), np.ones(15))


class HalfOfEverything:
    """A worked example: an analyser that says half of epsilon for every pair."""

    name = "HALF"

    def leakages(self, pairs, epsilons):
        values = np.tile(epsilons / 2, (len(epsilons), 1))
        np.fill_diagonal(values, 0)
        return values


@pytest.fixture
def half():
    yield register_analyser(HalfOfEverything())
    ANALYSERS.remove("half")


def test_adding_an_analyser_is_one_class_and_one_line(half, pairs):
    scores = sp.benchmark_analysers(pairs, [1.0], chosen=["half", "SPL-ANL"]).scores
    assert [score.analyser for score in scores] == ["HALF", "SPL-ANL"]
    assert scores[0].overshoot < scores[1].overshoot


def test_a_name_is_taken_once(half):
    with pytest.raises(sp.InputError, match="'HALF' is registered already"):
        register_analyser(HalfOfEverything())


class Broken:
    name = "BROKEN"

    def __init__(self, answer):
        self.answer = answer

    def leakages(self, pairs, epsilons):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((2, 2)), "must return a 3 x 3 matrix, got shape"),
        (np.full((3, 3), np.nan), "must return numbers, got NaN"),
        (np.full((3, 3), -0.5), "must return leakages of at least 0, got -0.5"),
    ],
)
def test_a_broken_analyser_is_refused_by_name(answer, message, pairs):
    with pytest.raises(sp.InputError, match=f"analyser 'BROKEN' {message}"):
        sp.benchmark_analysers(pairs, [1.0], chosen=[Broken(answer)])


@pytest.mark.parametrize("name", ["grf two", "grf 1.5", "nothing"])
def test_unknown_names_are_refused(name):
    with pytest.raises(sp.InputError):
        analyser(name)
