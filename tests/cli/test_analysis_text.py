"""Notes of an analysis as text: what merging rare values would gain."""

import seepage as sp
from command import run
from seepage.cli.analysis_text import pooling_notes


def test_the_gain_is_that_of_the_pooled_table():
    matrix = sp.leakage_matrix("adult", 1.0, mechanism="grr")
    pooled = sp.leakage_matrix("adult", 1.0, mechanism="grr", pool=100)
    (note,) = pooling_notes(matrix)
    assert "native-country 26" in note
    assert "native-country as target and source from" in note
    assert f"from {matrix.tcpl:.4g} to {pooled.tcpl:.4g}, " in note
    assert pooled.tcpl < matrix.tcpl
    assert not any("workclass" in note for note in pooling_notes(pooled))
    few = sp.leakage_matrix("adult", 1.0, columns=["sex", "income"])
    assert not list(pooling_notes(few))
    assert not list(pooling_notes(sp.leakage_matrix("adult", 1.0, mechanism="public")))


def test_the_command_pools_and_says_what_that_would_gain():
    plain = run("analyse", "adult", "--strongest", "0").stdout
    assert "--pool 100 would merge rare values (native-country 26" in plain
    pooled = run("analyse", "adult", "--pool", "100", "--strongest", "0").stdout
    assert "--pool" not in pooled
    assert run("analyse", "adult", "--pool", "-1").returncode == 2
