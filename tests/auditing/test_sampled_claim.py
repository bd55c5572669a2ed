"""Audits by samples: faults are found, mechanisms that keep their claim are not
refuted.
"""

import json
import math
import random
import re
import time

import numpy as np
import pytest

import seepage as sp
import wires
from seepage.mechanisms.reports import BitReports, HashReports, ValueReports

PER_VALUE = 20_000
E2 = math.exp(2)


def codes_of(k, count=PER_VALUE):
    return np.repeat(np.arange(k), count)


def unary(rng, k, p, q, count=PER_VALUE):
    codes = codes_of(k, count)
    bits = rng.random((len(codes), k)) < q
    bits[np.arange(len(codes)), codes] = rng.random(len(codes)) < p
    return codes, bits


def keep(rng, k, chance, count=PER_VALUE):
    codes = codes_of(k, count)
    others = (codes + rng.integers(1, max(2, k), len(codes))) % k
    return codes, np.where(rng.random(len(codes)) < chance, codes, others)


def comparable(mechanism, reports):
    """Reports as arrays that samples of different people have in common."""
    if isinstance(reports, ValueReports):
        return reports.values
    if isinstance(reports, BitReports):
        return reports.bits()
    if isinstance(reports, HashReports):
        return mechanism.supported(
            reports
        )  # a seed is drawn once: what matters is the set
    return reports.vectors


# Faults -------------------------------------------------------------------------------


def check_unary(seed):
    """Optimised unary encoding with claim 1 whose q gives 1.674."""
    q = 1 / (1 + math.exp(1.674))
    found = sp.audit(unary(np.random.default_rng(seed), 10, 0.5, q), claim=1.0)
    assert found.verdict == "refuted"
    assert 1.4 < found.epsilon <= 1.75
    return found.epsilon


def test_unary_encoding_with_a_wrong_q():
    limits = [check_unary(seed) for seed in range(5)]
    assert np.median(limits) < 1.674


@pytest.mark.slow
def test_unary_encoding_with_a_wrong_q_in_fifty_runs():
    limits = [check_unary(seed) for seed in range(50)]
    assert np.mean(np.array(limits) > 1.674) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 50)


def test_keep_probability_of_two_values():
    samples = keep(np.random.default_rng(2), 20, E2 / (1 + E2))
    found = sp.audit(samples, claim=2.0)
    assert found.verdict == "refuted"
    assert 4.2 < found.epsilon <= 4.944
    assert "times likelier from value" in found.witness
    exact = sp.audit({"k": 20, "keep": E2 / (1 + E2)}, claim=2.0).epsilon
    known = sp.audit(samples, claim=6.0, reports=range(20))
    assert known.interval[0] <= exact <= known.interval[1] < 6.0
    assert known.verdict == "holds"


def test_generator_of_eight_bits():
    """At epsilon 6 a uniform number in steps of 1/256 is never above e^6 / (e^6 +
    1).
    """
    chance = math.exp(6) / (math.exp(6) + 1)
    source = random.Random(3)

    def respond(value):
        uniform = math.floor(source.random() * 256) / 256
        return value if uniform < chance else 1 - value

    found = sp.audit(respond, claim=6.0, values=[0, 1])
    assert found.verdict == "refuted"
    assert found.epsilon > 7


def test_truncated_laplace():
    rng = np.random.default_rng(4)
    codes = codes_of(3)
    noise = rng.laplace(size=2 * len(codes))
    noise = noise[np.abs(noise) < 3][: len(codes)]
    found = sp.audit((codes, codes + noise), claim=2.0)  # of values up to 2 apart
    assert found.verdict == "refuted"
    assert "a report of at least" in found.witness or "below" in found.witness
    whole = sp.audit((codes, codes + rng.laplace(size=len(codes))), claim=2.0)
    assert whole.verdict == "not decided"
    assert whole.epsilon > 1.5


def test_memoisation_forgotten():
    """Ten reports of a person, each with epsilon 0.5 anew, where one stored report was
    claimed.
    """
    source = random.Random(5)
    chance = math.exp(0.5) / (1 + math.exp(0.5))

    def respond(value, rounds):
        return [value if source.random() < chance else 1 - value for _ in range(rounds)]

    def stored(value, rounds):
        return respond(value, 1) * rounds

    forgotten = sp.audit(respond, claim=0.5, values=[0, 1], rounds=10, samples=5_000)
    assert forgotten.verdict == "refuted"
    assert 1.5 < forgotten.epsilon <= 5.0
    kept = sp.audit(stored, claim=0.5, values=[0, 1], rounds=10, samples=5_000)
    assert kept.verdict == "not decided"


def test_a_proven_factor_is_rounded_down():
    for seed in range(20):
        codes, reports = keep(np.random.default_rng(seed), 3, 0.6 + 0.015 * seed, 2_000)
        found = sp.audit((codes, reports), claim=0.5)
        told = float(re.search(r"at least (\S+) times likelier", found.witness)[1])
        assert 0.9 * math.exp(found.epsilon) < told <= math.exp(found.epsilon)


def test_each_half_is_needed():
    """Random reports of many kinds: the event that looks best on one half is not on the
    other.
    """
    rng = np.random.default_rng(6)
    codes = codes_of(8, 500)
    found = sp.audit((codes, rng.integers(0, 200, len(codes))), claim=0.0)
    assert found.verdict == "not decided"
    assert found.epsilon == 0


# Claims that are kept -----------------------------------------------------------------


def kept_claims(count, samples):
    """Share of audits that refute a claim that is kept exactly."""
    refuted = 0
    for seed in range(count):
        rng = np.random.default_rng(1000 + seed)
        if seed % 2:
            k = 2 + seed % 5
            epsilon = 0.5 + seed % 3
            chance = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
            drawn = keep(rng, k, chance, samples)
        else:
            epsilon = 1.0 + seed % 3
            k = 3
            drawn = unary(rng, k, 0.5, 1 / (1 + math.exp(epsilon)), samples)
        refuted += sp.audit(drawn, claim=epsilon, rng=seed).verdict == "refuted"
    return refuted / count


def test_claims_that_are_kept_are_rarely_refuted():
    assert kept_claims(60, 1_000) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)


@pytest.mark.slow
def test_four_hundred_claims_that_are_kept_are_rarely_refuted():
    assert kept_claims(400, 20_000) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("name", sorted(sp.registered()))
def test_intervals_contain_the_epsilon_of_registered_mechanisms(name):
    family = sp.registered()[name]
    delta = 0.05 if family.approximate else 0.0
    made = sp.mechanism(name, 4, 1.5, delta)
    codes = codes_of(4, 5_000)
    reports = comparable(made, made.perturb(codes, rng=7))
    known = range(made.outputs) if reports.ndim == 1 else None
    found = sp.audit((codes, reports), claim=1.5, delta=delta, reports=known)
    exact = made.likely_sets.contrast if name == "exp" else made.epsilon
    assert found.interval[0] <= exact <= found.interval[1]
    assert found.epsilon > 0.4 * exact  # with power
    assert found.verdict != "refuted"
    assert (
        sp.audit((codes, reports), claim=0.3 * exact, delta=delta).verdict == "refuted"
    )


# A client in a browser ----------------------------------------------------------------

ADAPTER = """
import {{ loadPlan, perturb, secureBytes }} from "./seepage.js";
const plan = await loadPlan({plan});
const form = plan.forms[0];
export function randomise(value) {{
  const report = perturb(form, {{ x: value }}, secureBytes(form.bytes));
  return Object.values(report.reports)[0];
}}
"""


@wires.needs_node
def test_our_own_client_as_a_black_box(tmp_path):
    wires.install_client(tmp_path)
    made = sp.GRR(3, 1.0)
    plan = json.dumps(wires.client_file(wires.one_question_wire(made)))
    (tmp_path / "adapter.mjs").write_text(ADAPTER.format(plan=plan))
    values = ["x0", "x1", "x2"]
    how = {"values": values, "reports": range(3), "samples": 15_000}
    found = sp.audit(tmp_path / "adapter.mjs", claim=1.25, **how)
    assert found.verdict == "holds"
    assert found.interval[0] <= made.epsilon <= found.interval[1]
    found.assert_holds()
    assert sp.audit(tmp_path / "adapter.mjs", claim=0.7, **how).verdict == "refuted"


@wires.needs_node
def test_faults_of_modules_are_one_line(tmp_path):
    (tmp_path / "none.mjs").write_text("export const x = 1;")
    (tmp_path / "broken.mjs").write_text(
        "export function randomise() { throw new Error('no'); }"
    )
    for name, line in (
        ("none", "the module must export randomise"),
        ("broken", "Error: no"),
    ):
        with pytest.raises(sp.InputError, match=line):
            sp.audit(tmp_path / f"{name}.mjs", claim=1.0, values=[0, 1], samples=20)


def test_python_modules_and_tables(tmp_path):
    module = tmp_path / "client.py"
    module.write_text(
        "import random\nr = random.Random(1)\n"
        "def randomise(value):\n    return value if r.random() < 0.9 else 'b'\n"
    )
    found = sp.audit(module, claim=1.0, values=["a", "b"], samples=2_000)
    assert found.verdict == "refuted"
    rng = np.random.default_rng(8)
    codes, reports = keep(rng, 3, 0.8, 2_000)
    lines = [f"v{code},{report}" for code, report in zip(codes, reports, strict=True)]
    table = tmp_path / "samples.csv"
    table.write_text("\n".join(["value,report", *lines]))
    by_file = sp.audit(table, claim=2.0, reports=range(3))
    by_arrays = sp.audit((codes, reports), claim=2.0, reports=range(3))
    assert by_file.interval == by_arrays.interval
    import pandas as pd

    frame = pd.DataFrame({"value": codes, "report": reports})
    assert sp.audit(frame, claim=2.0, reports=range(3)).interval == by_arrays.interval


def test_values_without_samples_are_named():
    codes, reports = keep(np.random.default_rng(13), 2, 0.75, 2_000)
    found = sp.audit((codes, reports), claim=2.0, values=[0, 1, 2], reports=[0, 1])
    assert "nothing is said of 2, with too few samples" in found.witness
    assert found.verdict == "not decided"
    assert math.isinf(found.interval[1])
    assert sp.audit((codes, reports), claim=2.0, reports=[0, 1]).verdict == "holds"


def test_what_only_two_parts_together_tell_is_found():
    """Two rounds whose difference is the value: each alone is uniform."""
    rng = np.random.default_rng(14)
    codes = codes_of(2, 2_000)
    first = rng.integers(0, 2, len(codes))
    found = sp.audit((codes, np.column_stack([first, first ^ codes])), claim=3.0)
    assert found.verdict == "refuted"
    assert "report among (" in found.witness


def test_several_attributes_share_the_confidence():
    rng = np.random.default_rng(9)
    one = keep(rng, 2, 0.75, 4_000)
    two = keep(rng, 3, 0.6, 4_000)
    both = sp.audit({"a": one, "b": two}, claim=5.0, record_claim=0.5)
    alone = sp.audit(one, claim=5.0)
    assert both["a"].epsilon < alone.epsilon
    record = both["(record)"]
    assert record.epsilon == pytest.approx(both["a"].epsilon + both["b"].epsilon)
    assert both.verdict == record.verdict == "refuted"


def test_how_many_samples_more_would_decide():
    """As many more as the audit says do decide."""
    rng = np.random.default_rng(12)
    samples = keep(rng, 2, 0.75, 2_000)
    claim = sp.audit(samples, claim=0.0).epsilon + 0.02
    first = sp.audit(samples, claim=claim)
    needed = first.claims[0].needed
    assert first.verdict == "not decided"
    assert needed > 0
    assert (
        f"about {needed:,} samples more for each value would decide"
        in first.sentences()[2]
    )
    again = sp.audit(keep(rng, 2, 0.75, 4 * (2_000 + needed)), claim=claim)
    assert again.verdict == "refuted"
    unknown = sp.audit(keep(rng, 2, 0.6, 2_000), claim=1.5)
    assert "list all possible reports" in unknown.sentences()[2]


@pytest.mark.parametrize("count", [1_000, 4_000, 16_000])
def test_a_claim_within_noise_of_the_estimate_cannot_be_told_from_it(count):
    """No number of further samples is stated: it would be one of noise."""
    rng = np.random.default_rng(20)
    truth = math.log(0.75 / 0.25)
    found = sp.audit(keep(rng, 2, 0.75, count), claim=truth, reports=range(2)).claims[0]
    assert found.verdict == "not decided"
    assert found.needed is None
    assert found.within_noise
    step = str(found.next_step)
    assert "samples more" not in step
    assert "cannot be told from the claim" in step
    assert f"refute claims below {math.floor(found.lower * 1e4) / 1e4:.4f}" in step
    assert f"support those of {math.ceil(found.upper * 1e4) / 1e4:.4f} and more" in step


def test_without_a_list_of_reports_samples_support_no_claim():
    rng = np.random.default_rng(21)
    truth = math.log(0.75 / 0.25)
    found = sp.audit(keep(rng, 2, 0.75, 2_000), claim=truth).claims[0]
    assert str(found.next_step).endswith("and support none")


def test_a_sampled_delta_is_a_lower_limit():
    rng = np.random.default_rng(22)
    found = sp.audit(keep(rng, 2, 0.9, 4_000), claim=1.0).claims[0]
    words = found.delta_words
    assert words.startswith(", delta at least ")
    assert float(words.split()[4]) <= found.delta < 0.9 - math.e * 0.1


def test_a_million_samples_of_128_values():
    rng = np.random.default_rng(11)
    codes, reports = keep(rng, 128, math.e / (math.e + 127), 1_000_000 // 128)
    start = time.process_time()
    found = sp.audit((codes, reports), claim=1.0, reports=range(128))
    assert time.process_time() - start < 5
    assert found.verdict == "not decided"


@pytest.mark.parametrize(
    ("samples", "options", "line"),
    [
        (
            ([0, 1] * 5, [0, 1] * 5),
            {},
            "too few samples for any statement: two values need",
        ),
        (([0] * 50, [0] * 50), {}, "too few samples for any statement"),
        (([0, 1, 2] * 50, [0] * 150), {"values": [0, 1]}, "samples have the value 2"),
        (
            ([0, 1] * 50, [0, 5] * 50),
            {"reports": [0, 1]},
            "samples have the report 5",
        ),
        (([0, 1] * 50, [0] * 99), {}, "samples must be values and as many reports"),
        (
            ([0, 1] * 50, [[0, 1]] * 100),
            {"reports": [0]},
            "reports must be known one by one",
        ),
        (
            ([0, 1] * 50, [0, 1] * 50),
            {"memoised": True},
            "memoised has no effect on samples",
        ),
        (
            lambda value: 1 / 0,
            {"values": [0, 1]},
            "the randomiser failed: ZeroDivisionError",
        ),
        (lambda value: value, {}, "values must be the values to sample, got None"),
        (
            {"a": ([0, 1] * 50, [0, 1] * 50), "b": 3},
            {},
            "all attributes are sampled or none",
        ),
    ],
)
def test_one_line_for_bad_samples(samples, options, line):
    with pytest.raises(sp.InputError) as caught:
        sp.audit(samples, **{"claim": 1.0, **options})
    assert line in str(caught.value)
