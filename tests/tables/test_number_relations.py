"""Monotone copies, recodings and sums of columns of numbers."""

import numpy as np
import pandas as pd
import pytest

import seepage as sp

N = 4_000
RNG = np.random.default_rng(7)
INCOME = np.round(np.exp(RNG.normal(10, 0.8, N)))
PARTS = RNG.poisson([[3.0], [2.0], [5.0]], (3, N))
TABLE = pd.DataFrame(
    {
        "income": INCOME,
        "linc": np.log(INCOME).round(6),
        "minus": -INCOME,
        "noisy": INCOME * np.exp(RNG.normal(0, 0.02, N)),
        "bracket": np.digitize(INCOME, [10_000, 20_000, 40_000]),
        "shuffled": RNG.permutation(INCOME),
        "doctor": PARTS[0],
        "clinic": PARTS[1],
        "home": PARTS[2],
        "visits": PARTS.sum(axis=0),
        "nearly": PARTS.sum(axis=0) + (RNG.random(N) < 0.05),
    }
)


def test_monotone_copies_are_the_same_as_the_first():
    found = sp.check(TABLE)
    assert found["linc"].same == "income"
    assert found["minus"].same == "income"
    assert found["noisy"].same is None
    assert found["shuffled"].same is None
    assert {"linc", "minus"} <= set(found.left_out)


def test_columns_that_are_mostly_zero_are_no_copies():
    gain = np.where(RNG.random(N) < 0.08, RNG.integers(1, 9_000, N), 0)
    loss = np.where((RNG.random(N) < 0.05) & (gain == 0), RNG.integers(1, 4_000, N), 0)
    found = sp.check(pd.DataFrame({"gain": gain, "loss": loss}))
    assert found["loss"].same is None


def test_a_recoding_follows_from_its_numbers():
    found = sp.check(TABLE)
    assert found["bracket"].follows == ("income",)


def test_a_sum_follows_from_its_terms():
    found = sp.check(TABLE)
    assert found["visits"].follows == ("doctor", "clinic", "home")
    assert found["nearly"].follows == ()
    assert found["doctor"].follows == ()


def test_a_copy_with_missing_values_is_a_copy():
    table = TABLE[["income", "linc"]].copy()
    table.loc[RNG.random(N) < 0.1, "linc"] = np.nan
    assert sp.check(table)["linc"].same == "income"


def test_a_plan_names_copies_as_covered_by_no_promise():
    table = TABLE[["income", "linc", "doctor"]]
    with pytest.warns(sp.DataWarning, match="same as income"):
        plan = sp.design(table, 2.0, effort=0.05)
    assert plan.provenance.settings["columns"]["same"] == {"linc": "income"}
    assert "nothing promised about 1" in repr(plan)


def test_a_few_records_that_are_no_sums_hide_no_sum():
    table = TABLE[["income", "doctor", "clinic", "home", "visits"]].copy()
    table.loc[4, "visits"] += 20
    assert sp.check(table)["visits"].follows == ("doctor", "clinic", "home")


def test_a_column_that_is_0_in_the_records_compared_first_raises_nothing():
    table = TABLE[["doctor", "clinic", "home"]].copy()
    table["late"] = np.where(np.arange(N) % 2 == 1, 1, 0)
    long = pd.concat([table, table, table], ignore_index=True)
    assert sp.check(long)["late"].follows == ()
