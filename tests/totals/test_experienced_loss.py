"""Experienced losses, compared with explicit sums over all other people."""

import math
import time

import numpy as np
import pytest
from scipy import stats

import seepage as sp
from seepage._core.errors import GuaranteeError
from seepage.mechanisms.release import releases
from seepage.totals import drawn_reports
from seepage.totals.drawn_reports import (
    draw_people,
    report_sums,
    simulated_mechanisms,
    value_offsets,
)
from seepage.totals.experienced_loss import (
    experience_of,
    permute_columns,
    realised_losses,
    share_limits,
)


def experienced_loss(data, epsilon, mechanism, people=1_000, **options):
    """Return what people drawn from records experience."""
    released = releases(data.domain, epsilon, mechanism)
    return experience_of(data, released, "report", people, **options)


def domain_of(sizes):
    return sp.Domain(
        [
            sp.Attribute(f"x{k}", tuple(map(str, range(size))))
            for k, size in enumerate(sizes)
        ]
    )


def drawn_from(people, mechanism, epsilon=1.0, view="report", count=40, seed=1):
    delta = (
        0.01 if mechanism in ("gauss", "approximate-grr", "approximate-sue") else 0.0
    )
    released = releases(people.domain, epsilon, mechanism, delta)
    mechanisms = simulated_mechanisms(people.domain, released, count)
    return draw_people(people, mechanisms, view, count, np.random.default_rng(seed))


def compared(people, rare):
    return (
        np.concatenate([people.marginal(k) for k in range(len(people.domain))]) > rare
    )


def by_hand(people, draws, rare):
    """Return losses and guesses, person by person and record by record."""
    starts = value_offsets(people.domain)
    sizes = people.domain.sizes
    everyone = np.repeat(np.arange(len(people)), people.weights)
    losses, guesses = np.zeros((2, len(sizes), draws.count))
    for y, own in enumerate(draws.left_out):
        others = list(everyone)
        others.remove(own)
        chance = {
            r: math.exp(
                sum(
                    draws.logarithms[starts[k] + people.codes[r, k], y]
                    for k in range(len(sizes))
                )
            )
            for r in set(others)
        }
        for k, size in enumerate(sizes):
            sums = [
                math.fsum(chance[r] for r in others if people.codes[r, k] == x)
                for x in range(size)
            ]
            counts = [sum(people.codes[r, k] == x for r in others) for x in range(size)]
            whole = people.marginal(k)
            laws = [sums[x] / counts[x] for x in range(size) if whole[x] > rare]
            losses[k, y] = math.log(max(laws) / min(laws)) if len(laws) > 1 else 0.0
            guesses[k, y] = int(np.argmax(sums))
    return losses, guesses


SMALL = sp.Records(
    domain_of([2, 3, 4]),
    np.random.default_rng(5).integers(0, [2, 3, 4], (60, 3)),
)


@pytest.mark.parametrize("view", ["report", "inferred"])
@pytest.mark.parametrize("mechanism", sp.registered())
def test_losses_and_guesses_are_sums_over_all_other_people(mechanism, view):
    _, draws = drawn_from(SMALL, mechanism, epsilon=1.5, view=view)
    losses, _, together = realised_losses(SMALL, draws, compared(SMALL, 3))
    truth, guesses = by_hand(SMALL, draws, rare=3)
    assert losses == pytest.approx(truth, rel=1e-9, abs=1e-9)
    assert truth.max() > 0.2
    assert np.mean(together == guesses) > 0.97  # ties may fall either way


def test_every_block_size_leaves_the_same_people_out(monkeypatch):
    rng = np.random.default_rng(2)
    sizes = [2, 3, 2, 5, 2, 2, 4]
    people = sp.Records(domain_of(sizes), rng.integers(0, sizes, (900, len(sizes))))
    _, draws = drawn_from(people, "grr", epsilon=4.0, count=600)
    assert (people.weights[draws.left_out] == 1).any()
    whole = report_sums(people, draws)
    monkeypatch.setattr(drawn_reports, "RECORDS_PER_BLOCK", 1)
    single = report_sums(people, draws)
    assert single[:-1] / single[-1] == pytest.approx(whole[:-1] / whole[-1], rel=1e-10)


def test_the_own_record_is_left_out():
    people = sp.Records(domain_of([2, 2]), [[0, 0], [1, 1]], [2, 1])
    _, draws = drawn_from(people, "grr", epsilon=8.0, count=300)
    alone = draws.left_out == 1
    assert alone.any()
    losses, _, together = realised_losses(people, draws, compared(people, 1))
    assert (together[:, alone] == 0).all()  # nobody else has the second record
    assert (losses == 0).all()  # and the second value is too rare to compare


def test_independent_columns_leak_only_through_the_own_report():
    joint = np.full((2, 2, 2, 2), 1_000)
    found = experienced_loss(
        sp.Records.from_joint(domain_of([2, 2, 2, 2]), joint),
        1.0,
        mechanism="grr",
        people=400,
    )
    assert found.shares[:, 0].max() == 0
    assert found.quantiles[:, :, 0] == pytest.approx(1.0, abs=0.01)
    assert found.permuted_shares.max() < 0.02


def test_copies_are_experienced_as_often_as_their_reports_agree():
    copies = sp.Records(domain_of([2, 2, 2]), [[0, 0, 0], [1, 1, 1]], [5_000, 5_000])
    found = experienced_loss(copies, 1.0, mechanism="grr", people=2_000, rng=3)
    right = math.e / (math.e + 1)
    agree = right**3 + (1 - right) ** 3
    low, high = found.shares[0, 1:]
    assert low < agree < high
    assert not low < right < high
    assert found.quantiles[0, :, 0] == pytest.approx([1, 1, 3], abs=1e-3)
    assert found.permuted_shares.max() == 0
    majority = right**3 + 3 * right**2 * (1 - right)
    assert found.together[0, 1] < majority < found.together[0, 2]
    assert found.before.tolist() == [0.5] * 3


@pytest.mark.parametrize("mechanism", ["grr", "ss"])
def test_the_guess_from_the_own_report_is_as_good_as_it_can_be(mechanism):
    counts = np.array([[700, 300], [100, 400], [50, 450]])
    people = sp.Records.from_joint(domain_of([3, 2]), counts)
    found = experienced_loss(people, 1.0, mechanism=mechanism, people=4_000, rare=100)
    best = []
    for k in range(2):
        channel = sp.mechanism(
            mechanism, people.domain.sizes[k], 1.0
        ).inferred_channel()
        best.append(
            (people.marginal(k)[:, None] / people.records * channel).max(axis=0).sum()
        )
    assert found.own[0, 1] < best[0] < found.own[0, 2]
    assert found.own[1, 1] < best[1] < found.own[1, 2]


def test_permuted_columns_keep_their_values_and_lose_their_correlation():
    people = sp.Records(
        domain_of([3, 3]), [[0, 0], [1, 1], [2, 2]], [4_000, 5_000, 6_000]
    )
    other = permute_columns(people, np.random.default_rng(0))
    for k in range(2):
        assert other.marginal(k).tolist() == people.marginal(k).tolist()
    assert other.counts().min() > 900


def test_rare_values_are_left_out_and_counted():
    people = sp.Records(
        domain_of([3, 2]), [[0, 0], [1, 1], [2, 1], [2, 0]], [5_000, 4_000, 300, 100]
    )
    found = experienced_loss(people, 1.0, mechanism="grr", people=50)
    assert (found.compared, found.left_out) == ((2, 2), (1, 0))
    found = experienced_loss(people, 1.0, mechanism="grr", people=50, rare=399)
    assert (found.compared, found.left_out) == ((3, 2), (0, 0))
    found = experienced_loss(people, 1.0, mechanism="grr", people=50, rare=4_500)
    assert found.measured == []
    assert "no attribute has two values" in repr(found)


def test_limits_of_shares_are_those_of_clopper_and_pearson():
    for hits in (0, 1, 37, 99, 100):
        low, high = stats.binomtest(hits, 100).proportion_ci(0.99, "exact")
        assert share_limits(np.array([hits]), 100, 0.01)[0] == pytest.approx(
            [hits / 100, low, high]
        )


def test_the_same_seed_gives_the_same_numbers():
    one, two, other = (
        experienced_loss(SMALL, 1.0, mechanism="grr", people=30, rare=5, rng=seed)
        for seed in (1, 1, 2)
    )
    assert one.to_dict() == two.to_dict() != other.to_dict()


def test_progress_goes_over_both_tables():
    calls = []
    experience_of(
        SMALL,
        releases(SMALL.domain, 1.0, "grr"),
        "report",
        50,
        rare=5,
        progress=lambda done, work: calls.append((done, work)),
    )
    rows = len(
        SMALL
    )  # distinct records, of which one block suffices, then permuted ones
    assert calls[0] == (rows, rows)
    assert len(calls) == 2
    assert calls[1][0] == calls[1][1]


def test_missing_requirements_raise():
    with pytest.raises(GuaranteeError, match="needs records"):
        experienced_loss(SMALL.pairs(), 1.0, mechanism="grr")
    with pytest.raises(
        GuaranteeError, match="experienced losses need to know the mechanism of 'x1'"
    ):
        experienced_loss(SMALL, 1.0, mechanism=None)
    with pytest.raises(GuaranteeError, match="at least two records"):
        experienced_loss(sp.Records(domain_of([2]), [[0]]), 1.0, mechanism="grr")
    with pytest.raises(sp.InputError, match="confidence must be above 0"):
        sp.analyse(SMALL, 1.0, mechanism="grr", people=5, confidence=1)


@pytest.mark.slow
def test_a_thousand_people_of_a_large_survey_take_seconds():
    rng = np.random.default_rng(0)
    sizes = [2] * 14 + [5, 3, 4, 6, 9, 12, 13, 8]
    cause = rng.normal(size=250_000)
    columns = []
    for size in sizes:
        mixed = 0.6 * cause + 0.8 * rng.normal(size=250_000)
        columns.append(np.clip(((mixed + 2.5) / 5 * size).astype(int), 0, size - 1))
    people = sp.Records(domain_of(sizes), np.stack(columns, axis=1))
    start = time.perf_counter()
    found = experienced_loss(people, 1.0, mechanism="grr")
    assert time.perf_counter() - start < 10
    assert found.shares[:, 0].min() > 0.4
    assert found.permuted_shares[:14].max() < 0.02


def test_a_sample_of_a_large_table_is_permuted(monkeypatch):
    people = sp.Records(domain_of([2, 2]), [[0, 0], [1, 1]], [4_000, 6_000])
    monkeypatch.setattr("seepage.totals.experienced_loss.MAX_PERMUTED", 1_000)
    other = permute_columns(people, np.random.default_rng(0))
    assert other.records == 1_000
    assert other.marginal(0)[0] == pytest.approx(400, abs=80)
