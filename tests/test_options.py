"""Signature and options object of a function agree."""

import inspect
import re
from dataclasses import fields

import pytest

import seepage as sp
from seepage._core.errors import InputError
from seepage.analysis.analysis_options import AnalysisOptions
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.designs.design_options import DesignKeywords, DesignOptions
from seepage.leakage.release_options import MatrixOptions
from seepage.tables.table_options import (
    CodingKeywords,
    DataOptions,
    TableKeywords,
    TableOptions,
    changed,
)
from seepage.totals.total import TotalOptions
from signatures import own_keywords, unpacked_keywords

FUNCTIONS = [
    *(sp.design, sp.calibrate, sp.analyse, sp.count_pairs, sp.leakage_matrix),
    *(sp.total_leakage, sp.estimate_leakage, sp.stream_leakage, sp.correlation_matrix),
    *(sp.benchmark_analysers, sp.benchmark_mechanisms, sp.Records.from_data),
    *(sp.audit, sp.compare_limits, sp.check, sp.Plan.check, sp.Plan.perturb),
    sp.Plan.write_questionnaire,
]
"""The public functions that take keywords of a table, or many of their own."""


def described_in(documented):
    """Return the names of parameters that a NumPy docstring describes."""
    text = inspect.getdoc(documented) + "\n"
    section = re.search(
        r"^Parameters\n-{10}\n(.*?)(?=^\w+\n-{3,}\n|\Z)", text, re.M | re.S
    )
    lines = section[1].splitlines()
    return {
        name.lstrip("*")
        for line in lines
        if line and not line.startswith(" ")
        for name in line.split(", ")
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_parameter_is_described_where_it_is_named(function):
    assert set(inspect.signature(function).parameters) - {"self"} <= described_in(
        function
    )
    listed = set(re.findall(r"`(\w+)`", inspect.getdoc(function)))
    assert set(unpacked_keywords(function)) <= listed


def test_the_keywords_of_a_table_are_its_options_and_described():
    keywords = TableKeywords.__annotations__
    assert list(keywords) == [field.name for field in fields(DataOptions)]
    assert list(CodingKeywords.__annotations__) == [
        field.name for field in fields(TableOptions)
    ]
    assert set(keywords) == described_in(TableKeywords)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_unknown_keyword_raises_with_the_closest_one(function):
    own = own_keywords(function)
    if not unpacked_keywords(function):
        return
    needed = {name: 1.0 for name in own if name != "self"}
    owner = [None] if own[0] == "self" else []
    with pytest.raises(InputError, match="no option 'column'; did you mean 'columns'"):
        function(*owner, **needed, column=["sex"])
    last = own[-1]
    with pytest.raises(InputError, match=f"no option '{last}_'; did you mean '{last}'"):
        function(*owner, **needed, **{f"{last}_": 1})


def test_data_may_be_a_keyword():
    assert sp.count_pairs(data="adult", columns=["sex"]) == sp.count_pairs(
        "adult", columns=["sex"]
    )
    with pytest.raises(TypeError, match=r"missing .*argument: 'epsilon'"):
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


def test_the_keywords_of_a_comparison_are_those_of_a_design():
    own = set(inspect.signature(sp.design).parameters) - {"data", "limit", "table"}
    assert set(DesignKeywords.__annotations__) == own | set(
        TableKeywords.__annotations__
    )


OPTIONS = [
    (sp.leakage_matrix, MatrixOptions),
    (sp.total_leakage, TotalOptions),
    (sp.analyse, AnalysisOptions),
    (sp.calibrate, CalibrationOptions),
    (sp.design, DesignOptions),
]
"""Functions whose own keywords are the fields of one options object."""


@pytest.mark.parametrize(("function", "options"), OPTIONS)
def test_a_signature_has_the_names_and_defaults_of_its_options(function, options):
    parameters = dict(inspect.signature(function).parameters)
    assert "data" in parameters
    own = set(parameters) - {"data", "table"}
    defaults = {field.name: field.default for field in fields(options)}
    assert own == set(defaults) - set(TableKeywords.__annotations__)
    for name in own - {"epsilon", "limit", "order"}:
        assert parameters[name].default == defaults[name], name
