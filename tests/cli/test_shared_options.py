"""Options of commands and the keywords of the functions that they call."""

import inspect
import json

import click
import pytest

import seepage as sp
from command import run
from seepage.cli.analyse import ANALYSE_KEYWORDS, analyse
from seepage.cli.audit import AUDIT_KEYWORDS, audit
from seepage.cli.calibrate import CALIBRATE_KEYWORDS, calibrate
from seepage.cli.compare import COMPARE_KEYWORDS, compare
from seepage.cli.count import count
from seepage.cli.design import DESIGN_KEYWORDS, design
from seepage.cli.options import DATA_KEYWORDS, TABLE_KEYWORDS
from seepage.tables.table_options import TableKeywords

COMMANDS = {
    "analyse": (sp.analyse, analyse, ANALYSE_KEYWORDS),
    "audit": (sp.audit, audit, AUDIT_KEYWORDS),
    "calibrate": (sp.calibrate, calibrate, CALIBRATE_KEYWORDS),
    "compare": (sp.compare_tables, compare, COMPARE_KEYWORDS),
    "count": (sp.count_pairs, count, DATA_KEYWORDS),
    "design": (sp.design, design, DESIGN_KEYWORDS),
}

NO_OPTION = {
    "analyse": {"data", "name", "command", "progress", "domain"},
    "audit": {"randomiser", "command", "progress", "domain"},
    "calibrate": {"data", "progress", "domain", "view"},
    "compare": {"a", "b", "progress", "domain"},
    "count": {"data", "progress", "domain"},
    "design": {"data", "progress", "domain", "mechanism"},
}
"""Keywords of each function that are no option of its command."""


def parameters_of(function):
    """Return the parameters of a function; those of a table are in `TableKeywords`."""
    parameters = dict(inspect.signature(function).parameters)
    if "table" in parameters:
        del parameters["table"]
        parameters |= dict.fromkeys(TableKeywords.__annotations__)
    return parameters


def options_of(command):
    return {
        param.name: param for param in command.params if isinstance(param, click.Option)
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_keyword_of_a_function_is_an_option_of_its_command(name):
    function, command, keywords = COMMANDS[name]
    assert set(keywords) <= set(options_of(command))
    assert set(keywords) == set(parameters_of(function)) - NO_OPTION[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_defaults_that_the_help_shows_are_those_of_the_function(name):
    function, command, keywords = COMMANDS[name]
    parameters = parameters_of(function)
    options = options_of(command)
    compared = 0
    for keyword in set(keywords) - set(DATA_KEYWORDS):
        default = parameters[keyword].default
        if isinstance(default, (int, float)) and not options[keyword].multiple:
            assert options[keyword].default == default
            compared += 1
    assert compared >= 3 or name == "count"


def test_the_options_of_reading_a_table_are_its_keywords():
    assert set(DATA_KEYWORDS) == set(TableKeywords.__annotations__) - {
        "domain",
        "progress",
    }
    assert set(DATA_KEYWORDS) - set(TABLE_KEYWORDS) == {"engine"}


def test_one_value_of_all_attributes_and_some_of_single_ones(tmp_path):
    settings = ("--epsilon", 2, "--epsilon-of", "sex=0.5", "--format", "json")
    done = run("analyse", "adult", "--columns", "sex,race", *settings, cwd=tmp_path)
    assert json.loads(done.stdout)["epsilon"] == [0.5, 2.0]
