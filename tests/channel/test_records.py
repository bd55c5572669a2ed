"""Distinct records: merging, k-way counts, packing, any table in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core.errors import DomainError, InputError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.records import Records
from seepage.counting.distinct_records import pack
from seepage.counting.record_samples import MIN_BUFFER
from seepage.tables.read import count_pairs
from strategies import attribute


def domain_of(*sizes):
    return Domain(attribute(f"a{i}", size) for i, size in enumerate(sizes))


@st.composite
def records(draw):
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    rows = draw(
        st.lists(st.tuples(*(st.integers(0, k - 1) for k in sizes)), max_size=30)
    )
    weights = draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    return (
        sizes,
        np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes)),
        np.array(weights),
    )


@given(records())
def test_weights_add_up_over_equal_rows(drawn):
    sizes, rows, weights = drawn
    truth = {}
    for row, weight in zip(map(tuple, rows.tolist()), weights.tolist(), strict=True):
        if weight:
            truth[row] = truth.get(row, 0) + weight
    found = Records(domain_of(*sizes), rows, weights.astype(np.int64))
    assert [tuple(row) for row in found.codes.tolist()] == sorted(truth)
    assert found.weights.tolist() == [truth[row] for row in sorted(truth)]
    assert found.records == sum(truth.values())


@given(records(), st.data())
def test_joint_counts_match_a_loop(drawn, data):
    sizes, rows, weights = drawn
    chosen = data.draw(
        st.permutations(range(len(sizes))).map(lambda p: p[: max(1, len(p) - 1)])
    )
    truth = np.zeros([sizes[k] for k in chosen], dtype=np.int64)
    for row, weight in zip(rows, weights, strict=True):
        truth[tuple(row[list(chosen)])] += weight
    tuples = Records(domain_of(*sizes), rows, weights.astype(np.int64))
    assert np.array_equal(tuples.counts(chosen), truth)
    assert np.array_equal(tuples.select(chosen).counts(), truth)


@given(records())
def test_pairs_and_joint_tables_agree_with_the_tuples(drawn):
    sizes, rows, weights = drawn
    tuples = Records(domain_of(*sizes), rows, weights.astype(np.int64))
    pairs = tuples.pairs()
    for a in range(len(sizes)):
        assert np.array_equal(pairs.marginal(a), tuples.marginal(a))
        for b in range(a + 1, len(sizes)):
            assert np.array_equal(pairs.table(a, b), tuples.counts([a, b]))
    assert Records.from_joint(tuples.domain, tuples.counts()) == tuples


def test_groups_number_equal_parts():
    tuples = Records(domain_of(2, 3, 2), [[0, 2, 0], [0, 2, 1], [1, 0, 0], [1, 2, 1]])
    assert tuples.groups([0, 1]).tolist() == [0, 0, 1, 2]
    assert tuples.groups([1]).tolist() == [1, 1, 0, 1]
    assert tuples.groups([]).tolist() == [0, 0, 0, 0]


@given(st.lists(st.integers(1, 2**16), min_size=1, max_size=12), st.data())
def test_packing_keeps_the_order_of_records_beyond_64_bits(sizes, data):
    row = st.tuples(*(st.integers(0, k - 1) for k in sizes))
    rows = data.draw(st.lists(row, min_size=2, max_size=8))
    words = pack(np.array(rows, dtype=np.uint32).T, sizes)
    packed = [tuple(int(word[i]) for word in words) for i in range(len(rows))]
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert (packed[i] < packed[j]) == (rows[i] < rows[j])
            assert (packed[i] == packed[j]) == (rows[i] == rows[j])


def test_packing_fills_words_to_the_last_bit():
    assert len(pack(np.zeros((64, 1), dtype=np.uint8), [2] * 64)) == 1
    assert len(pack(np.zeros((65, 1), dtype=np.uint8), [2] * 65)) == 2
    assert pack(np.ones((64, 1), dtype=np.uint8), [2] * 64)[0][0] == 2**64 - 1


def test_sample_has_the_weights_as_frequencies():
    tuples = Records(domain_of(2, 2), [[0, 0], [0, 1], [1, 1]], [5, 1, 4])
    drawn = tuples.sample(40_000, rng=3)
    counts = np.bincount(drawn[:, 0] * 2 + drawn[:, 1], minlength=4) / 40_000
    spread = 4 * np.sqrt(0.25 / 40_000)
    assert np.abs(counts - [0.5, 0.1, 0, 0.4]).max() < spread
    assert (
        np.abs(counts - [0.4, 0.2, 0, 0.4]).max() > spread
    )  # the test can tell them apart
    assert np.array_equal(drawn, tuples.sample(40_000, rng=3))
    assert not np.array_equal(drawn, tuples.sample(40_000, rng=4))


def test_records_are_immutable():
    tuples = Records(domain_of(2), [[0], [1]])
    for part in (tuples.codes, tuples.weights):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1


FRAME = pd.DataFrame(
    {
        "sex": ["F", "M", "F", "F", None],
        "age": [30, 41, 30, 30, 41],
        "smoker": [True, False, True, False, False],
    }
)


@pytest.mark.parametrize(
    "table",
    [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)],
    ids=["pd", "pl", "pa"],
)
def test_any_frame_gives_the_domain_and_counts_of_count_pairs(table):
    tuples = Records.from_data(table)
    assert tuples.domain["sex"].values == ("F", "M", "(missing)")
    assert tuples.records == 5
    assert len(tuples) == 4
    assert tuples.pairs() == count_pairs(table)
    dropped = Records.from_data(table, missing="drop")
    assert dropped.pairs() == count_pairs(table, missing="drop")


def test_files_with_late_values_and_bins(tmp_path):
    rows = (
        MIN_BUFFER + 70_000
    )  # several batches; numbers turn out to be many only in the last one
    age = np.zeros(rows, dtype=np.int64)
    age[-500:] = np.arange(500)
    frame = pd.DataFrame({"age": age, "sex": np.where(np.arange(rows) % 3, "M", "F")})
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    seen = []
    tuples = Records.from_data(path, progress=lambda done, total: seen.append(done))
    assert tuples.records == rows == seen[-1]
    assert tuples.pairs() == count_pairs(path)
    assert len(tuples) == np.count_nonzero(tuples.counts())


def test_a_sample_has_so_many_records_whatever_the_batches(tmp_path):
    rows = 300_000  # several batches
    draw = np.random.default_rng(8)
    sex = pa.array(draw.integers(0, 2, rows), pa.int8(), mask=draw.random(rows) < 0.1)
    table = pa.table(
        {"number": pa.array(np.arange(rows) // 1000, pa.int32()), "sex": sex}
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=7_000)
    for missing, people in (("category", rows), ("drop", rows - sex.null_count)):
        options = {"bins": "none", "missing": missing, "sample": 5000, "rng": 3}
        drawn = Records.from_data(table, **options)
        assert (drawn.records, drawn.population) == (5000, people)
        assert Records.from_data(tmp_path / "a.parquet", **options) == drawn
        assert (
            drawn.domain
            == Records.from_data(table, bins="none", missing=missing).domain
        )
        assert Records.from_data(table, **(options | {"rng": 4})) != drawn
    assert drawn.select(["sex"]).population == people
    assert repr(drawn).startswith(f"Records(sample of 5,000 of {people:,} records, ")


def test_a_sample_is_without_replacement_and_even():
    rows = 4000
    numbers = np.arange(rows)
    table = pa.table({"fifties": numbers // 50, "ones": numbers % 50})
    options = {"bins": "none", "sample": 1000}
    drawn = [Records.from_data(table, **options, rng=seed) for seed in range(200)]
    assert all((part.weights == 1).all() and len(part) == 1000 for part in drawn)
    assert all(part.domain.sizes == (80, 50) for part in drawn)
    found = [50 * part.codes[:, 0].astype(int) + part.codes[:, 1] for part in drawn]
    times = np.bincount(np.concatenate(found), minlength=rows)

    def spread(
        claimed,
    ):  # of a chi-squared statistic with about 4,000 degrees of freedom
        return ((times - 50) ** 2 / (200 * claimed * (1 - claimed))).sum() / rows

    assert abs(spread(0.25) - 1) < 0.1
    assert abs(spread(0.7 * 0.25) - 1) > 0.1
    assert abs(spread(1.3 * 0.25) - 1) > 0.1


def test_a_sample_of_all_records_is_the_table():
    assert Records.from_data(FRAME, sample=5) == Records.from_data(FRAME)
    assert Records.from_data(FRAME, sample=4).population == 5


@pytest.mark.parametrize(
    ("codes", "weights", "message"),
    [
        ([[0, 2]], None, "codes of 'a1' must be from 0 to 1"),
        ([[-1, 0]], None, "codes of 'a0' must be from 0 to 1"),
        ([[0]], None, "one row per record and 2 columns"),
        ([[0.0, 1.0]], None, "must be integers"),
        ([[0, 1]], [1, 2], "weights must be 1 integers"),
        ([[0, 1]], [-1], "at least 0"),
        ([[0, 1], [1, 1]], [2**53, 1], "at most 2\\^53"),
    ],
)
def test_invalid_records_raise(codes, weights, message):
    with pytest.raises(DomainError, match=message):
        Records(domain_of(2, 2), codes, weights)


def test_other_errors():
    tuples = Records(domain_of(*[1000] * 4), np.zeros((0, 4), dtype=np.uint16))
    assert len(tuples) == tuples.records == 0
    with pytest.raises(DomainError, match="1e\\+12 cells"):
        tuples.counts()
    with pytest.raises(DomainError, match="needs at least one record"):
        tuples.sample(1)
    with pytest.raises(DomainError, match="only once"):
        tuples.counts([0, 0])
    with pytest.raises(DomainError, match="one axis per attribute"):
        Records.from_joint(domain_of(2, 2), [1, 2])
    with pytest.raises(InputError, match="no option 'bin'; did you mean 'bins'"):
        Records.from_data(FRAME, bin=3)
    with pytest.raises(InputError, match="sample must be an integer of at least 1"):
        Records.from_data(FRAME, sample=0)
    with pytest.raises(InputError, match="engine must be one of auto, spark"):
        Records.from_data(FRAME, engine="polars")
    with pytest.raises(InputError, match="population must be an integer of at least 2"):
        Records(domain_of(2), [[0], [1]], population=1)


def test_distinct_records_of_a_wide_table_are_quick():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 30, (200_000, 40)).astype(np.uint8)
    codes[100_000:] = codes[:100_000]
    tuples = Records(domain_of(*[30] * 40), codes)
    assert len(tuples) == 100_000
    assert (tuples.weights == 2).all()


def test_pairs_of_a_sample_say_so():
    people = Records(domain_of(2, 2), [[0, 1], [1, 0]], population=9)
    assert people.pairs().population == 9
    assert Records(domain_of(2, 2), [[0, 1], [1, 0]]).pairs().population is None


def test_without_a_seed_samples_differ():
    frame = pa.table({"a": [str(i) for i in range(200)]})
    drawn = [Records.from_data(frame, sample=20, rng=None) for _ in range(3)]
    assert not drawn[0] == drawn[1] == drawn[2]


def test_a_sample_does_not_follow_the_stream_that_made_the_table():
    """With the stream of the same seed, the sample would be of the least numbers
    alone.
    """
    drawn = np.random.default_rng(0).random(2_000)
    sample = Records.from_data(pd.DataFrame({"low": drawn < 0.5}), sample=400, rng=0)
    assert 150 < sample.marginal("low")[1] < 250


def test_records_know_whether_their_domain_is_independent_of_them():
    read = Records.from_data(FRAME)
    assert not read.origin.declared
    assert not read.select(read.domain.names[:1]).origin.declared
    assert Records(read.domain, read.codes, read.weights).origin.declared
    assert Records.from_data(FRAME, domain=read.domain).origin.declared


def test_markers_of_a_declared_domain_are_collected_as_certified():
    people = pa.table(
        {"sick": ["a", "none", "zz", "b", "none", "a"], "sex": list("ffmmfm")}
    )
    sick = Attribute("sick", ("a", "b", "(other)", "(missing)"))
    declared = Domain([sick, Attribute("sex", ("f", "m"))])
    certified = Records.from_data(people, domain=declared, missing_markers=["none"])
    assert certified.marginal("sick").tolist() == [2, 1, 1, 2]
    assert certified.domain["sick"].merged == (("none", "(missing)"),)
    collected = Records.from_data(people, domain=certified.domain)
    assert collected.marginal("sick").tolist() == [2, 1, 1, 2]
    assert Records.from_data(people, domain=declared).domain == declared


INF = float("inf")
WAYS = {
    "declared bins": {
        "domain": Domain(
            [
                Attribute("sick", ("no", "yes")),
                Attribute(
                    "days", ("low", "high"), (-INF, 5, INF), (("(missing)", "low"),)
                ),
            ]
        )
    },
    "declared labels": {
        "domain": Domain(
            [
                Attribute("sick", ("no", "yes")),
                Attribute("days", ("1", "10"), (), (("(missing)", "1"), ("*", "10"))),
            ]
        )
    },
    "merged answers": {
        "bins": {"days": [-INF, 5, INF]},
        "scope": "population",
        "rng": 0,
    },
    "bins of the table": {"bins": {"days": [-INF, 5, INF]}},
    "values of the table": {},
    "pooled": {"pool": 100, "bins": "none"},
}


@pytest.mark.parametrize("way", WAYS)
def test_markers_are_collected_as_certified(way):
    rng = np.random.default_rng(3)
    sick = rng.integers(0, 2, 2_000)
    days = np.where(
        (sick == 1) & (rng.random(2_000) < 0.12), 999, rng.choice([1, 10], 2_000)
    )
    people = pa.table({"sick": np.array(["no", "yes"])[sick], "days": days})
    answers = {"answers": "merged"} if way == "merged answers" else {}
    certified = Records.from_data(
        people, missing_markers=["999"], **WAYS[way], **answers
    )
    collected = Records.from_data(people, domain=certified.domain)
    part = collected.records - certified.records
    assert part == 0 or way == "merged answers"
    wanted = Records.from_data(people, domain=certified.domain, missing_markers=["999"])
    assert collected.counts().tolist() == wanted.counts().tolist()
    if not part:
        assert collected.counts().tolist() == certified.counts().tolist()


def test_bins_merge_what_means_missing_into_one_value():
    merged = (("7", "low"), ("(missing)", "high"))
    with pytest.raises(DomainError, match="has bins and must merge into one of them"):
        Attribute("days", ("low", "high"), (-INF, 5, INF), merged)


def test_a_marker_that_a_declared_domain_codes_otherwise_raises():
    people = pa.table({"sick": ["a", "b"]})
    declared = Domain([Attribute("sick", ("a", "b", "(other)"))])
    with pytest.raises(InputError, match="'sick' does not code otherwise, got 'a'"):
        Records.from_data(people, domain=declared, missing_markers=["a"])
