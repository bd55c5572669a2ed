"""Rare values become "(other)": the same for every way to count, and in later
tables.
"""

import collections

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from kernels import KERNELS, counted_by
from seepage._core.errors import DomainError, InputError
from seepage.channel.domain import MISSING, OTHER
from seepage.channel.pooling import pool_rare


def people(rows=2000):
    draw = np.random.default_rng(3)
    jobs = draw.choice([f"job {i}" for i in range(20)], rows, p=np.arange(1, 21) / 210)
    return pa.table(
        {
            "job": pa.array(jobs, mask=draw.random(rows) < 0.01),
            "age": draw.integers(0, 99, rows),
            "kids": np.minimum(draw.poisson(1.5, rows), 9),
            "sex": draw.choice(["F", "M"], rows),
        }
    )


@pytest.mark.parametrize("pool", [40, 0.02])
def test_every_way_to_count_gives_the_same(tmp_path, pool):
    table = people()
    pa.csv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "parts").mkdir()
    for number in range(3):
        part = table.slice(number * 700, 700)
        pa.parquet.write_table(part, tmp_path / "parts" / f"{number}.parquet")
    whole = sp.count_pairs(table)
    whole.save(tmp_path / "t.pairs")
    expected = sp.count_pairs(table, pool=pool)
    assert OTHER in expected.domain["job"].values
    assert OTHER in expected.domain["kids"].values
    assert expected.domain["age"] == whole.domain["age"]  # bins stay
    assert expected.domain["job"].values[-1] == OTHER  # "(missing)" was rare too
    for data in (
        table.to_pandas(),
        pl.from_arrow(table),
        tmp_path / "parts",
        tmp_path / "t.csv",
    ):
        assert sp.count_pairs(data, pool=pool) == expected
    for kernel in KERNELS:
        with counted_by(kernel):
            assert sp.count_pairs(table, pool=pool) == expected
    records = sp.Records.from_data(table, pool=pool)
    assert records.pairs() == expected
    for counted in (whole, sp.Records.from_data(table), tmp_path / "t.pairs"):
        assert sp.count_pairs(counted, pool=pool) == expected


def test_merged_results():
    table = people()
    counts = collections.Counter(table["job"].to_pylist())
    pooled = sp.count_pairs(table, pool=60)
    kept = {value for value in pooled.domain["job"].values if value != OTHER}
    assert kept == {value for value, count in counts.items() if value and count >= 60}
    others = sum(count for value, count in counts.items() if value not in kept)
    assert pooled.marginal("job")[pooled.domain["job"].code(OTHER)] == others
    assert not sp.count_pairs(table, pool=1).pooled
    assert sp.count_pairs(table, pool=1) == sp.count_pairs(table)


def test_the_next_rarest_join_until_other_is_not_rare_itself():
    counts = [900, 40, 30, 20, 10]
    pairs = sp.PairCounts(
        sp.Domain([sp.Attribute("job", tuple("abcde"))]), [counts], []
    )
    assert pool_rare(pairs, 12).domain["job"].values == ("a", "b", "c", "(other)")
    assert pool_rare(pairs, 12).marginal("job").tolist() == [900, 40, 30, 30]
    assert pool_rare(pairs, 35).domain["job"].values == ("a", "b", "(other)")


def test_a_common_value_keeps_its_name_beside_a_rare_other():
    sex = sp.Domain([sp.Attribute("sex", ("F", "M", "X"))])
    pooled = pool_rare(sp.PairCounts(sex, [[600, 390, 10]], []), 100)
    assert pooled.domain["sex"].values == ("F", "M", "(other)")
    assert pooled.marginal("sex").tolist() == [600, 390, 10]


def test_missing_stays_last_where_it_is_kept():
    table = pa.table({"a": ["x"] * 50 + ["y"] * 3 + [None] * 20})
    pooled = sp.count_pairs(table, pool=10)
    assert pooled.domain["a"].values == ("x", OTHER, MISSING)
    assert pooled.marginal("a").tolist() == [50, 3, 20]
    dropped = sp.count_pairs(table, pool=10, missing="drop")
    assert dropped.domain["a"].values == ("x", OTHER)


def test_an_other_of_the_table_takes_the_rare_values():
    table = pa.table({"a": ["x"] * 50 + [OTHER] * 30 + ["y"] * 3})
    assert sp.count_pairs(table, pool=10).marginal("a").tolist() == [50, 33]
    assert sp.count_pairs(table, pool=2) == sp.count_pairs(table)


def test_a_sample_is_pooled_by_its_own_counts():
    table = people()
    sample = sp.Records.from_data(table, sample=300, rng=1)
    assert sp.Records.from_data(table, sample=300, rng=1, pool=20) == pool_rare(
        sample, 20
    )
    assert pool_rare(sample, 20).population == 2000


@st.composite
def counted(draw):
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    rows = draw(
        st.lists(
            st.tuples(*(st.integers(0, k - 1) for k in sizes)), min_size=1, max_size=60
        )
    )
    names = [
        (OTHER, MISSING, "a", "b", "c", "d"),
        tuple("abcdef"),
        ("f", *"abcd", MISSING),
    ]
    values = [draw(st.sampled_from(names))[:k] for k in sizes]
    domain = sp.Domain([sp.Attribute(f"x{i}", v) for i, v in enumerate(values)])
    return sp.Records(domain, np.array(rows))


@given(counted(), st.integers(1, 30) | st.floats(0.01, 0.99))
def test_pooling_pairs_is_pooling_records_and_counts_add_up(records, pool):
    pooled = pool_rare(records.pairs(), pool)
    assert pool_rare(records, pool).pairs() == pooled
    assert pooled.records == records.records
    least = pool if pool >= 1 else pool * records.records
    for attribute in records.domain:
        after = dict(
            zip(
                pooled.domain[attribute.name].values,
                pooled.marginal(attribute.name),
                strict=True,
            )
        )
        for value, count in zip(
            attribute.values, records.marginal(attribute.name), strict=True
        ):
            if count >= least and value != OTHER:
                assert after[value] == count
            elif value != OTHER:
                assert value not in after
    again = pool_rare(pooled, pool)
    assert again.records == pooled.records
    assert again.domain == pooled.domain, "pooling twice changes nothing"


@given(counted(), st.integers(1, 30))
def test_pooling_targets_and_sources_never_raises_a_bound(records, pool):
    before, after = (
        sp.leakage_matrix(pairs, 1.0).values
        for pairs in (records.pairs(), pool_rare(records.pairs(), pool))
    )
    assert (after <= before + 1e-12).all()


def test_later_tables_are_coded_in_the_pooled_domain(tmp_path):
    table = people()
    pooled = sp.count_pairs(table, pool=60)
    assert sp.count_pairs(table, domain=pooled.domain) == pooled
    assert sp.Records.from_data(table, domain=pooled.domain).pairs() == pooled
    later = pa.table(
        {"job": ["job 19", "pilot", None], "age": [1, 2, 3], "kids": [1, 77, 2]}
    )
    later = later.append_column("sex", pa.array(["F", "M", "F"]))
    found = sp.count_pairs(later, domain=pooled.domain)
    assert found.marginal("job")[pooled.domain["job"].code(OTHER)] == 2
    assert found.marginal("kids")[pooled.domain["kids"].code(OTHER)] == 1
    strange = later.set_column(3, "sex", pa.array(["F", "M", "X"]))
    with pytest.raises(DomainError, match="outside the domain"):
        sp.count_pairs(strange, domain=pooled.domain)


def test_a_plan_of_a_pooled_table_perturbs_values_it_never_saw():
    table = people().select(["job", "sex"])
    plan = sp.calibrate(table, 3.0, guarantee="worst", mechanism="grr", pool=60)
    assert OTHER in plan.collected["job"].values
    fresh = pa.table({"job": ["pilot", "job 19"], "sex": ["F", "M"]})
    assert len(plan.perturb(fresh, rng=1)) == 2


@pytest.mark.parametrize("pool", [0, -1, 1.5, "x", True, float("nan"), float("inf")])
def test_invalid_pool_thresholds_raise(pool):
    with pytest.raises(InputError, match="pool must be"):
        sp.count_pairs(people(), pool=pool)
    with pytest.raises(InputError, match="pool must be"):
        sp.count_pairs("adult", pool=pool)


def test_pool_and_domain_exclude_each_other():
    with pytest.raises(InputError, match="exclude each other"):
        sp.count_pairs(people(), pool=10, domain=sp.count_pairs(people()).domain)
