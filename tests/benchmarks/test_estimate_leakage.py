"""`estimate_leakage`: arguments, results, seeds, threads, degenerate tables."""

import math
import os
import re
import signal
import subprocess
import sys
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage._core.errors import DomainError, InputError
from seepage.benchmarks.statistical.estimate_leakage import estimate_leakage, make_task
from seepage.benchmarks.statistical.estimates import LeakageEstimates
from seepage.channel.records import Records
from seepage.leakage.exact_leakage import exact_leakage
from seepage.mechanisms.direct import GRR


def count(*columns, sizes=None):
    """The pair counts of columns of codes, attributes a, b, c, ..."""
    sizes = sizes or [int(max(column)) + 1 for column in columns]
    domain = sp.Domain(
        sp.Attribute(name, tuple(f"{name}{code}" for code in range(size)))
        for name, size in zip("abcdefgh", sizes, strict=False)
    )
    return sp.Records(domain, np.transpose(columns)).pairs()


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(1)
    a = generator.integers(3, size=3_000)
    b = np.where(generator.random(3_000) < 0.6, a, generator.integers(3, size=3_000))
    c = generator.integers(4, size=3_000)
    return a, b, c


@pytest.fixture(scope="module")
def pairs(people):
    return count(*people)


def same(one, two):
    matrices = ("plug_in", "corrected", "lower", "upper", "p_values")
    return all(
        np.array_equal(getattr(one, m), getattr(two, m), equal_nan=True)
        for m in matrices
    )


# Numbers ------------------------------------------------------------------------------


def test_estimates_are_near_the_exact_leakage(pairs):
    found = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=200, rng=3)
    exact = sp.leakage_matrix(pairs, 1.0, mechanism="grr", view="inferred").values
    for target, source in product(range(3), repeat=2):
        if target != source:
            assert found.plug_in[target, source] == pytest.approx(
                exact[target, source], abs=0.05
            )
            assert found.corrected[target, source] == pytest.approx(
                exact[target, source], abs=0.02
            )
    assert found["a", "b"].p_value == pytest.approx(1 / 201)
    assert (found["a", "b"].significance.hits, found["a", "b"].significance.draws) == (
        0,
        200,
    )


def test_plug_in_and_deciding_cells_by_brute_force(pairs):
    estimates = estimate_leakage(
        pairs, mechanism="grr", epsilon=1.0, pairs=[("a", "c")], surrogates=0, rng=5
    )
    found = estimates["a", "c"]
    task = make_task(pairs, [GRR(k, 1.0) for k in pairs.domain.sizes], (0, 2))
    counts = task.collect(estimates.settings).counts
    totals = counts.sum(axis=1)
    best = max(
        (math.log((counts[x, y] / totals[x]) / (counts[z, y] / totals[z])), x, z, y)
        for x, z, y in product(range(3), range(3), range(4))
    )
    assert found.plug_in == pytest.approx(best[0])
    assert found.deciding == tuple(
        (f"a{x}", f"c{best[3]}", counts[x, best[3]], totals[x]) for x in best[1:3]
    )
    assert found.significance.null == {}
    assert not found.cautions[:-1]  # the last: no surrogates


def test_matrices_hold_targets_as_rows_and_nan_elsewhere(pairs):
    found = estimate_leakage(
        pairs,
        mechanism="grr",
        epsilon=1.0,
        pairs=[("a", "b"), ("c", "a")],
        surrogates=9,
        rng=1,
    )
    assert found.pairs == (("a", "b"), ("c", "a"))
    known = ~np.isnan(found.plug_in)
    assert np.argwhere(known).tolist() == [[0, 1], [2, 0]]
    assert found.plug_in[0, 1] == found["a", "b"].plug_in
    with pytest.raises(DomainError, match="was not estimated"):
        found["b", "a"]
    assert len(found) == 2
    assert repr(found).startswith(
        "LeakageEstimates(2 among 3 attributes, largest corrected 0."
    )
    assert repr(found["a", "b"]).endswith(" of 'b' about 'a')")
    with pytest.raises(DomainError, match="chosen by target and source, got 'ab'"):
        found["ab"]
    with pytest.raises(InputError, match="not one estimate but 2"):
        found.only  # noqa: B018


def test_one_target_means_all_its_sources(pairs):
    found = estimate_leakage(
        pairs, mechanism="grr", epsilon=1.0, target="b", surrogates=0, rng=1
    )
    assert found.pairs == (("b", "a"), ("b", "c"))


def test_each_attribute_may_have_its_own_mechanism_and_budget(pairs):
    found = estimate_leakage(
        pairs,
        mechanism={"a": "grr", "b": "oue", "c": GRR(4, 3.0)},
        epsilon=[1.0, 2.0, 0.5],
        pairs=[("a", "b"), ("b", "c")],
        surrogates=0,
        rng=1,
    )
    assert (found["a", "b"].mechanism, found["b", "c"].mechanism) == ("oue", "grr")
    assert found["a", "b"].epsilon == pytest.approx(2.0)
    assert found["b", "c"].epsilon == pytest.approx(3.0)
    assert found["a", "b"].direct == pytest.approx(1.0)


def test_the_deltas_of_source_and_target_are_kept(pairs):
    found = estimate_leakage(
        pairs,
        mechanism={"a": "approximate-grr", "b": "gauss", "c": "grr"},
        epsilon=1.0,
        delta={"a": 0.001, "b": 0.01, "c": 0.0},
        pairs=[("a", "b"), ("b", "a"), ("a", "c")],
        surrogates=0,
        rng=1,
    )
    assert found["a", "b"].delta == pytest.approx(0.01, rel=1e-3)
    assert found["a", "b"].direct_delta == pytest.approx(0.001, rel=1e-3)
    assert found["a", "c"].delta == 0.0
    assert found.to_arrow()["delta"].to_pylist() == [one.delta for one in found]
    assert "delta" in found["a", "b"].to_arrow().column_names


def test_frames(pairs):
    found = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=19, rng=1)
    assert found.to_arrow().num_rows == 6
    assert pl.DataFrame(found).shape == (6, 8)
    [one] = found["b", "a"].to_arrow().to_pylist()
    assert one == found.to_arrow().to_pylist()[2]
    frame = found.to_pandas()
    row = frame[(frame.target == "b") & (frame.source == "a")].iloc[0]
    assert row.corrected == found["b", "a"].corrected
    assert row.p_value == found.p_values[1, 0]


# Input --------------------------------------------------------------------------------


def test_any_table_gives_the_same_as_its_pair_counts(people, pairs):
    columns = {
        name: [f"{name}{code}" for code in column]
        for name, column in zip("abc", people, strict=True)
    }
    wanted = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=19, rng=7)
    codes = np.stack(people, axis=1)
    for data in (
        pa.table(columns),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        Records(pairs.domain, codes),
    ):
        assert same(
            estimate_leakage(data, mechanism="grr", epsilon=1.0, surrogates=19, rng=7),
            wanted,
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": None}, "also for 'a', got None"),
        ({"mechanism": "grrr"}, "did you mean 'grr'"),
        ({"mechanism": {"a": "grr"}}, "'b' has none"),
        ({"mechanism": {"a": "grr", "b": None, "c": "grr"}}, "also for 'b', got None"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"epsilon": math.nan}, "epsilon must be"),
        ({"replicas": 0}, "replicas must be an integer of at least 1"),
        ({"replicas": 2**60}, "at most 333,333 for 3,000 records"),
        ({"replicas": np.int64(2**62)}, "at most 333,333 for 3,000 records"),
        ({"replicas": 333_334}, "got 333334; without surrogates there may be more"),
        (
            {"replicas": 2**42, "surrogates": 0},
            "at most 3,002,399,751,580 for 3,000 records",
        ),
        ({"surrogates": -1}, "surrogates must be"),
        ({"surrogates": 1.5}, "surrogates must be"),
        ({"rng": -1}, "rng must be"),
        ({"rng": "x"}, "rng must be"),
        ({"confidence": 0}, "confidence must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"scope": "population"}, "there is no option 'scope'"),
        ({"view": "report"}, "there is no option 'view'"),
        ({"method": "records"}, "there is no option 'method'"),
        ({"threads": 0}, "threads must be"),
        ({"target": "d"}, "no attribute 'd'"),
        ({"pairs": [("a", "d")]}, "no attribute 'd'"),
        ({"pairs": [("a", "a")]}, "no source about itself"),
        ({"pairs": [("a", "b")], "target": "a"}, "target and pairs exclude each other"),
        ({"pairs": ["ab"]}, "two names each"),
        ({"pairs": [("a", "b", "c")]}, "two names each"),
        ({"sources": ["a"]}, "sources need a target"),
        ({"target": "a", "sources": "b"}, "sources must be a sequence of strings"),
        (
            {"target": "a", "sources": ["b"]},
            "data must have records, and has pair counts only",
        ),
        ({"bins": 4}, "bins has no effect: the data are counted already"),
        ({"checkpoint": "run.part"}, "there is no option 'checkpoint'"),
    ],
)
def test_bad_arguments_raise_in_one_line(pairs, arguments, message):
    given = {"mechanism": "grr", "epsilon": 1.0, "rng": 1, "surrogates": 9} | arguments
    with pytest.raises(InputError, match=message) as caught:
        estimate_leakage(pairs, **given)
    assert "\n" not in str(caught.value)


def test_surrogates_of_as_many_reports_as_fit(pairs):
    found = estimate_leakage(
        pairs, 1.0, mechanism="grr", replicas=333_333, surrogates=19, rng=1
    )
    assert found["a", "b"].p_value == 0.05
    assert found["a", "b"].lower == pytest.approx(found["a", "b"].upper, abs=1e-3)


def test_no_records_no_leakage():
    empty = count([], [], sizes=[2, 2])
    with pytest.raises(DomainError, match="without records"):
        estimate_leakage(empty, mechanism="grr", epsilon=1.0)


# Seeds and threads --------------------------------------------------------------------


def test_threads_do_not_change_numbers(pairs):
    call = {"surrogates": 30, "replicas": 3}
    found = [
        estimate_leakage(pairs, mechanism="oue", epsilon=1.0, rng=4, threads=t, **call)
        for t in (1, 2, 5)
    ]
    assert same(found[0], found[1])
    assert same(found[0], found[2])
    assert not same(
        found[0],
        estimate_leakage(pairs, mechanism="oue", epsilon=1.0, rng=5, threads=1, **call),
    )


def test_a_pair_has_the_same_numbers_whatever_else_is_estimated(pairs):
    alone = estimate_leakage(
        pairs, mechanism="grr", epsilon=1.0, pairs=[("b", "a")], surrogates=30, rng=2
    )
    every = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=30, rng=2)
    assert alone["b", "a"] == every["b", "a"]


def test_without_a_seed_one_is_drawn_and_kept(pairs):
    call = {"pairs": [("a", "b")], "surrogates": 5}
    found = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, **call)
    other = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, **call)
    assert found.settings.rng != other.settings.rng
    again = estimate_leakage(
        pairs, mechanism="grr", epsilon=1.0, rng=found["a", "b"].seed, **call
    )
    assert same(found, again)


def test_progress_counts_to_the_end(pairs):
    calls = []
    estimate_leakage(
        pairs,
        mechanism="grr",
        epsilon=1.0,
        surrogates=0,
        rng=1,
        progress=lambda *step: calls.append(step),
    )
    assert calls == [(done, 6) for done in range(1, 7)]


# Odd tables ---------------------------------------------------------------------------


def test_identical_columns_leak_epsilon(people):
    pairs = count(people[0], people[0])
    found = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=99, rng=1)[
        "a", "b"
    ]
    assert found.lower <= 1.0 <= found.upper
    assert found.plug_in == pytest.approx(1.0, abs=0.1)
    assert found.p_value == 0.01


def test_estimates_are_not_clipped_to_epsilon(people):
    pairs = count(people[0], people[0])
    found = [
        estimate_leakage(
            pairs, mechanism="grr", epsilon=1.0, surrogates=0, replicas=1, rng=seed
        )["a", "b"]
        for seed in range(10)
    ]
    assert max(estimate.plug_in for estimate in found) > 1.0
    assert max(estimate.upper for estimate in found) > 1.0


@pytest.mark.parametrize("epsilon", [0.0, 1e-12])
def test_no_budget_no_leakage(people, epsilon):
    pairs = count(people[0], people[0])
    found = estimate_leakage(
        pairs, mechanism="grr", epsilon=epsilon, surrogates=99, rng=2
    )["a", "b"]
    assert found.lower == 0.0
    assert found.upper < 0.1


@pytest.mark.parametrize("epsilon", [50.0, 700.0, 800.0])
def test_an_empty_cell_is_infinite_with_a_caution(people, epsilon):
    pairs = count(people[0], people[0])
    found = estimate_leakage(
        pairs, mechanism="grr", epsilon=epsilon, surrogates=99, rng=1
    )["a", "b"]
    assert found.plug_in == found.upper == math.inf
    assert found.unseen == 6
    assert found.deciding[1].seen == 0
    assert any("never came" in line or "empty" in line for line in found.cautions)
    assert 3 < found.lower < found.corrected < math.inf  # not masked to nothing
    assert math.isfinite(found.significance.statistic)
    assert found.p_value == 0.01


@pytest.mark.parametrize("sizes", [(1, 3), (3, 1), (1, 1)])
def test_alphabets_of_one_leak_nothing(sizes):
    generator = np.random.default_rng(1)
    pairs = count(*(generator.integers(size, size=50) for size in sizes), sizes=sizes)
    found = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=9, rng=1)[
        "a", "b"
    ]
    assert (found.plug_in, found.corrected, found.lower, found.upper) == (0, 0, 0, 0)
    assert found.p_value == 1.0
    assert found.deciding == ()


def test_a_target_value_seen_once(people):
    a, b, _ = people
    pairs = count([*a, 3], [*b, 0], sizes=[5, 3])
    found = estimate_leakage(
        pairs, mechanism="grr", epsilon=1.0, surrogates=99, rng=1, replicas=1
    )["a", "b"]
    assert found.plug_in == math.inf
    assert (found.deciding[1].value, found.deciding[1].total) == ("a3", 1)
    first = found.deciding[0]
    report = found.deciding[1].report
    seen = (
        f"{first.seen:,} times in {first.total:,} under {first.value} and 0 times in 1 "
        "under a3"
    )
    rare = "decided by cells seen fewer than 10 times"
    assert f"{rare}: report {report} came {seen}" in found.cautions
    assert found.unseen == 2
    channel = pairs.channel("a", "b").matrix
    exact = exact_leakage(channel, GRR(3, 1.0).inferred_channel()).value
    assert found.lower <= exact <= found.upper
    many = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=99, rng=1)[
        "a", "b"
    ]
    assert many.deciding[1].total == 50
    few = min(cell.seen for cell in many.deciding) < 10
    assert (rare in " ".join(many.cautions)) == few


def test_one_record():
    found = estimate_leakage(
        count([0], [1], sizes=[2, 2]), mechanism="grr", epsilon=1.0, surrogates=9, rng=1
    )
    assert found["a", "b"].corrected == found["a", "b"].upper == 0.0
    assert found["a", "b"].p_value == 1.0


def test_no_surrogates_no_p_value(pairs):
    found = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=0, rng=1)
    assert np.isnan(found.p_values).all()
    assert "no p-value" in " ".join(found["a", "b"].cautions)


def test_quantiles_of_the_null_ascend(pairs):
    found = estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=300, rng=1)
    null = found["a", "c"].significance.null
    assert list(null) == [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
    assert list(null.values()) == sorted(null.values())
    assert null[0.05] > 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=2, max_size=4
    ),
    st.integers(1, 3),
    st.sampled_from([0.0, 1.0, 60.0]),
)
def test_any_small_table_gives_valid_numbers(cells, replicas, epsilon):
    table = np.array(cells)
    if not table.sum():
        table[0, 0] = 1
    rows, columns = np.nonzero(table)
    repeated = [np.repeat(part, table[rows, columns]) for part in (rows, columns)]
    pairs = count(*repeated, sizes=table.shape)
    found = estimate_leakage(
        pairs,
        mechanism="grr",
        epsilon=epsilon,
        pairs=[("a", "b")],
        replicas=replicas,
        surrogates=5,
        rng=1,
        threads=1,
    )["a", "b"]
    assert 0 <= found.lower <= found.corrected <= found.upper
    assert found.plug_in >= 0
    assert math.isinf(found.plug_in) == (found.unseen > 0)
    assert 1 / 6 <= found.p_value <= 1
    if math.isfinite(found.plug_in):
        assert found.plug_in == pytest.approx(found.significance.statistic)


# Many tests at once -------------------------------------------------------------------


SCRIPT = """
import signal
import seepage as sp

# a process that a script starts in the background ignores interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)

def tell(done, total):
    seen.append(done / total)
    if done == 3:
        print("some", flush=True)

for threads in (1, 2):
    seen = []
    try:
        sp.estimate_leakage(
            "adult", 1.0, mechanism="grr", threads=threads, progress=tell
        )
    except KeyboardInterrupt:
        print("stopped" if max(seen) < 0.5 else "finished", flush=True)
"""


@pytest.mark.posix
def test_an_interrupt_ends_every_thread_and_is_passed_on():
    arguments = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(2):
            assert process.stdout.readline() == "some\n"
            os.kill(process.pid, signal.SIGINT)
            assert process.stdout.readline() == "stopped\n"
        assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == 0


# Several sources ----------------------------------------------------------------------


def test_two_sources_reveal_what_neither_does_alone():
    generator = np.random.default_rng(1)
    one, two = generator.integers(2, size=(2, 4_000))
    table = pa.table({"a": one ^ two, "b": one, "c": two})
    call = {"surrogates": 199, "replicas": 5, "rng": 1}
    alone = estimate_leakage(table, mechanism="grr", epsilon=1.0, target="a", **call)
    found = estimate_leakage(
        table, mechanism="grr", epsilon=1.0, target="a", sources=["b", "c"], **call
    )
    assert isinstance(found, LeakageEstimates)
    assert found.pairs == (("a", "b", "c"),)
    assert np.isnan(found.corrected).all()
    assert found.to_arrow()["p_value"].to_pylist() == [0.005]
    with pytest.raises(
        DomainError, match="of source 'c' and 'b' about target 'a' was not"
    ):
        found["a", "c", "b"]
    joint = found["a", "b", "c"]
    assert found.only is joint
    assert alone.upper[0, 1] < 0.1
    assert joint.lower > 0.3
    assert joint.corrected == pytest.approx(math.log(math.cosh(1.0)), abs=0.05)
    assert joint.total == pytest.approx(1.0 + joint.corrected)
    assert joint.sources == ("b", "c")
    assert joint.epsilon == pytest.approx(2.0)
    assert all(re.fullmatch(r"\w+ and \w+", cell.report) for cell in joint.deciding)
    assert joint.p_value == 0.005


def test_joint_estimate_against_the_joint_channel(people):
    table = pa.table(dict(zip("abc", people, strict=True)))
    found = estimate_leakage(
        table,
        mechanism="grr",
        epsilon=1.0,
        target="b",
        sources=["a", "c"],
        surrogates=0,
        rng=1,
    ).only
    codes = np.stack(people, axis=1)
    joint = np.zeros((3, 3, 4))
    np.add.at(joint, (codes[:, 1], codes[:, 0], codes[:, 2]), 1)
    conditional = joint.reshape(3, 12) / joint.sum(axis=(1, 2))[:, None]
    both = np.kron(GRR(3, 1.0).inferred_channel(), GRR(4, 1.0).inferred_channel())
    exact = exact_leakage(conditional, both).value
    assert found.lower <= exact <= found.upper
    assert found.corrected == pytest.approx(exact, abs=0.05)


def test_joint_of_one_source_is_the_pair(people, pairs):
    table = pa.table(dict(zip("abc", people, strict=True)))
    found = estimate_leakage(
        table,
        mechanism="grr",
        epsilon=1.0,
        target="a",
        sources=["b"],
        surrogates=0,
        rng=1,
    )["a", "b"]
    exact = sp.leakage_matrix(pairs, 1.0, mechanism="grr", view="inferred")[
        "a", "b"
    ].value
    assert found.lower <= exact <= found.upper


def test_distinct_records_serve_as_well_as_a_table(people, pairs):
    tuples = Records(pairs.domain, np.stack(people, axis=1))
    call = {"target": "a", "sources": ["c", "b"], "surrogates": 19, "rng": 1}
    names = {
        name: [f"{name}{code}" for code in part]
        for name, part in zip("abc", people, strict=True)
    }
    wanted = estimate_leakage(tuples, 1.0, mechanism="grr", **call).only
    assert (
        estimate_leakage(pa.table(names), 1.0, mechanism="grr", **call).only == wanted
    )


def test_table_options_apply_to_joint_estimates(people):
    a, b, c = people
    table = pa.table({"a": a, "b": b, "c": c + 0.5, "d": c * 1.5})
    call = {
        "mechanism": "grr",
        "target": "a",
        "sources": ["c"],
        "surrogates": 0,
        "rng": 1,
    }
    options = {"bins": {"c": 2, "d": 3}, "drop": ["b"]}
    found = estimate_leakage(table, 1.0, **call, **options)
    few = estimate_leakage(pa.table({"a": a, "c": c + 0.5}), 1.0, **call, bins={"c": 2})
    assert found.only.plug_in == few.only.plug_in
    with pytest.raises(InputError, match="no attribute 'c'"):
        estimate_leakage(table, 1.0, **call, **{**options, "bins": None, "drop": ["c"]})


@pytest.mark.parametrize("sources", [[], ["a"], ["b", "b"]])
def test_sources_are_other_attributes_each_once(people, sources):
    table = pa.table(dict(zip("abc", people, strict=True)))
    with pytest.raises(InputError, match="sources must be one or more names"):
        estimate_leakage(
            table, mechanism="grr", epsilon=1.0, target="a", sources=sources
        )


def test_too_many_joint_reports_raise():
    generator = np.random.default_rng(1)
    columns = {f"s{i}": generator.integers(30, size=3_000) for i in range(5)}
    table = pa.table({"a": generator.integers(2, size=3_000), **columns})
    with pytest.raises(InputError, match="choose fewer sources"):
        estimate_leakage(
            table,
            mechanism="grr",
            epsilon=1.0,
            target="a",
            sources=list(columns),
            surrogates=0,
        )
