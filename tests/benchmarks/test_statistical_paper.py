"""The paper's numbers of the statistical method, on the real data."""

import math

import numpy as np
import pytest

import seepage as sp
from real_data import pairs_of, real_data, table_of
from seepage.benchmarks.statistical.estimate_leakage import estimate_leakage

CELEBA_AGAINST_THE_BOUND = {
    1.0: {
        "grr": 8.89e-5,
        "rappor": 0.29,
        "exp": 0.29,
        "oue": 0.32,
        "blh": 0.32,
        "olh": 0.33,
        "ss": 9.44e-5,
        "she": 0.29,
    },
    3.0: {
        "grr": 1.97e-5,
        "rappor": 0.31,
        "exp": 0.32,
        "oue": 0.54,
        "blh": 0.54,
        "olh": 0.53,
        "ss": 1.81e-5,
        "she": 0.35,
    },
}
"""Table II as printed: NMSE of the statistical leakage against Algorithm 2."""


def nmse(found, reference):
    """The paper's NMSE-CPL: over all ordered pairs, squared errors by squared
    references.
    """
    off = ~np.eye(len(reference), dtype=bool)
    return np.sum((found - reference)[off] ** 2) / np.sum(reference[off] ** 2)


def against_exact(pairs, name, epsilon):
    found = estimate_leakage(
        pairs, mechanism=name, epsilon=epsilon, surrogates=0, rng=1
    )
    exact = sp.leakage_matrix(pairs, epsilon, mechanism=name, view="inferred").values
    return nmse(found.corrected, exact), nmse(found.plug_in, exact)


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("grr", 1.0),
        ("exp", 3.0),
        pytest.param("grr", 3.0, marks=pytest.mark.slow),
        pytest.param("exp", 1.0, marks=pytest.mark.slow),
    ],
)
def test_adult_against_algorithm_1(name, epsilon):
    corrected, plug_in = against_exact(sp.load_pairs("adult"), name, epsilon)
    assert corrected < 5.5e-3
    assert (
        plug_in == math.inf
    )  # a country with one record: 50 reports do not fill its cells


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_adult_without_the_rare_countries_against_algorithm_1(epsilon):
    adult = sp.load_pairs("adult")
    common = adult.select(
        [name for name in adult.domain.names if adult.marginal(name).min() > 50]
    )
    assert len(common.domain) >= 8
    corrected, plug_in = against_exact(common, "grr", epsilon)
    assert corrected < plug_in < 5.5e-3


@real_data
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("name", ["grr", "exp"])
def test_cardio_against_algorithm_1(name, epsilon):
    corrected, plug_in = against_exact(pairs_of("cardio"), name, epsilon)
    assert corrected < plug_in < 5.5e-3


@real_data
@pytest.mark.parametrize(
    ("name", "epsilon", "step"),
    [
        ("grr", 1.0, 3),
        *(
            pytest.param(name, epsilon, 1, marks=pytest.mark.slow)
            for name in ("grr", "exp")
            for epsilon in (1.0, 3.0)
        ),
    ],
)
def test_celeba_against_algorithm_1(name, epsilon, step):
    pairs = pairs_of("celeba").select(range(0, 40, step))
    corrected, plug_in = against_exact(pairs, name, epsilon)
    assert corrected < plug_in < 5.5e-3


@real_data
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("name", list(CELEBA_AGAINST_THE_BOUND[1.0]))
def test_celeba_against_algorithm_2(name, epsilon):
    pairs = pairs_of("celeba")
    found = estimate_leakage(
        pairs, mechanism=name, epsilon=epsilon, surrogates=0, rng=1
    )
    bound = sp.leakage_matrix(pairs, epsilon).values
    printed = CELEBA_AGAINST_THE_BOUND[epsilon][name]
    assert nmse(found.plug_in, bound) == pytest.approx(printed, abs=0.02)
    assert nmse(found.corrected, bound) == pytest.approx(printed, abs=0.02)


@real_data
def test_oue_on_celeba_against_algorithm_2():
    pairs = pairs_of("celeba").select(range(0, 40, 3))
    found = estimate_leakage(pairs, mechanism="oue", epsilon=1.0, surrogates=0, rng=1)
    assert nmse(found.plug_in, sp.leakage_matrix(pairs, 1.0).values) == pytest.approx(
        0.32, abs=0.03
    )


@real_data
def test_cardio_and_cholesterol():
    found = estimate_leakage(
        pairs_of("cardio"), mechanism="grr", epsilon=1.0, surrogates=999, rng=1
    )
    assert found["cholesterol", "cardio"].plug_in == pytest.approx(0.3381, abs=0.01)
    assert found["cardio", "cholesterol"].plug_in == pytest.approx(0.1769, abs=0.01)
    assert found["cholesterol", "cardio"].p_value == 0.001


@pytest.mark.parametrize(
    ("epsilon", "forward", "backward"),
    [(0.5, 0.5, 0.2809), (1.0, 1.0, 0.6201), (2.0, 2.0, 1.4338)],
)
def test_the_four_by_four_example(epsilon, forward, backward):
    joint = (
        np.array([[20, 0, 0, 0], [0, 20, 0, 0], [10, 15, 3, 2], [10, 15, 3, 2]]) * 1000
    )
    target, source = np.divmod(np.repeat(np.arange(16), joint.ravel()), 4)
    domain = sp.Domain(sp.Attribute(name, tuple("1234")) for name in ("k", "other"))
    pairs = sp.Records(domain, np.stack([target, source], axis=1)).pairs()
    found = estimate_leakage(
        pairs, mechanism="grr", epsilon=epsilon, surrogates=99, rng=2
    )
    for pair, exact in ((("k", "other"), forward), (("other", "k"), backward)):
        assert found[pair].plug_in == pytest.approx(exact, abs=0.01)
        assert found[pair].lower <= exact + 1e-4
        assert found[pair].upper >= exact - 1e-4
        assert found[pair].p_value == 0.01


@real_data
def test_total_leakage_of_male_by_three_sources():
    sources = ["No_Beard", "Wearing_Necklace", "Smiling"]
    table = table_of("celeba").select(["Male", *sources])
    single = []
    joint = []
    for epsilon in (1.0, 3.0):
        call = {"surrogates": 99, "rng": 1}
        alone = estimate_leakage(
            table, mechanism="grr", epsilon=epsilon, target="Male", **call
        )
        beard, necklace, smiling = (alone["Male", name].corrected for name in sources)
        assert beard > necklace > smiling
        together = estimate_leakage(
            table,
            mechanism="grr",
            epsilon=epsilon,
            target="Male",
            sources=sources,
            **call,
        ).only
        assert beard < together.corrected < 1.05 * (beard + necklace + smiling)
        assert together.p_value == 0.01
        single.append(beard)
        joint.append(together.corrected)
    assert single[0] < single[1]
    assert joint[0] < joint[1]
