"""`witness`: a report tuple of the table that refutes any lower total."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from joint_oracle import domain_of, joints, report_laws, tuples_of, xor
from test_exact_total import in_words

import seepage as sp
from seepage.channel.records import Records
from seepage.datasets.survey import survey_joint
from seepage.mechanisms.direct import GRR
from seepage.totals.joint_witness import JointWitness
from seepage.totals.total import total_leakage
from strategies import exponential


@settings(max_examples=60)
@given(joints(most=4, size=3))
def test_a_witness_is_a_report_of_the_table(joint):
    """Its words give back its value, on the table itself, which is at most the
    supremum.
    """
    tuples = tuples_of(joint * 20)
    found = total_leakage(tuples, 1.0, mechanism="grr", guarantee="witness")
    exact = total_leakage(tuples, 1.0, mechanism="grr", guarantee="exact").values
    contrasts = [1.0 if size > 1 else 0.0 for size in joint.shape]
    for witness, value, supremum in zip(
        found.evidence, found.values, exact, strict=True
    ):
        if witness is None:
            continue
        assert in_words(witness, tuples)(contrasts) == pytest.approx(
            witness.value, abs=1e-9
        )
        assert witness.value <= supremum
        assert value <= max(witness.value, 1.0)


MORE = [pytest.param(name, marks=pytest.mark.slow) for name in ("oue", None)]


@pytest.mark.parametrize("name", ["grr", *MORE])
def test_large_tables_attain_the_supremum(name):
    joint = survey_joint()
    exact = total_leakage(joint, 1.0, mechanism=name, guarantee="exact").values
    found = total_leakage(joint, 1.0, mechanism=name, guarantee="witness").values
    assert found == pytest.approx(exact, abs=0.02)
    assert (found <= exact).all()


def test_people_held_out_are_not_those_of_the_search():
    """On noise, where a search finds what is not there, the held-out value is lower."""
    rng = np.random.default_rng(0)
    tuples = Records(domain_of([2] * 14), rng.integers(0, 2, (600, 14)))
    found = total_leakage(tuples, 1.0, mechanism="grr", guarantee="witness")
    whole = np.array([witness.value for witness in found.evidence])
    held_out = np.array([witness.held_out for witness in found.evidence])
    assert held_out.mean() < whole.mean() - 0.3
    assert found.values == pytest.approx(np.maximum(np.minimum(whole, held_out), 1.0))
    again = total_leakage(tuples, 1.0, mechanism="grr", guarantee="witness")
    assert np.array_equal(found.values, again.values)


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1.0, 50.0, 700.0, 800.0])
def test_any_budget(epsilon):
    tuples = tuples_of(xor(10**6))
    found = total_leakage(tuples, epsilon, mechanism="grr", guarantee="witness").values
    truth = epsilon + (
        epsilon - math.log(2) if epsilon > 1 else math.log(math.cosh(epsilon))
    )
    assert found == pytest.approx([truth] * 3, abs=3e-3)
    assert (found <= truth * (1 + 1e-12)).all()


def test_reports_of_other_kinds():
    joint = np.random.default_rng(1).integers(50, 900, (3, 2, 2))
    near = exponential([[0, -1, -2], [-1, 0, -1], [-2, -1, 0]], 2.0)
    for how in (
        {"a0": near, "a1": "oue", "a2": "ss"},
        {"a0": "grr", "a1": "public", "a2": "grr"},
        {"a0": "olh", "a1": "she", "a2": "blh"},
    ):
        found = total_leakage(
            tuples_of(joint), 1.0, mechanism=how, guarantee="witness"
        ).values
        exact = total_leakage(
            tuples_of(joint), 1.0, mechanism=how, guarantee="exact"
        ).values
        assert (found <= exact).all()
        assert found[0] == pytest.approx(exact[0], abs=0.05)


def test_a_report_with_asymmetric_log_ratios():
    """A witness of x against x' is at most what any report says of these two, in this
    order.
    """
    rng = np.random.default_rng(7)
    for _ in range(8):
        joint = rng.integers(200, 900, (3, 2))
        made = exponential(rng.uniform(-3, 0, (3, 3)), 2.0), GRR(2, 1.0)
        found = total_leakage(
            tuples_of(joint),
            1.0,
            mechanism={"a0": made[0], "a1": made[1]},
            guarantee="witness",
        )
        laws = report_laws(joint, [one.channel() for one in made], 0)
        witness = found.evidence[0]
        x, other = (int(value[-1]) for value in (witness.likelier, witness.other))
        truth = math.log((laws[x] / laws[other]).max())
        assert truth - 0.05 <= witness.value <= truth


def test_values_in_one_half_only_are_left_out():
    lone = Records(domain_of([2, 2]), [[0, 0], [0, 1], [1, 1]], [500, 500, 1])
    found = total_leakage(lone, 1.0, mechanism="grr", guarantee="witness")
    assert found.evidence[0] is None
    assert found.evidence[1] is not None
    assert found.values[0] == pytest.approx(1.0)
    assert found.values[0] <= 1.0


def test_a_search_that_does_not_exceed_the_own_report_has_a_note():
    """Independent attributes: whatever the search ends with is no more than the own
    report.
    """
    tuples = tuples_of(np.full((2, 2), 500))
    found = total_leakage(tuples, 1.0, mechanism="grr", guarantee="witness")
    assert found.values == pytest.approx([1.0, 1.0], abs=0.01)
    without = [w.target for w in found.evidence if not w.beyond_own]
    assert without
    assert (
        f"nothing beyond the own report was found for {', '.join(without)}"
        in found.notes[0]
    )
    for witness in found.evidence:
        assert witness.to_dict()["beyond_own"] is (witness.target not in without)
        assert (
            witness.sentence().endswith("nothing beyond its own report")
            is not witness.beyond_own
        )
    told = total_leakage(
        tuples_of(xor(1000)), 1.0, mechanism="grr", guarantee="witness"
    )
    assert all(witness.beyond_own and witness.confirmed for witness in told.evidence)
    assert told.notes == ()


def test_a_witness_not_confirmed_on_held_out_records_is_no_evidence():
    """Reports that are impossible for the people held out: -inf, never read as
    infinite.
    """
    found = JointWitness("a", "x", "y", {"a": ("x",)}, math.inf, -math.inf, 1.0)
    assert not found.confirmed
    assert not found.beyond_own
    assert found.counted == -math.inf
    assert found.sentence().endswith("not confirmed by people held out of the search")
    content = found.to_dict()
    assert (content["value"], content["held_out"], content["confirmed"]) == (
        "inf",
        "-inf",
        False,
    )


def test_a_report_that_identifies_one_person_is_not_confirmed():
    """The other half has nobody with this public value, so its likelihood there is
    0.
    """
    attributes = [
        sp.Attribute("a", ("0", "1")),
        sp.Attribute("b", tuple(map(str, range(40)))),
    ]
    codes = np.column_stack([np.arange(40) % 2, np.arange(40)])
    people = sp.Records(sp.Domain(attributes), codes)
    how = {"a": "grr", "b": "public"}
    witness = sp.total_leakage(
        people, 1.0, mechanism=how, guarantee="witness"
    ).evidence[0]
    assert witness.held_out == -math.inf
    assert not witness.confirmed
    assert "not confirmed by people held out of the search" in witness.sentence()
