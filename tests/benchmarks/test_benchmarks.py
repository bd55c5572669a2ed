"""Both benchmarks: definitions by hand, the paper's regions on real data,
determinism.
"""

import numpy as np
import pytest

import seepage as sp
from real_data import pairs_of, real_data
from seepage.benchmarks.analyser_benchmark import gaps_between
from seepage.benchmarks.mechanism_benchmark import EIGHT


@pytest.fixture(scope="module")
def adult():
    return sp.load_pairs("adult")


def test_undershoot_and_overshoot_by_hand():
    reference = np.array([[0, 0.4], [0.2, 0]])
    found = np.array([[9, 0.1], [0.5, 9]])  # the diagonal does not count
    gaps = gaps_between(reference, found, epsilon=2.0)
    assert gaps.undershoot == pytest.approx(0.3 / 4)
    assert gaps.overshoot == pytest.approx(0.3 / 4)


@pytest.mark.parametrize(
    ("undershoot", "overshoot", "region"),
    [
        (0, 0, "P1"),
        (0.1, 0, "R1"),
        (0, 0.1, "R2"),
        (0.1, 0.1, "R3"),
        (1e-7, 1e-7, "P1"),
    ],
)
def test_regions(undershoot, overshoot, region):
    reference = np.array([[0, 0.5], [0.5, 0]])
    found = np.array([[0, 0.5 - 2 * undershoot], [0.5 + 2 * overshoot, 0]])
    gaps = gaps_between(reference, found, 1.0)
    assert gaps.undershoot == pytest.approx(undershoot)
    assert gaps.overshoot == pytest.approx(overshoot)
    assert gaps.region == region


def test_analysers_on_adult_lie_where_the_paper_says(adult):
    found = sp.benchmark_analysers(adult, [1.0])
    regions = {score.analyser: score.region for score in found.scores}
    assert regions == {
        "SPL-ANL": "R2",
        "GRF 0.2": "R3",
        "GRF 0.4": "R3",
        "ITS": "R1",
        "GRR-ANL": "R1",
        "EXP-ANL": "R1",
        "Triad": "R2",  # not of the paper
        "LTM": "P1",
        "Algorithm 2": "P1",
    }
    [(_, name, reason)] = found.left_out
    assert name == "CBP"
    assert "binary attributes only" in reason


def test_an_error_of_a_chosen_analyser_is_raised(adult):
    with pytest.raises(sp.InputError, match="binary attributes only"):
        sp.benchmark_analysers(adult, [1.0], analysers=["CBP"])


def test_its_is_exact_for_grr(adult):
    found = sp.benchmark_analysers(
        adult, [1.0, 3.0], reference="grr", analysers=["ITS", "EXP-ANL"]
    )
    assert {(s.analyser, s.region) for s in found.scores} == {
        ("ITS", "P1"),
        ("EXP-ANL", "R1"),
    }


@real_data
def test_celeba_numbers():
    found = sp.benchmark_analysers(pairs_of("celeba"), [1.0])
    scores = {
        s.analyser: (round(s.undershoot, 4), round(s.overshoot, 4))
        for s in found.scores
    }
    assert scores["SPL-ANL"] == (0, 0.8501)
    assert scores["GRF 0.2"] == (0.0183, 0.6313)
    assert scores["GRF 0.4"] == (0.1226, 0.0356)
    assert scores["CBP"] == (0.0753, 0)
    assert scores["ITS"] == scores["GRR-ANL"] == (0, 0)
    assert {s.analyser: s.region for s in found.scores}["EXP-ANL"] == "R1"


@real_data
def test_its_overestimates_the_inferred_value_of_oue():
    tables = {name: pairs_of(name) for name in ("celeba", "cardio")}
    exact = sp.benchmark_analysers(
        tables, [1.0], reference="oue:inferred", analysers=["ITS"]
    )
    assert [score.region for score in exact.scores] == ["R2", "R2"]
    simulated = sp.benchmark_analysers(
        tables["cardio"], [1.0], reference="statistical:oue", analysers=["ITS"]
    )
    assert simulated.scores[0].overshoot > 20 * simulated.scores[0].undershoot


@pytest.fixture(scope="module")
def mechanisms(adult):
    return sp.benchmark_mechanisms(adult, [1.0])


def test_mechanisms_cover_the_eight(mechanisms):
    assert [score.mechanism for score in mechanisms.scores] == list(EIGHT)


def test_simulated_errors_agree_with_closed_forms(mechanisms):
    for score in mechanisms.scores:
        assert score.zero_one_error == pytest.approx(
            score.expected_zero_one_error, abs=0.003
        )
        ratio = score.frequency_error / score.expected_frequency_error
        assert 0.7 < ratio < 1.35, score


def test_whole_reports_of_the_rich_mechanisms_reach_the_bound(mechanisms):
    totals = {score.mechanism: score.normalised_tcpl for score in mechanisms.scores}
    for name in ("oue", "olh", "blh", "rappor", "she"):
        assert totals[name] == pytest.approx(1.0, abs=1e-9)
    assert totals["exp"] < totals["grr"] < 1


def test_olh_against_subset_selection_as_in_the_paper(mechanisms):
    """The paper: a frequency error near 0.002 at 60% of the normalised TCPL of SS."""
    scores = {score.mechanism: score for score in mechanisms.scores}
    ratio = (
        scores["olh"].normalised_tcpl_inferred / scores["ss"].normalised_tcpl_inferred
    )
    assert ratio == pytest.approx(0.6, abs=0.1)
    assert scores["olh"].expected_frequency_error == pytest.approx(0.002, abs=0.001)


def test_a_seed_gives_the_same_numbers(adult):
    few = adult.select(["sex", "race", "income"])

    def errors(seed):
        found = sp.benchmark_mechanisms(
            few, [1.0], mechanisms=["grr", "olh", "she"], rng=seed
        )
        return [(score.frequency_error, score.zero_one_error) for score in found.scores]

    assert errors(3) == errors(3) != errors(4)


def test_frames_and_dicts(adult, mechanisms):
    frame = mechanisms.to_pandas()
    assert list(frame["mechanism"]) == list(EIGHT)
    found = sp.benchmark_analysers(
        {"a": adult, "b": adult}, [1.0, 2.0], analysers=["SPL-ANL"]
    )
    assert found.to_pandas()["data"].tolist() == ["a", "a", "b", "b"]
    assert len(found.to_dict()["scores"]) == 4


def test_benchmarks_of_a_sample_have_a_note(adult):
    adult = adult.select(["sex", "race"])
    domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b")])
    part = sp.Records(
        domain, [[0, 0], [0, 1], [1, 1]], [10] * 3, population=4000
    ).pairs()
    analysed = sp.benchmark_analysers(
        {"all": adult, "few": part}, analysers=["SPL-ANL"]
    )
    assert len(analysed.notes) == 1
    assert analysed.notes[0].startswith(
        "few: from a sample of 30 of 4,000 records: valid only if"
    )
    drawn = sp.benchmark_mechanisms(part, [1.0], mechanisms=["grr"])
    assert drawn.notes[0].startswith(
        "data: from a sample of 30 of 4,000 records: valid only if"
    )
    for found in (analysed, drawn):
        assert found.to_dict()["notes"] == list(found.notes)
        assert "sample of 30 of 4,000 records" in found.chart().to_json()
    assert "all: against bound" in analysed.chart().to_json()
    whole = sp.benchmark_analysers(adult, analysers=["SPL-ANL"])
    assert whole.notes == ()
    assert whole.to_dict()["notes"] == []
    assert "sample of" not in whole.chart().to_json()


def test_charts_show_every_point(adult, mechanisms):
    chart = (
        sp.benchmark_analysers(adult, [1.0], analysers=["SPL-ANL", "ITS"])
        .chart()
        .to_json()
    )
    for word in (
        "P1 exact",
        "R1 underestimates",
        "R2 overestimates",
        "R3 both",
        "SPL-ANL",
    ):
        assert word in chart
    text = mechanisms.chart().to_json()
    assert "whole report" in text
    assert all(name in text for name in EIGHT)


def test_progress_is_reported(adult):
    seen = []
    sp.benchmark_analysers(
        adult,
        [1.0],
        analysers=["SPL-ANL", "ITS"],
        progress=lambda *now: seen.append(now),
    )
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf")])
def test_budgets_must_be_positive(adult, epsilon):
    with pytest.raises(sp.InputError, match="epsilon must be"):
        sp.benchmark_analysers(adult, [epsilon])
    with pytest.raises(sp.InputError, match="epsilon must be"):
        sp.benchmark_mechanisms(adult, [epsilon])


def test_one_attribute_raises(adult):
    with pytest.raises(
        sp.InputError, match="one attribute; a benchmark compares at least two"
    ):
        sp.benchmark_analysers(adult.select(["sex"]), [1.0])
    with pytest.raises(sp.InputError, match="one attribute"):
        sp.benchmark_mechanisms(adult.select(["sex"]), [1.0])


def test_a_constant_column_changes_nothing_but_the_mean():
    domain = sp.Domain([sp.Attribute("a", ("x", "y")), sp.Attribute("c", ("only",))])
    pairs = sp.PairCounts(domain, [[3, 4], [7]], [3, 4])
    found = sp.benchmark_analysers(pairs, [1.0])
    regions = {score.analyser: score.region for score in found.scores}
    assert regions["ITS"] == "P1"
    assert regions["SPL-ANL"] == "R2"
    assert (
        sp.benchmark_mechanisms(pairs, [1.0], mechanisms=["grr", "oue"])
        .scores[0]
        .normalised_tcpl
        == 1
    )


def duchi(k: int) -> sp.MatrixMechanism:
    """A binary report for the mean of numbers, which cannot estimate every
    frequency.
    """
    high = np.linspace(1, np.e, k) / (1 + np.e)
    return sp.MatrixMechanism(np.column_stack([high, 1 - high]), name="duchi")


def test_objects_and_mappings_are_scored_beside_names() -> None:
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    mixed = {"sex": "grr", "race": duchi(5), "income": sp.GRR(2, 0.5)}
    found = sp.benchmark_mechanisms(pairs, [1.0, 2.0], mechanisms=["grr", mixed])
    assert [(score.mechanism, round(score.epsilon, 9)) for score in found.scores] == [
        ("grr", 1.0),
        ("grr, duchi", 1.0),
        ("grr", 2.0),
        ("grr, duchi", 2.0),
    ]
    own = {
        "mine": {
            name: sp.OUE(pairs.domain[name].size, 1.0) for name in pairs.domain.names
        }
    }
    [score] = sp.benchmark_mechanisms(pairs, [1.0, 2.0], mechanisms=own).scores
    [named] = sp.benchmark_mechanisms(pairs, [1.0], mechanisms={"mine": "oue"}).scores
    fields = (
        "epsilon",
        "frequency_error",
        "zero_one_error",
        "normalised_tcpl",
        "estimates",
    )
    assert all(getattr(score, name) == getattr(named, name) for name in fields)
    with pytest.raises(sp.InputError, match="must have different names"):
        sp.benchmark_mechanisms(pairs, [1.0], mechanisms=["grr", sp.GRR(2, 1.0)])
    with pytest.raises(
        sp.InputError, match="mechanism must be given for every attribute"
    ):
        sp.benchmark_mechanisms(pairs, [1.0], mechanisms={"one": {"sex": "grr"}})


def test_a_mechanism_that_cannot_estimate_every_frequency_stays_in_the_results() -> (
    None
):
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    mixed = {"sex": "grr", "race": duchi(5), "income": "grr"}
    found = sp.benchmark_mechanisms(
        pairs, [1.0], mechanisms={"grr": "grr", "for means": mixed}
    )
    grr, limited = found.scores
    assert grr.estimates == "every frequency"
    assert limited.estimates == "1 linear combination of the 5 frequencies"
    assert limited.frequency_error is limited.expected_frequency_error is None
    assert limited.zero_one_error == pytest.approx(
        limited.expected_zero_one_error, abs=0.01
    )
    assert 0 < limited.normalised_tcpl < 1
    assert found.to_arrow().column("frequency_error").null_count == 1
    assert len(found.chart().to_dict()["concat"]) == 3
    alone = sp.benchmark_mechanisms(pairs, [1.0], mechanisms={"for means": mixed})
    assert len(alone.chart().to_dict()["concat"]) == 1


def test_a_mechanism_object_is_a_reference_too() -> None:
    pairs = sp.load_pairs("adult").select(["sex", "income"])
    grr = sp.GRR(2, 1.0)
    for reference in (grr, {"sex": grr, "income": "grr"}):
        [score] = sp.benchmark_analysers(
            pairs, [1.0], reference=reference, analysers=["ITS"]
        ).scores
        assert (score.reference, score.region) == ("grr", "P1")
    with pytest.raises(sp.InputError, match="reference must be"):
        sp.benchmark_analysers(pairs, [1.0], reference=3)


def test_every_registered_analyser_has_a_mark_of_its_own() -> None:
    from seepage.benchmarks.analyser_registry import ANALYSERS
    from seepage.charts.benchmark_charts import SHAPES

    assert len(set(SHAPES)) == len(SHAPES) >= len(ANALYSERS)


def test_a_delta_that_no_mechanism_uses_raises():
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    with pytest.raises(sp.InputError, match="used by none of grr, oue"):
        sp.benchmark_mechanisms(pairs, [1.0], mechanisms=["grr", "oue"], delta=0.01)
    scores = sp.benchmark_mechanisms(
        pairs, [1.0], mechanisms=["grr", "approximate-grr"], delta=0.01
    ).scores
    assert scores[0].delta == 0
    assert 0 < scores[1].delta <= 0.01


def test_scores_of_analysers_state_the_delta_of_the_reference():
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    options = {"analysers": ["SPL-ANL"], "delta": 0.01}
    [bound] = sp.benchmark_analysers(pairs, [1.0], **options).scores
    largest = sp.leakage_matrix(pairs, 1.0, delta=0.01).deltas.max()
    assert bound.delta == pytest.approx(largest)
    [own] = sp.benchmark_analysers(
        pairs, [1.0], reference="approximate-grr", **options
    ).scores
    assert 0 < own.delta <= 0.01
    for reference in ("grr", "SPL-ANL"):
        with pytest.raises(sp.InputError, match="delta"):
            sp.benchmark_analysers(pairs, [1.0], reference=reference, **options)
    [pure] = sp.benchmark_analysers(pairs, [1.0], analysers=["SPL-ANL"]).scores
    assert pure.delta == 0
