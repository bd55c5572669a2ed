"""What `seepage calibrate` and `design` share: options, and how a plan is written."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage.channel.domain import ALL_OTHERS
from seepage.cli import console, options, parsing
from seepage.cli.number_types import INTEGER_TYPE

LIMITS = options.grouped(
    click.option(
        "--limit",
        metavar="ODDS|NATS",
        callback=parsing.parse_limit,
        help="How far all reports of a person may change the odds between two answers "
        "to any question, at most: 7.4x, or the same in nats, 2.",
    ),
    click.option(
        "--limit-of",
        metavar="NAME=VALUE",
        multiple=True,
        callback=parsing.parse_by_name(parsing.as_limit_or_none),
        help="--limit of one attribute.",
    ),
    click.option(
        "--public",
        metavar="A,B,...",
        callback=parsing.parse_names,
        help="Attributes whose values are public.",
    ),
    click.option(
        "--left-out",
        metavar="A,B,...",
        callback=parsing.parse_names,
        help="Attributes that are not collected.",
    ),
    options.KEEP,
    click.option(
        "--sample",
        type=INTEGER_TYPE,
        metavar="N",
        help="Number of records to draw at random, by the seed; all by default.",
    ),
)
"""Options of what is planned: for which attributes, within which limits."""


LIMITS_KEYWORDS = ("limit", "public", "left_out", "keep", "sample")
"""Keywords that designs and calibrations share."""


PLAN_RESULT = options.grouped(
    options.MASTER,
    options.page("the plan"),
    options.output_format("json"),
    options.output_file("Write the plan here."),
)
"""Options of where and how a plan is written."""


def check_limit(limit: float | dict[str, float | None] | None) -> None:
    """Raise an InputError if the plan's option `--limit` leaves some attributes without
    one.
    """
    if limit is None:
        raise InputError(
            "--limit must be given: how far all reports of a person may change the "
            "odds between two answers to any question, such as 7.4x"
        )
    if isinstance(limit, dict) and limit[ALL_OTHERS] is None:
        raise InputError("--limit must be given for the others too")


def write_plan(plan: Any, data: str, text: Callable[[], str]) -> None:
    """Save a plan, print it as text, and write its page and its chart."""
    name = Path(data).name
    output = click.get_current_context().params["output"]
    if output is not None:
        plan.save(output)
    page = partial(plan.report, name=name)
    console.write_result(plan, text, page=page, printed=True)
    if output is None:
        click.echo("the plan was not saved: --output plan.json keeps it", err=True)
