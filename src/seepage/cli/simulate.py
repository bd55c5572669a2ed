"""`seepage simulate`: leakage estimated from a simulated collection."""

from pathlib import Path
from typing import Any

import click

from seepage import _checks
from seepage.cli.inputs import read_pairs
from seepage.cli.options import BUDGET, SEED, output_options, table_arguments, table_options
from seepage.cli.output import FileCommand, emit, progress_bar
from seepage.errors import InputError

__all__ = ["command"]

SHOWN = 20
"""Pairs in the table, the largest estimates first; all of them in JSON and CSV."""


@click.command("simulate", cls=FileCommand)
@click.argument("data")
@BUDGET
@click.option("-m", "--mechanism", default="grr", show_default=True, help="The mechanism.")
@click.option(
    "--replicas", type=int, default=50, show_default=True, help="How often each record reports."
)
@click.option(
    "--surrogates",
    type=int,
    default=10_000,
    show_default=True,
    help="Independent tables drawn for p-values; 0: none.",
)
@click.option("--seed", type=SEED, help="Repeat a run; drawn and printed by default.")
@click.option(
    "--view",
    type=click.Choice(["inferred", "report"]),
    default="inferred",
    show_default=True,
    help="What the adversary keeps: the inferred value (the paper's attacker) or the report.",
)
@click.option(
    "--pair", multiple=True, metavar="SOURCE->TARGET", help="Only this pair; may be repeated."
)
@click.option("--population", is_flag=True, help="Ask about the population that DATA are from.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of intervals.")
@output_options
@table_options
def command(data: str, form: str, output: str | None, **options: Any) -> None:
    """Estimate the leakages of DATA from a simulated collection, with their uncertainty.

    Every record reports REPLICAS times; an attacker guesses each value.  Beside the paper's
    plug-in estimate, which is biased upward: a corrected one, an interval, and a p-value, also
    adjusted for the number of pairs (Holm).

    \b
    Examples:
      seepage simulate adult --mechanism oue --seed 7
      seepage simulate adult --pair "occupation->sex" --surrogates 1000
      seepage simulate survey.csv -e 2 --format csv -o estimates.csv
    """
    from seepage.study.statistical import estimate_leakage

    _checks.epsilon(options["epsilon"])
    pairs = read_pairs(data, table_arguments(options))
    chosen = [_pair(text) for text in options.pop("pair")] or None
    with progress_bar("simulating") as progress:
        found = estimate_leakage(
            pairs,
            options.pop("epsilon"),
            pairs=chosen,
            progress=progress,
            **options,
        )
    emit(_formatted(found, Path(data).name, form), output)


def _pair(text: str) -> tuple[str, str]:
    """Return (target, source) of SOURCE->TARGET."""
    source, arrow, target = text.partition("->")
    if not arrow:
        raise InputError(f"--pair must be SOURCE->TARGET, got {text!r}")
    return target.strip(), source.strip()


def _formatted(found: Any, name: str, form: str) -> str:
    if form == "csv":
        return str(found.to_csv())
    columns: dict[str, list[Any]] = found.to_arrow().to_pydict()
    settings = found.settings
    if form == "json":
        from seepage._results import json_text

        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        kept = ("seed", "replicas", "view", "confidence", "population")
        return json_text({**{name: getattr(settings, name) for name in kept}, "estimates": rows})
    return _table(columns, settings, name)


def _table(columns: dict[str, list[Any]], settings: Any, name: str) -> str:
    from seepage.cli.output import columns as in_columns

    order = sorted(range(len(columns["target"])), key=lambda i: -columns["corrected"][i])
    shown = order[:SHOWN]
    percent = f"{100 * settings.confidence:g}%"
    rows = [["source -> target", "corrected", percent, "plug-in", "p (Holm)"]]
    rows += [
        [
            f"{columns['source'][i]} -> {columns['target'][i]}",
            f"{columns['corrected'][i]:.4f}",
            f"{columns['lower'][i]:.4f} to {columns['upper'][i]:.4f}",
            f"{columns['plug_in'][i]:.4f}",
            f"{columns['holm'][i]:.2g}" if settings.surrogates else "-",
        ]
        for i in shown
    ]
    cautions = [
        f"  {columns['source'][i]} -> {columns['target'][i]}: {columns['cautions'][i]}"
        for i in shown
        if columns["cautions"][i]
    ]
    of = "the population" if settings.population else "the table"
    lines = [
        f"{name}: leakage (nats) estimated from {settings.replicas} reports a record, seed "
        f"{settings.seed}; view: {settings.view}; intervals for {of}",
        in_columns(rows),
    ]
    if len(order) > SHOWN:
        lines.append(f"  ... and {len(order) - SHOWN} more pairs (--format csv has them all)")
    if settings.surrogates:
        least = min(1.0, len(order) / (1 + settings.surrogates))
        lines.append(
            f"  Holm's p-values of {len(order)} pairs cannot fall below {least:.2g} with "
            f"{settings.surrogates:,} surrogates"
        )
    if cautions:
        lines += ["Take care:", *cautions]
    return "\n".join(lines)
