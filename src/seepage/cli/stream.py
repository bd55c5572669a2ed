"""`seepage stream`: the leakage of a sequence of reports."""

from typing import Any

import click

from seepage.cli import console, options, reading
from seepage.cli.analysis_text import IN_NATS
from seepage.cli.file_command import FileCommand
from seepage.cli.number_types import NUMBER_TYPE


@click.command("stream", cls=FileCommand)
@click.argument("data")
@click.option(
    "-e", "--epsilon", type=NUMBER_TYPE, default=1.0, help="Budget of each step."
)
@options.TABLE
@options.RESULT
def stream(data: str, epsilon: float, **_: Any) -> None:
    """Compute the leakage of a sequence of reports about the attribute's value at each
    step.

    The columns of DATA are the steps, in order.  Backward leakage is that of the
    reports up to and including a step, forward leakage that of the reports from it on;
    the total combines both.  They hold if each value depends on the previous one only
    (a Markov chain).

    \b
    Examples:
      seepage stream days.csv --epsilon 0.5
    """
    from seepage.totals.stream import stream_leakage

    leakage = stream_leakage(reading.count_data(data), epsilon)
    head = (
        "How many times reports change the odds about the value of each step, assumed: "
        f"each value depends on the previous one only ({IN_NATS})"
    )
    console.write_result(
        leakage, lambda: f"{head}\n{console.aligned_columns(leakage._shown_columns())}"
    )
