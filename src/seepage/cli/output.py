"""Files that a command reads and writes, looked at before any work; results in whole files.

Results as text for a terminal.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from seepage._files import whole_file, writable
from seepage._results import Progress
from seepage.analysis import Analysis
from seepage.data.domain import how_many, sample_caution
from seepage.errors import InputError, SeepageError, TableError
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.pooling_gain import pooling_gain
from seepage.totals import TotalLeakage

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that move a terminal's cursor or turn its text; tabs and line feeds are not."""


def emit(text: str, output: str | None) -> None:
    """Write text to the screen, or to a file that appears whole or not at all.

    On a terminal control characters, which names may hold, are shown escaped.
    """
    if output is None:
        if sys.stdout is not None and sys.stdout.isatty():
            text = CONTROL.sub(lambda c: c[0].encode("unicode_escape").decode("ascii"), text)
        click.echo(text.rstrip("\n"), color=True)  # or Click would take escape sequences out
        return
    with whole_file(output) as file:
        file.write((text.rstrip("\n") + "\n").encode())


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Give a callable that shows progress with the time left; None when not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    import rich.progress as bars
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    text = TextColumn("{task.description}")
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        show.describe = lambda text: bar.update(task, description=text)  # type: ignore[attr-defined]
        yield show


def columns(rows: Sequence[Sequence[str]], indent: str = "  ", left: bool = False) -> str:
    """Return rows of text in columns: the first to the left, the others right unless `left`."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width in zip(others, widths[1:], strict=True)
        ]
        lines.append(indent + "  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


READ = ("data", "counts", "reports", "result", "plan", "plan_path", "domain", "transitions")
"""Parameters that name what is read.  Not `check`: a plan is certified again in its place."""


class OutputFile(click.Path):
    """A file to write, as `writable` has it, in a folder that permits it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path if a file can be written there."""
        place = writable(value, param.opts[-1] if param is not None else "the output")
        if not os.access(place.parent, os.W_OK):
            raise InputError(f"cannot write {value!r}: its folder does not permit it")
        return str(value)


FORCED = "seepage.force"
FORCE = click.Option(
    ["--force"],
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, _, value: ctx.meta.update({FORCED: value}),
    help="Replace a file that seepage did not write.",
)
OUR_WORDS = re.compile(
    rb"seepage|\b(leakage|cpl|plug_in|standard.error|undershoot|tcpl|backward)\b"
    rb"|records, \d+ attributes|joint frequencies"
)
"""What our files say near their beginning or end, and hardly a dataset does in its first line."""

PICTURES = {b"\x89PNG": ".png", b"%PDF": ".pdf", b"<svg": ".svg"}
LOOKED_AT = 1 << 16


def _may_be_replaced(path: Path) -> bool:
    """Return whether a path is free, or is an earlier output as far as its content tells.

    Parquet, JSON and HTML that we write names seepage; CSV and text are known by the words of
    their first line, pictures by being pictures.
    """
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        head = file.read(LOOKED_AT)
        file.seek(max(0, path.stat().st_size - LOOKED_AT))
        tail = file.read()
    if head.startswith((b"PAR1", b"{", b"<!doctype html>")):
        return b"seepage" in head or b"seepage" in tail
    if any(head.startswith(mark) and path.suffix == end for mark, end in PICTURES.items()):
        return True
    return OUR_WORDS.search(head.partition(b"\n")[0]) is not None


class FileCommand(click.Command):
    """A command that raises before it reads a file without a name or writes over what it reads.

    Messages of the library name the command's options.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if any(isinstance(param.type, OutputFile) for param in self.params):
            self.params.append(FORCE)

    def invoke(self, ctx: click.Context) -> Any:
        """Look at the files, then run."""
        if sys.stdout is None and ctx.params.get("output", "none needed") is None:
            raise InputError("standard output is closed, so --output must be given")
        given = [name for param in self.params if (name := param.name) in READ]
        read = [path for name in given for path in _paths(ctx.params[name])]
        if "" in read:
            raise InputError("what is read must have a name, got ''")
        outputs = [
            ctx.params[param.name]
            for param in self.params
            if isinstance(param.type, OutputFile) and param.name and ctx.params[param.name]
        ]
        for number, output in enumerate(outputs):
            if output in outputs[:number]:
                raise InputError(f"two results cannot be written to one file, got {output!r} twice")
            if Path(output).exists() and any(
                file.samefile(output) for path in read for file in files_behind(path)
            ):
                raise InputError(f"the output must not be what is read, got {output!r} for both")
            if not ctx.meta.get(FORCED) and not _may_be_replaced(Path(output)):
                raise InputError(
                    f"{output!r} exists, and nothing in it says that seepage wrote it; "
                    "--force replaces it"
                )
        try:
            return super().invoke(ctx)
        except SeepageError as problem:
            raise InputError(_in_options(str(problem), self.params)) from problem


def _in_options(message: str, params: Sequence[click.Parameter]) -> str:
    """Return a message of the library with the command's option in place of the parameter.

    Library messages begin with the parameter that they are about: `epsilon must be ...`.
    """
    word, space, rest = message.partition(" ")
    options = {param.name: param.opts[-1] for param in params if isinstance(param, click.Option)}
    name = {"missing_markers": "missing_marker", "guarantees": "totals"}.get(word, word)
    return f"{options[name]}{space}{rest}" if name in options else message


def _paths(value: Any) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def files_behind(path: str) -> list[Path]:
    """Return the files that are read for a path: itself, or a table's data files behind it."""
    from seepage.data.table.sources import find_files

    if Path(path).is_file():
        return [Path(path)]
    try:
        return find_files(path)[1]
    except TableError:
        return []


VIEWS = {
    "report": "the adversary keeps the whole report",
    "inferred": "the adversary keeps only the value inferred from the report",
}
ROBUST = (
    "Robust bounds: the most over channels with rows within {:g} of the table's (total variation)"
)
LONGEST_NAME = 24
CELL = 6
WORTH_POOLING = 0.01
"""The share of all leakages that pooling must take away to be mentioned."""

RARE = 10
"""Target values seen fewer times are named: a leakage that rests on them may be chance."""


def analysis_text(analysis: Analysis, name: str, strongest: int, width: int) -> str:
    """Return an analysis in words, the matrix as a table, and the totals."""
    matrix = analysis.matrix
    parts = [
        _heading(matrix, name),
        _strongest(matrix, strongest),
        _matrix_text(matrix, width),
        _totals(analysis),
        _notes(analysis),
    ]
    return "\n\n".join(part for part in parts if part)


def _heading(matrix: LeakageMatrix, name: str) -> str:
    mechanisms = sorted({release.name or "" for release in matrix.releases})
    how = "any mechanism (upper bound)" if mechanisms == [""] else ", ".join(mechanisms)
    budgets = sorted({release.epsilon for release in matrix.releases})
    epsilon = " to ".join(f"{budget:g}" for budget in dict.fromkeys([budgets[0], budgets[-1]]))
    return (
        f"{name}: {how_many(matrix.pairs)}, {len(matrix.domain)} attributes\n"
        f"Mechanism: {how}, epsilon {epsilon}\n"
        f"View: {matrix.view} ({VIEWS[matrix.view]})"
        + (f"\n{ROBUST.format(matrix.radius)}" if matrix.radius else "")
    )


def _strongest(matrix: LeakageMatrix, count: int) -> str:
    """Return the leaks with the largest lower limits for the people behind the table."""
    budgets = dict(zip(matrix.domain.names, matrix.epsilons, strict=True))
    limits = matrix.interval()
    lines = [
        f"  {leak.source} -> {leak.target}: {leak.leakage:.2f} of at most "
        f"{budgets[leak.source]:.2f}, {leak.lower:.2f} to {leak.upper:.2f} among the people"
        + _because(matrix, leak.source, leak.target, leak.leakage)
        for leak in limits.strongest(count)
    ]
    if not lines:
        return ""
    about = f"confidence {limits.confidence:g} for all limits at once"
    lines += [f"  {few.sentence()}" for few in limits.too_few]
    return "\n".join([f"Strongest leaks (source -> target, in nats; {about})", *lines])


def _because(matrix: LeakageMatrix, source: str, target: str, value: float) -> str:
    witness = matrix[target, source].witness
    if witness is None:
        return ""
    counts = dict(zip(matrix.domain[target].values, matrix.pairs.marginal(target), strict=True))
    rare = [
        f"{target} {label} was seen {'once' if counts[label] == 1 else f'{counts[label]} times'}"
        for label in map(str, (witness.likelier, witness.other))
        if counts[label] < RARE
    ]
    sentence = witness.sentence(value, source, target)
    return f"\n      {sentence}" + (f" ({'; '.join(rare)})" if rare else "")


def _matrix_text(matrix: LeakageMatrix, width: int) -> str:
    """Return the matrix in blocks of columns that fit the width."""
    names = [
        f"{number:>2} {_short(name)}" for number, name in enumerate(matrix.domain.names, start=1)
    ]
    stub = max(map(len, names))
    fitting = max(1, (width - stub - 2) // CELL)
    blocks = ["Leakage (nats): rows are targets, columns are sources, numbered as the rows"]
    for begin in range(0, len(names), fitting):
        sources = range(begin, min(begin + fitting, len(names)))
        header = " " * (stub + 2) + "".join(f"{source + 1:>{CELL}}" for source in sources)
        lines = [
            f"  {name:<{stub}}" + "".join(_cell(matrix, target, source) for source in sources)
            for target, name in enumerate(names)
        ]
        blocks.append("\n".join([header, *lines]))
    return "\n".join(blocks)


def _cell(matrix: LeakageMatrix, target: int, source: int) -> str:
    if target == source:
        return f"{'-':>{CELL}}"
    return f"{matrix.values[target, source]:>{CELL}.2f}"


RESTS_ON = {
    "exact": "the most telling of all report tuples, in this {table}",
    "merged": "all sources taken as one, in this {table}",
    "worst": "the sum of all budgets, whatever the data",
    "sampled": "from reports drawn at random, with a delta and a confidence",
    "tree": "an assumption: valid only if the data follow the given structure",
    "independent": "the paper's sum; an assumption: valid only if sources are independent given "
    "the target; real data often violate it",
    "witness": "the most telling reports that a search found; no total of this {table} with "
    "delta 0 is below it",
}
"""What each kind of total rests on, in words: of a whole table, or of a sample."""


def _totals(analysis: Analysis) -> str:
    """Return each attribute's totals, with what each of them rests on."""
    found = analysis.totals
    rows = [["attribute", "own", *(f"{t.guarantee} ({t.kind})" for t in found.totals)]]
    for index, attribute in enumerate(analysis.matrix.domain.names):
        cells = [f"{total.values[index]:.2f}" for total in found.totals]
        for position, total in enumerate(found.totals):
            if attribute in found.refuted.get(total.guarantee, ()):
                cells[position] += " !"
        rows.append([_short(attribute), f"{analysis.matrix.epsilons[index]:.2f}", *cells])
    table = "table" if analysis.matrix.pairs.population is None else "sample"
    legend = [
        f"  {t.guarantee}: {RESTS_ON[t.guarantee].format(table=table)}{_terms(t)}"
        for t in found.totals
    ]
    if found.refuted:
        legend.append(f"  ! refuted: below what reports in this {table} say (witness)")
    legend += [f"  {name}: {reason}" for name, reason in found.refused.items()]
    return "\n".join(["What each attribute gives away in total (nats)", columns(rows), *legend])


def _terms(total: TotalLeakage) -> str:
    """Return delta and confidence of a statistical total, in words."""
    if total.confidence is None:
        return ""
    return f" (delta {total.deltas.max():g}, confidence {total.confidence:g})"


def _notes(analysis: Analysis) -> str:
    matrix = analysis.matrix
    notes = [
        f"{attribute.name} is constant (always {attribute.values[0]}): it leaks nothing"
        for attribute in matrix.domain
        if attribute.size == 1
    ]
    if any(matrix.smoothing.values()):
        notes.append(f"smoothed by {matrix.smoothing}: leakages may be below the table's own")
    caution = sample_caution(matrix.pairs)
    if caution is not None:
        notes.append(f"leakages, and all totals but worst, are {caution}")
    told = dict.fromkeys(note for total in analysis.totals.totals for note in total.notes)
    notes += [note for note in told if caution is None or caution not in note]
    gain = pooling_gain(matrix)
    if gain is not None and gain.before - gain.after >= WORTH_POOLING * gain.before:
        notes.append(gain.sentence())
    return "\n".join(notes)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
