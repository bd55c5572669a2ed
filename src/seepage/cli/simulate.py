"""`seepage simulate`: leakages estimated from a simulated collection."""

from pathlib import Path
from typing import Any

import click

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.odds import odds_above, odds_below
from seepage._core.progress import progress_bar
from seepage.cli import console, options, reading
from seepage.cli.file_command import FileCommand
from seepage.cli.keywords import explicit_keywords
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE

SHOWN_PAIRS = 20
"""Maximum number of pairs in the table, largest estimates first; JSON and CSV have
all."""


@click.command("simulate", cls=FileCommand)
@click.argument("data")
@click.option(
    "-e",
    "--epsilon",
    type=NUMBER_TYPE,
    default=1.0,
    help="The budget of each attribute.",
)
@click.option("-m", "--mechanism", default="grr", help="The mechanism.")
@options.DELTA
@click.option(
    "--replicas", type=INTEGER_TYPE, default=50, help="Number of reports per record."
)
@click.option(
    "--surrogates",
    type=INTEGER_TYPE,
    default=10_000,
    help="Permutations for p-values; 0: none.",
)
@click.option(
    "--seed",
    "rng",
    type=options.SEED,
    help="Seed of the run; drawn and printed by default.",
)
@click.option(
    "--pair",
    multiple=True,
    metavar="SOURCE->TARGET",
    help="Only this; may be repeated.",
)
@click.option(
    "--confidence", type=NUMBER_TYPE, default=0.95, help="Confidence of intervals."
)
@options.RESULT
@options.TABLE
def simulate(
    data: str, epsilon: float, mechanism: str, pair: tuple[str, ...], **_: Any
) -> None:
    """Estimate the leakages of DATA from a simulated collection, with their
    uncertainty.

    Every record reports REPLICAS times; an attacker guesses each value.  Beside the
    paper's plug-in estimate, which is biased upward: a corrected one, an interval, and
    a p-value.

    \b
    Examples:
      seepage simulate adult --mechanism oue --seed 7
      seepage simulate adult --pair "occupation->sex" --surrogates 1000
      seepage simulate survey.csv -e 2 --format csv -o estimates.csv
    """
    from seepage.benchmarks.statistical.estimate_leakage import estimate_leakage

    checks.epsilon(epsilon)
    counts = reading.count_data(data)
    keywords = explicit_keywords(
        ["delta", "replicas", "surrogates", "rng", "confidence"]
    )
    with progress_bar("simulating") as progress:
        estimates = estimate_leakage(
            counts,
            epsilon,
            mechanism=mechanism,
            pairs=[_pair(text) for text in pair] or None,
            progress=progress,
            **keywords,
        )
    used = f"{mechanism}, epsilon {epsilon:g}"
    delta = max((estimate.delta for estimate in estimates), default=0.0)
    if delta:
        used += f", delta {delta:g}"
    console.write_result(
        estimates, lambda: _estimates_text(estimates, Path(data).name, used)
    )


def _pair(text: str) -> tuple[str, str]:
    """Return the (target, source) to simulate of SOURCE->TARGET."""
    source, arrow, target = text.partition("->")
    if not arrow:
        raise InputError(f"--pair must be SOURCE->TARGET, got {text!r}")
    return target.strip(), source.strip()


def _estimates_text(estimates: Any, name: str, used: str) -> str:
    """Return the largest simulated estimates as text, with the mechanism that was used
    and what to take care of.
    """
    estimated = estimates.to_arrow().to_pylist()
    settings = estimates.settings
    estimated.sort(key=lambda row: -row["corrected"])
    level = f"{settings.confidence:.4%}".replace(".0000", "")
    rows = [["source -> target", "corrected", level, "plug-in", "p"]]
    careful = []
    for row in estimated:
        pair = f"{row['source']} -> {row['target']}"
        interval = f"{odds_below(row['lower'])} to {odds_above(row['upper'])}"
        chance = f"{row['p_value']:.2g}" if settings.surrogates else "-"
        corrected = odds_above(row["corrected"])
        rows.append([pair, corrected, interval, odds_above(row["plug_in"]), chance])
        if row["cautions"] and len(rows) <= SHOWN_PAIRS + 1:
            careful.append(f"  {pair}: {row['cautions']}")
    lines = [
        f"{name}: how many times a report of {used} changes the odds, estimated from "
        f"{settings.replicas} reports per record, seed {settings.rng}; view: inferred; "
        "intervals for the table (the same in nats: --format json)",
        console.aligned(rows, most=SHOWN_PAIRS),
    ]
    if settings.surrogates:
        lines.append(
            f"  p-values are of one pair each: {len(estimated)} of them, none below "
            f"{1 / (1 + settings.surrogates):.2g} with {settings.surrogates:,} "
            "surrogates"
        )
    return "\n".join([*lines, *(["Take care:"] if careful else []), *careful])
