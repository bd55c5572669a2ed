"""The command line: parse, call, print."""

from seepage.cli.commands import COMMANDS, group, main

__all__ = ["COMMANDS", "group", "main"]
