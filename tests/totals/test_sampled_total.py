"""`sampled` against the exact hockey-stick curve: coverage, convergence, rare
values.
"""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint_oracle import (
    domain_of,
    hockey_stick,
    report_laws,
    report_matrix,
    smallest_value,
    tuples_of,
    xor,
)

from seepage._core.errors import GuaranteeError, InputError
from seepage.channel.records import Records
from seepage.mechanisms.mechanism_registry import mechanism
from seepage.mechanisms.release import releases
from seepage.totals import drawn_reports
from seepage.totals import sampled_total as sampled_module
from seepage.totals.drawn_reports import (
    IMPOSSIBLE,
    report_sums,
    rounding_error,
    value_offsets,
)
from seepage.totals.sampled_total import (
    draw_reports,
    max_sample_mean,
    max_weights,
    min_loss,
    report_weights,
    sampled_totals,
)
from seepage.totals.total import total_leakage
from seepage.totals.total_settings import TotalSettings
from strategies import exponential

RNG = np.random.default_rng(11)
JOINT = RNG.integers(1, 40, (3, 2, 2))
JOINT[2] = [[1, 3], [2, 0]]  # a rare value
PAIRS = 3 * 2 + 2 + 2


def laws_of(joint, name, epsilon, target):
    matrices = [report_matrix(mechanism(name, k, epsilon)) for k in joint.shape]
    return report_laws(joint, matrices, target)


# The parts ----------------------------------------------------------------------------


@given(st.floats(1e-6, 0.5), st.floats(1e-6, 0.1))
def test_max_sample_mean_solves_the_divergence(mean, rate):
    found = max_sample_mean(mean, rate)
    if found is None:
        assert -math.log1p(-mean) < rate
        return
    assert 0 <= found <= mean

    def divergence(m):
        first = m * math.log(m / mean) if m else 0.0
        return first + (1 - m) * math.log((1 - m) / (1 - mean))

    assert divergence(found) >= rate * (1 - 1e-12)
    assert divergence(found + 1e-9) <= rate + 1e-6


def test_the_bound_on_a_mean_is_the_binomial_tail_bound():
    """For coin flips P(mean <= m) is known: Hoeffding's bound is above it, but not by
    much.
    """
    from scipy.stats import binom

    draws = 2_000
    level = math.log(1 / 0.01)
    for mean in (0.01, 0.05, 0.2):
        m = max_sample_mean(mean, level / draws)
        tail = binom.cdf(math.floor(m * draws), draws, mean)
        assert 0.0005 < tail <= 0.01
        assert binom.cdf(math.ceil((m + (mean - m) / 3) * draws), draws, mean) > 0.01


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=20),
    st.floats(1e-6, 2.0),
)
def test_min_loss_matches_a_scan(rows, allowed):
    upper, lower = np.array(rows).T

    def mean(loss):
        return float(np.mean(np.maximum(upper - math.exp(loss) * lower, 0.0)))

    found = min_loss(upper, lower, allowed)
    if found == math.inf or found > 50:
        assert mean(40.0) > allowed * (1 - 1e-9)
        return
    assert mean(found) <= allowed * (1 + 1e-9) + 1e-12
    if found > 1e-9:
        assert mean(found - 1e-6 * (1 + found)) > allowed * (1 - 1e-5) - 1e-9


@pytest.mark.parametrize("name", ["grr", "oue", "she", "olh"])
def test_weights_are_right_and_never_above_their_maximum(name):
    """The mean of p(y given x) / q(y) over the draws is 1 for every value, also the
    rare one.
    """
    tuples = tuples_of(JOINT)
    released = releases(tuples.domain, 1.0, name)
    draws = draw_reports(tuples, released, "report", 20_000, needed=2_000, rng=0)
    assert tuples.weights @ draws.density == pytest.approx(tuples.records, rel=1e-12)
    weights = report_weights(tuples, draws)
    most = max_weights(tuples, draws)
    assert (weights.max(axis=1) <= most * (1 + 1e-9)).all()
    errors = (weights.mean(axis=1) - 1) / (weights.std(axis=1) / math.sqrt(20_000))
    assert np.abs(errors).max() < 4.5
    rare = value_offsets(tuples.domain)[0] + 2
    assert most[rare] < 20_000 / 2_000 * 1.5  # boosted: its share alone would give 40
    assert most[rare] < 0.5 / (JOINT[2].sum() / JOINT.sum())


def test_likelihoods_match_a_loop_over_the_table():
    tuples = tuples_of(JOINT)
    released = releases(tuples.domain, 1.5, "grr")
    draws = draw_reports(tuples, released, "report", 50, needed=5, rng=1)
    weights = report_weights(tuples, draws)
    starts = value_offsets(tuples.domain)
    for y, target in itertools.product(range(50), range(3)):
        likely = tuples.weights * np.exp(
            sum(draws.logarithms[starts[k] + tuples.column(k), y] for k in range(3))
        )
        sums = np.bincount(tuples.column(target), likely) / tuples.marginal(target)
        mixed = (likely * draws.density).sum() / tuples.records
        rows = weights[starts[target] : starts[target + 1], y]
        assert rows == pytest.approx(sums / mixed, rel=1e-12)


@pytest.mark.parametrize("clear", [(), (0,), (0, 2)])
def test_losses_are_right_to_the_stated_rounding(clear):
    """Against sums in 45 digits; a value in clear makes the logarithms large."""
    joint = np.random.default_rng(2).integers(1, 40, (3, 2, 2))
    tuples = tuples_of(joint)
    starts = value_offsets(domain_of(joint.shape))
    how = {
        f"a{k}": "public" if k in clear else "oue" for k, size in enumerate(joint.shape)
    }
    draws = draw_reports(
        tuples, releases(tuples.domain, 0.7, how), "report", 200, needed=5, rng=1
    )
    weights = report_weights(tuples, draws)
    sizes = joint.shape
    hidden = [k for k in range(3) if k not in clear]
    worst = 0.0
    with localcontext(prec=45):
        exact = [[Decimal(value) for value in row] for row in draws.logarithms.tolist()]
        for y, target in itertools.product(range(0, 200, 7), hidden):
            sums = [Decimal(0)] * sizes[target]
            for record in np.ndindex(*sizes):
                power = sum(exact[starts[k] + record[k]][y] for k in range(3))
                if power > IMPOSSIBLE / 2:
                    sums[record[target]] += power.exp() * int(joint[record])
            laws = [
                total / int(n)
                for total, n in zip(sums, tuples.marginal(target), strict=True)
            ]
            found = weights[starts[target] : starts[target + 1], y]
            for one, two in itertools.permutations(range(sizes[target]), 2):
                loss = Decimal(found[one]).ln() - Decimal(found[two]).ln()
                worst = max(worst, abs(float(loss - (laws[one] / laws[two]).ln())))
    assert 0 < worst <= rounding_error(tuples, draws) <= 1e-8


def test_blocks_of_every_size_give_the_same_sums(monkeypatch):
    rng = np.random.default_rng(2)
    sizes = [2, 3, 2, 5, 2, 2, 4, 2, 2, 3, 2, 2]
    tuples = Records(domain_of(sizes), rng.integers(0, sizes, (1_500, len(sizes))))
    released = releases(tuples.domain, 0.8, "grr")
    draws = draw_reports(tuples, released, "report", 700, needed=50, rng=3)
    whole = report_sums(tuples, draws)
    monkeypatch.setattr(drawn_reports, "RECORDS_PER_BLOCK", 700)
    monkeypatch.setattr(drawn_reports, "REPORTS_PER_BLOCK", 300)
    calls = []
    pieces = report_sums(tuples, draws, lambda done, work: calls.append((done, work)))
    assert pieces[:-1] / pieces[-1] == pytest.approx(whole[:-1] / whole[-1], rel=1e-11)
    assert calls[-1] == (len(tuples), len(tuples))


# The promise --------------------------------------------------------------------------


def failures(confidence, repeats, reports=600, delta=0.05):
    """Return how often some total does not hold with delta, over independent draws of
    reports.
    """
    tuples = tuples_of(JOINT)
    released = releases(tuples.domain, 1.0, "grr")
    laws = [laws_of(JOINT, "grr", 1.0, target) for target in range(3)]
    failed = 0
    for seed in range(repeats):
        options = TotalSettings(
            target_delta=delta, confidence=confidence, reports=reports, rng=seed
        )
        values, _, _ = sampled_totals(tuples, released, "report", options)
        assert np.isfinite(values).all()
        failed += any(
            hockey_stick(law, value) > delta
            for law, value in zip(laws, values, strict=True)
        )
    return failed / repeats


def test_the_confidence_statement_holds_for_all_targets_at_once():
    assert failures(confidence=0.8, repeats=150) <= 0.2


def test_the_coverage_test_has_power(monkeypatch):
    """The plug-in value, without a confidence bound, fails more often than not."""
    monkeypatch.setattr(sampled_module, "max_sample_mean", lambda mean, rate: mean)
    assert failures(confidence=0.8, repeats=40) > 0.5


@pytest.mark.parametrize("name", ["grr", "oue"])
@pytest.mark.parametrize("delta", [0.02, 0.1])
def test_many_reports_come_close_to_the_exact_curve(name, delta):
    found = total_leakage(
        tuples_of(JOINT),
        1.0,
        mechanism=name,
        guarantee="sampled",
        target_delta=delta,
        reports=200_000,
        rng=5,
    )
    for target in range(3):
        truth = smallest_value(laws_of(JOINT, name, 1.0, target), delta)
        assert truth <= found.values[target] <= truth + 0.06
    assert found.kind == "statistical"
    assert found.confidence == 0.95
    assert found.deltas.tolist() == [delta] * 3


def test_totals_grow_with_the_budget_and_fall_with_delta():
    tuples = tuples_of(JOINT)
    values = [
        total_leakage(tuples, e, mechanism="grr", guarantee="sampled").values
        for e in (0.5, 1.0, 2.0)
    ]
    assert (np.diff(values, axis=0) > 0).all()
    loose = [
        total_leakage(
            tuples, 1.0, mechanism="grr", guarantee="sampled", target_delta=d
        ).values
        for d in (0.01, 0.05, 0.2)
    ]
    assert (np.diff(loose, axis=0) < 0).all()


def test_values_too_rare_are_named_and_get_the_worst_total():
    joint = np.array([[[500_000, 100_000], [300_000, 99_999]], [[1, 0], [0, 0]]])
    tuples = tuples_of(joint)
    found = total_leakage(
        tuples, 1.0, mechanism="grr", guarantee="sampled", reports=500
    )
    assert found.values[0] == pytest.approx(3.0)
    assert found.deltas[0] == 0.0
    assert found.notes[0].startswith("values too rare to certify at delta 0.01")
    assert "'a0' ('a01'), 'a1'" in found.notes[0]
    enough = int(
        found.notes[0].split("about ")[1].split(" reports")[0].replace(",", "")
    )
    better = total_leakage(
        tuples, 1.0, mechanism="grr", guarantee="sampled", reports=enough
    )
    assert better.values[0] < 2.9
    assert not better.notes
    assert better.deltas.tolist() == [0.01] * 3


def test_a_value_that_never_occurs_is_left_out():
    joint = np.concatenate([JOINT, np.zeros((1, 2, 2), dtype=np.int64)])
    found = total_leakage(
        tuples_of(joint), 1.0, mechanism="grr", guarantee="sampled", target_delta=0.1
    )
    for target in range(3):
        truth = smallest_value(laws_of(joint, "grr", 1.0, target), 0.1)
        assert truth <= found.values[target] <= truth + 0.2
    assert found.notes == ("no record has 'a03' of 'a0': excluded from totals",)


def test_budgets_alone_stand_for_randomised_response_of_binary_values():
    tuples = tuples_of(xor(100))
    named = total_leakage(tuples, 1.0, mechanism="grr", guarantee="sampled")
    alone = total_leakage(tuples, 1.0, mechanism=None, guarantee="sampled")
    assert np.array_equal(named.values, alone.values)
    with pytest.raises(
        GuaranteeError, match="need to know the mechanism of 'a0', which has 3"
    ):
        total_leakage(tuples_of(JOINT), 1.0, mechanism=None, guarantee="sampled")
    with pytest.raises(GuaranteeError, match=r"delta 0\.001"):
        total_leakage(tuples, 1.0, mechanism=None, guarantee="sampled", delta=1e-3)


def test_any_mechanism_and_view():
    tuples = tuples_of(JOINT)
    for name, delta in (
        ("olh", 0.0),
        ("she", 0.0),
        ("gauss", 1e-4),
        ("approximate-sue", 1e-4),
    ):
        found = total_leakage(
            tuples, 1.0, mechanism=name, guarantee="sampled", delta=delta
        )
        assert (found.values > 0).all()
    guess = total_leakage(
        tuples,
        1.0,
        mechanism="oue",
        guarantee="sampled",
        view="inferred",
        reports=100_000,
    )
    matrices = [mechanism("oue", k, 1.0).inferred_channel() for k in JOINT.shape]
    for target in range(3):
        truth = smallest_value(report_laws(JOINT, matrices, target), 0.01)
        assert truth <= guess.values[target] <= truth + 0.06
    public = {"a0": "grr", "a1": "public", "a2": "grr"}
    clear = total_leakage(tuples, 1.0, mechanism=public, guarantee="sampled")
    matrices = [report_matrix(mechanism("grr", k, 1.0)) for k in JOINT.shape]
    matrices[1] = np.eye(2)
    truth = smallest_value(report_laws(JOINT, matrices, 0), 0.01)
    assert truth <= clear.values[0] <= truth + 0.3


@pytest.mark.parametrize("view", ["report", "inferred"])
def test_a_report_with_asymmetric_log_ratios(view):
    made = exponential([[0, -1, -9], [-9, 0, -1], [-1, -2, 0]], 2.5)
    how = {"a0": made, "a1": "grr", "a2": "grr"}
    found = total_leakage(
        tuples_of(JOINT),
        1.0,
        mechanism=how,
        guarantee="sampled",
        view=view,
        target_delta=0.05,
        reports=60_000,
    )
    channel = made.channel() if view == "report" else made.inferred_channel()
    assert not np.allclose(channel, channel.T)
    matrices = [channel, *(mechanism("grr", 2, 1.0).channel() for _ in range(2))]
    for target in range(3):
        truth = smallest_value(report_laws(JOINT, matrices, target), 0.05)
        assert truth <= found.values[target] <= truth + 0.1


def test_edges():
    tuples = tuples_of(JOINT)
    assert (
        total_leakage(tuples, 0.0, mechanism="grr", guarantee="sampled").values.tolist()
        == [0.0] * 3
    )
    tiny = total_leakage(tuples, 1e-12, mechanism="grr", guarantee="sampled")
    assert (tiny.values <= 3e-12).all()
    for view in ("report", "inferred"):
        huge = total_leakage(
            tuples, 800.0, mechanism="grr", guarantee="sampled", view=view
        )
        assert (huge.values > 700).all()
        assert (huge.values <= 2400 * (1 + 1e-12)).all()
    one = total_leakage(
        Records(domain_of([1, 2]), [[0, 0], [0, 1]]),
        1.0,
        mechanism="grr",
        guarantee="sampled",
    )
    assert one.values[0] == 0.0
    same, again, other = (
        total_leakage(
            tuples, 1.0, mechanism="grr", guarantee="sampled", rng=seed
        ).values
        for seed in (1, 1, 2)
    )
    assert np.array_equal(same, again)
    assert not np.array_equal(same, other)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"target_delta": 0}, "target_delta must be above 0 and below 1"),
        ({"target_delta": 2}, "target_delta must be above 0 and below 1"),
        ({"confidence": 1}, "confidence must be above 0 and below 1"),
        ({"reports": 0}, "reports must be an integer from 1 to"),
    ],
)
def test_bad_settings_raise(option, message):
    with pytest.raises(InputError, match=message):
        total_leakage(
            tuples_of(JOINT), 1.0, mechanism="grr", guarantee="sampled", **option
        )


def test_too_many_reports_for_memory_raise():
    with pytest.raises(GuaranteeError, match=r"7 values need 52.2 GB, at most 2 fit"):
        total_leakage(
            tuples_of(JOINT), 1.0, mechanism="grr", guarantee="sampled", reports=10**9
        )


@pytest.mark.parametrize("delta", [5e-324, 1e-200, 1e-15, 1 - 1e-16])
def test_an_extreme_delta_of_sampled_totals_is_no_error(delta):
    total = total_leakage(
        tuples_of(xor(50)),
        1.0,
        mechanism="grr",
        guarantee="sampled",
        target_delta=delta,
        reports=50,
    )
    assert (total.values <= 3.0).all()
    if delta < 1e-9:
        assert total.values.tolist() == [3.0] * 3  # too rare to certify: the worst one
        assert "reports suffice" in total.notes[0]
