"""Signature, options object and command line of a function agree."""

import inspect
import re
from dataclasses import fields

import click
import pytest

import seepage as sp
from seepage._core.errors import InputError
from seepage._core.options import SECTION, changed, descriptions
from seepage.analysis.analysis_options import AnalysisOptions
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.cli.analyse import analyse
from seepage.cli.count import count
from seepage.cli.design import calibrate, design
from seepage.designs.design_options import DesignOptions
from seepage.tables.table_options import DataOptions

COMMANDS = [
    (sp.analyse, AnalysisOptions, analyse),
    (sp.design, DesignOptions, design),
    (sp.calibrate, CalibrationOptions, calibrate),
    (sp.count_pairs, DataOptions, count),
]


@pytest.mark.parametrize(("function", "kind", "command"), COMMANDS)
def test_signature_options_and_command_agree(function, kind, command):
    parameters = dict(inspect.signature(function).parameters)
    assert next(iter(parameters)) == "data"
    assert set(parameters) == {"data", *(one.name for one in fields(kind))}
    offered = {one.name: one for one in fields(kind) if "option" in one.metadata}
    given = {
        option.name: option
        for option in command.params
        if isinstance(option, click.Option)
    }
    said = descriptions(kind)
    assert set(offered) <= set(given)
    for name, one in offered.items():
        flag = f"--{one.metadata.get('name', name.replace('_', '-'))}"
        assert flag in given[name].opts
        assert (
            given[name].help.split()
            == re.sub(r'`"?(.*?)"?`', r"\1", said[name]).split()
        )
        if isinstance(one.default, (int, float)) and not given[name].multiple:
            assert given[name].default == one.default == parameters[name].default
        assert (f"{name}_of" in given) == ("each" in one.metadata)


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
