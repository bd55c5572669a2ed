"""Messages of the library name Python; options and commands belong to the command
line.
"""

import ast
import pickle
import re
from functools import cache
from importlib import import_module

import click

from seepage._core.errors import InputError, Setting, Text
from seepage.channel.domain import MISSING
from seepage.cli import COMMANDS
from syntax import PACKAGE, nodes_of

OF_COMMANDS = {"datasets/published_file.py"}
"""Modules that name a command: downloading is one, without a public function."""


def texts_of(module):
    """Return the line and value of each string of a module that is not a docstring."""
    nodes = nodes_of(module)
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


WRITE_COMMANDS = ("app/equivalent_commands.py", "pages/check_view.py")
"""Modules that show commands as such: what to type for what was done or is advised."""


@cache
def library_texts():
    """Return place and text of the strings outside the command line, by module."""
    modules = {
        path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")
    }
    found = {
        name: texts_of(path)
        for name, path in modules.items()
        if not name.startswith("cli/") and name not in WRITE_COMMANDS
    }
    assert sum(map(len, found.values())) > 3_000
    return found


def test_no_string_of_the_library_names_an_option_of_a_command():
    option = re.compile(r"(?<![\w-])--[a-z]")
    assert [
        f"{module}:{line}: {text}"
        for module, texts in library_texts().items()
        for line, text in texts
        if option.search(text)
    ] == []
    assert option.search(
        "compute totals (--guarantee all)"
    )  # and the pattern finds options


def test_no_string_of_the_library_names_a_command():
    command = re.compile(
        rf"\bseepage ({'|'.join(COMMANDS)})\b(?! plan| vectors|$)"
    )  # a file format
    naming = {
        module
        for module, texts in library_texts().items()
        if any(command.search(text) for _, text in texts)
    }
    assert naming == OF_COMMANDS


def options_of_commands():
    """Return the parameters that options of commands stand for."""

    def parameters(command):
        yield from (
            param.name for param in command.params if isinstance(param, click.Option)
        )
        for inner in getattr(command, "commands", {}).values():
            yield from parameters(inner)

    found = set[str]()
    for command in COMMANDS:
        module = import_module(f"seepage.cli.{command}")
        found.update(parameters(getattr(module, command)))
    assert len(found) > 50
    return found


PROSE = {
    "report",
    "other",
    "analyser",
    "attribute",
    "form",
    "format",
    "list",
    "output",
    "title",
    "vectors",
}
"""Options that are also common words, which a text may have in brackets."""


def test_a_text_that_names_an_option_of_python_says_so_with_a_setting():
    """`scope='table'` inside a string could not be shown as `--scope table`."""
    names = "|".join(sorted(options_of_commands() - PROSE))
    setting = re.compile(rf"""\b({names})=['"\w.]|`({names})`|\(({names})\)""")
    assert [
        f"{module}:{line}: {text}"
        for module, texts in library_texts().items()
        for line, text in texts
        if setting.search(text) and MISSING not in text
    ] == []
    assert setting.search("use scope='table'")
    assert setting.search("drop it (drop)")


ERRORS = ("InputError", "TableError", "DomainError", "ChannelError", "GuaranteeError")


def raised_errors():
    """Yield place, message and keywords of every error of the library."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in nodes_of(path):
            name = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and name in ERRORS and node.args:
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                yield place, node.args[0], {keyword.arg for keyword in node.keywords}


def first_words(message):
    """Return the start of a message as its code has it."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    return parts[0].value if isinstance(parts[0], ast.Constant) else ""


def test_an_error_about_a_parameter_carries_it():
    subject = re.compile(
        rf"(each of )?({'|'.join(options_of_commands() | {'data'})}) (must|needs)\b"
    )
    errors = list(raised_errors())
    assert len(errors) > 300
    assert [
        place
        for place, message, keywords in errors
        if subject.match(str(first_words(message))) and "parameter" not in keywords
    ] == []


def test_a_command_shows_its_own_options():
    hint = Text("; give ", Setting("scope", "table"))
    error = InputError("each of known must be a name", hint, parameter="each of known")
    assert str(error) == "each of known must be a name; give scope='table'"
    assert error.parameter == "known"
    names = {"known": "--known", "scope": "--scope"}
    for same in (error, pickle.loads(pickle.dumps(error))):
        assert (
            same.naming(names) == "each of --known must be a name; give --scope table"
        )
        assert same.naming({}) == str(error)


def test_a_value_that_reads_like_a_parameter_is_left_as_it_is():
    error = InputError(
        "limit of 'limit' must be a number, got 'limit'", parameter="limit of 'a'"
    )
    assert (
        error.naming({"limit": "--limit"})
        == "--limit of 'limit' must be a number, got 'limit'"
    )
