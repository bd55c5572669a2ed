"""Signature and options object of a function agree."""

import inspect

import pytest

import seepage as sp
from seepage._core.errors import InputError
from seepage._core.options import SECTION, changed
from seepage.tables.table_options import DataOptions


@pytest.mark.parametrize(
    "function",
    [
        *(sp.design, sp.calibrate),
        *(sp.analyse, sp.count_pairs, sp.leakage_matrix, sp.total_leakage),
        *(sp.estimate_leakage, sp.stream_leakage, sp.correlation_matrix),
        sp.Records.from_data,
    ],
)
def test_every_keyword_is_in_the_signature_and_described(function):
    parameters = inspect.signature(function).parameters
    assert {"data", "columns", "bins", "engine", "progress"} <= set(parameters)
    assert all(
        one.kind is not inspect.Parameter.VAR_KEYWORD for one in parameters.values()
    )
    section = SECTION.search(function.__doc__ + "\n")[2]
    described = {
        name
        for line in section.splitlines()
        if line[:1].isalpha()
        for name in line.split(", ")
    }
    assert set(parameters) <= described


def test_data_may_be_a_keyword():
    assert sp.count_pairs(data="adult", columns=["sex"]) == sp.count_pairs(
        "adult", columns=["sex"]
    )
    with pytest.raises(TypeError, match="missing a required argument: 'epsilon'"):
        sp.leakage_matrix("adult")


def test_one_mapping_sets_all_attributes():
    some = {"columns": ["sex", "race"]}
    found = sp.leakage_matrix("adult", {"*": 1.0, "sex": 0.5}, **some)
    assert found.epsilons.tolist() == [0.5, 1.0]
    with pytest.raises(InputError, match="race"):
        sp.leakage_matrix("adult", {"sex": 0.5}, **some)


def test_only_what_differs_from_its_default_counts_as_given():
    assert changed(DataOptions(), DataOptions) == {}
    assert changed(DataOptions(missing="category", drop=[]), DataOptions) == {}
    assert changed(DataOptions(bins=[0, 1], drop=["a"]), DataOptions) == {
        "bins": [0, 1],
        "drop": ("a",),
    }
