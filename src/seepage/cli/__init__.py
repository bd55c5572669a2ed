"""The command line: parse, call, print."""

from seepage.cli.entry_point import COMMANDS, group, main

__all__ = ["COMMANDS", "group", "main"]
