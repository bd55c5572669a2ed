"""The help of long commands stands under headings."""

import subprocess
import sys

import click
import pytest

from command import run
from seepage.cli import group
from seepage.cli.file_command import FileCommand

HEADED = ("analyse", "calibrate", "design")


@click.command(
    "mix", cls=FileCommand, headings={"Colours": ("red", "blue"), "Size": ("size",)}
)
@click.option("--blue", help="The sky.")
@click.option("--size", help="How large.")
@click.option("--red", help="The rose.")
def mix(**_):
    """Mix colours."""


def test_options_are_shown_under_their_headings_and_others_in_the_last():
    text = mix.get_help(click.Context(mix))
    assert text.split("\n\n", 2)[2] == (
        "Colours:\n"
        "  --red TEXT   The rose.\n"
        "  --blue TEXT  The sky.\n"
        "\n"
        "Size:\n"
        "  --size TEXT  How large.\n"
        "  --help       Show this message and exit."
    )


@pytest.mark.parametrize("name", HEADED)
def test_every_option_of_a_long_command_has_one_heading(name):
    context = click.Context(group)
    command = group.get_command(context, name)
    headed = [param for names in command.headings.values() for param in names]
    offered = [
        param.name for param in command.params if isinstance(param, click.Option)
    ]
    assert sorted([*headed, "force"]) == sorted(offered)


def test_the_help_of_a_design_reads_from_what_is_asked_to_what_is_written():
    lines = run("design", "--help").stdout.splitlines()
    headings = [line for line in lines if line.endswith(":") and line[0] != " "]
    assert headings == [
        "What is asked:",
        "What is promised:",
        "The search:",
        "Reading the table:",
        "Output:",
    ]


def test_the_package_is_the_command():
    script = [sys.executable, "-m", "seepage", "--version"]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    assert done.stdout == run("--version").stdout
