"""Analyses, calibrations and designs as text for a terminal."""

import math
from collections.abc import Iterator
from dataclasses import replace

from seepage._numerics import delta_text
from seepage.analysis import Analysis
from seepage.cli.output import option_names, text_columns
from seepage.data.domain import how_many, sample_caution
from seepage.errors import naming
from seepage.leakage.intervals import LeakageIntervals
from seepage.leakage.leaks import same_attributes, skip_patterns, support
from seepage.leakage.matrix import LeakageMatrix
from seepage.totals.experienced import ESTIMATE, Experience
from seepage.totals.result import GUARANTEES, TotalLeakage
from seepage.verdict import STATES, Judgement, lower_text, total_text, upper_text

VIEWS = {
    "report": "the adversary keeps the whole report",
    "inferred": "the adversary keeps only the value inferred from the report",
}
SHOWN_ATTRIBUTES = 40
"""Rows of tables by attribute; the matrix of more attributes is not printed."""
MAX_NAME = 24
CELL_WIDTH = 6
"""Characters of a cell of the matrix."""

UNIT = f"1 nat: {math.e:.2g} times likelier"
"""Explanation of the unit, printed where nats first occur."""


def analysis_text(analysis: Analysis, name: str, strongest: int, width: int) -> str:
    """Return an analysis as text whose matrix fits into `width` characters."""
    matrix = analysis.matrix
    parts = [
        _heading(matrix, name),
        _verdict_text(analysis),
        _leaks_text(analysis, strongest),
        _matrix_text(matrix, width),
        _totals_text(analysis),
        "" if analysis.experienced is None else _experience_text(analysis.experienced),
        _notes_text(analysis),
    ]
    return "\n\n".join(part for part in parts if part)


def _heading(matrix: LeakageMatrix, name: str) -> str:
    mechanisms = sorted({release.name or "" for release in matrix.releases})
    how = "any mechanism (upper bound)" if mechanisms == [""] else ", ".join(mechanisms)
    budgets = sorted({release.epsilon for release in matrix.releases})
    epsilon = " to ".join(f"{budget:g}" for budget in dict.fromkeys([budgets[0], budgets[-1]]))
    return (
        f"{name}: {how_many(matrix.pairs)}, {len(matrix.domain)} attributes\n"
        f"Mechanism: {how}, epsilon {epsilon}"
        f"{delta_text(max(release.delta for release in matrix.releases))}\n"
        f"View: {matrix.view} ({VIEWS[matrix.view]})"
    )


def _verdict_text(analysis: Analysis) -> str:
    """Return the verdict and a table of bounds by state of the limit; "" without limits."""
    verdict = analysis.verdict
    judged = [j for state in STATES for j in verdict.judgements if j.state == state]
    if not judged:
        return ""
    lines = [verdict.decision, verdict.basis, naming(verdict.settle, option_names())]
    relaxed = any(judgement.relaxed_by for judgement in judged)
    rows = [["", "limit", "at least", "at most", *(["but for delta"] if relaxed else []), ""]]
    rows += [[_short(j.attribute), *_judgement_cells(j, relaxed)] for j in judged]
    table = text_columns(rows, most=SHOWN_ATTRIBUTES)
    head = f"Limits (nats; {UNIT})"
    return "\n".join([*(line for line in lines if line), "", head, table])


def _judgement_cells(j: Judgement, relaxed: bool) -> list[str]:
    """Return limit, what holds for every report, what holds but for a delta, and the state."""
    lower, upper = j.texts
    upper = f"{upper} {j.upper_by}" if j.upper_by else "unknown"
    rest = f"{upper_text(j.relaxed)} {j.relaxed_by}{delta_text(j.delta)}" if j.relaxed_by else "-"
    certain = [f"{j.limit:g}", f"{lower} {j.lower_by}", upper]
    return [*certain, *([rest] if relaxed else []), str(j.state)]


def _leaks_text(analysis: Analysis, count: int) -> str:
    """Return the leaks with the largest lower confidence limits for the population."""
    matrix = analysis.matrix
    if not count or len(matrix.domain) < 2:
        return ""
    budgets = dict(zip(matrix.domain.names, matrix.epsilons, strict=True))
    if matrix.pairs.pooled:
        return _pooled_text(matrix, budgets, count)
    lines = []
    for leak in analysis.leaks(count):
        ends = f"{' = '.join(leak.sources)} -> {' = '.join(leak.targets)}"
        lines.append(
            f"  {ends}: {leak.leakage:.2f}{delta_text(leak.delta)} of at most "
            f"{budgets[leak.source]:.2f}, {lower_text(leak.lower)} to {upper_text(leak.upper)} "
            "in the population"
        )
        lines += [f"      {leak.sentence()}"] if leak.witness else []
    intervals = matrix.interval()
    if not lines and intervals.lower.any():
        return ""
    unit = "" if analysis.limit is not None else f"; {UNIT}"
    about = f"confidence {intervals.confidence:g} for all intervals at once"
    about += f", {intervals.condition}"
    head = f"Strongest leaks (source -> target, in nats{unit}; {about})"
    if lines:
        lines.append(
            f"  witnesses: among values with at least {support(matrix):,} records, "
            "missing ones left out"
        )
    else:
        records = f"{matrix.pairs.records:,} records"
        lines.append(f"  none is established: with {records} all lower confidence limits are 0")
    skips = [f"  {text}" for text in skip_patterns(matrix.pairs)[:count]]
    return "\n".join([head, *lines, *skips, *_too_few(intervals, count)])


def _too_few(intervals: LeakageIntervals, count: int) -> Iterator[str]:
    """Yield a line for each of the first `count` attributes with rare values, one for the rest."""
    for few in intervals.too_few[:count]:
        yield f"  {few.sentence()}"
    if others := [few.attribute for few in intervals.too_few[count:]]:
        yield f"  too few records to say about some values of {', '.join(others)} too"


def _pooled_text(matrix: LeakageMatrix, budgets: dict[str, float], count: int) -> str:
    lines = []
    for leak in matrix.strongest(count):
        ends = f"{leak.source} -> {leak.target}"
        told = f"{leak.leakage:.2f}{delta_text(leak.delta)}"
        lines.append(f"  {ends}: {told} of at most {budgets[leak.source]:.2f}")
        evidence = replace(leak, witness=matrix[leak.target, leak.source].witness)
        lines += [f"      {evidence.sentence()}"] if evidence.witness else []
    head = "Largest leakages of the table, values pooled (source -> target, in nats)"
    return "\n".join([head, *lines])


def _matrix_text(matrix: LeakageMatrix, width: int) -> str:
    """Return the matrix in blocks of columns that fit the width; "" if it is large."""
    if len(matrix.domain) > SHOWN_ATTRIBUTES:
        return ""
    names = [
        f"{number:>2} {_short(name)}" for number, name in enumerate(matrix.domain.names, start=1)
    ]
    stub = max(map(len, names))
    fitting = max(1, (width - stub - 2) // CELL_WIDTH)
    shown = {"Leakage (nats): rows are targets, columns are sources, numbered as the rows": False}
    if matrix.deltas.any():
        shown["Delta of each leakage"] = True
    blocks = []
    for heading, deltas in shown.items():
        blocks.append(heading)
        for start in range(0, len(names), fitting):
            sources = range(start, min(start + fitting, len(names)))
            header = " " * (stub + 2) + "".join(f"{source + 1:>{CELL_WIDTH}}" for source in sources)
            lines = [
                f"  {name:<{stub}}" + "".join(_cell(matrix, target, s, deltas) for s in sources)
                for target, name in enumerate(names)
            ]
            blocks.append("\n".join([header, *lines]))
    return "\n".join(blocks)


def _cell(matrix: LeakageMatrix, target: int, source: int, delta: bool = False) -> str:
    if target == source:
        return f"{'-':>{CELL_WIDTH}}"
    if delta:
        return f"{delta_text(matrix.deltas[target, source], 1)[8:] or '0':>{CELL_WIDTH}}"
    return f"{matrix.values[target, source]:>{CELL_WIDTH}.2f}"


def _totals_text(analysis: Analysis) -> str:
    """Return a table of totals by attribute and guarantee, with a legend."""
    comparison = analysis.totals
    rows = [["attribute", "own", *(f"{t.guarantee} ({t.kind})" for t in comparison.totals)]]
    for index, attribute in enumerate(analysis.matrix.domain.names):
        cells = [total_text(t, index) + delta_text(t.deltas[index]) for t in comparison.totals]
        for position, total in enumerate(comparison.totals):
            if attribute in comparison.refuted.get(total.guarantee, ()):
                cells[position] += " !"
        own = f"{analysis.matrix.epsilons[index]:.2f}"
        own += delta_text(analysis.matrix.releases[index].delta)
        rows.append([_short(attribute), own, *cells])
    table = "table" if analysis.matrix.pairs.population is None else "sample"
    legend = [
        f"  {t.guarantee}: {GUARANTEES[t.guarantee].meaning}{_terms(t)}" for t in comparison.totals
    ]
    if comparison.refuted:
        legend.append(f"  ! refuted: below what reports in this {table} say (witness)")
    head = f"Total leakage of each attribute in this {table} (nats)"
    names = option_names()
    legend += [f"  {name}: {naming(why, names)}" for name, why in comparison.unavailable.items()]
    return "\n".join([head, text_columns(rows, most=SHOWN_ATTRIBUTES), *legend])


def _terms(total: TotalLeakage) -> str:
    """Return the largest delta and the confidence of a total, where it has one."""
    sure = "" if total.confidence is None else f", confidence {total.confidence:g}"
    return f" ({(total.delta_text + sure)[2:]})" if total.delta_text + sure else ""


def _experience_text(experience: Experience) -> str:
    """Return the realised losses of drawn people, the most affected attributes first."""
    rows = [["", "promised", "median", "95%", "above", "unrelated", "before", "own", "all"]]
    order = sorted(
        experience.measured,
        key=lambda k: experience.permuted_shares[k] - experience.shares[k, ESTIMATE],
    )
    for k in order:
        losses = [f"{experience.quantiles[k, level, ESTIMATE]:.2f}" for level in (1, 2)]
        shares = (
            experience.shares[k, ESTIMATE],
            experience.permuted_shares[k],
            experience.before[k],
        )
        guesses = (experience.own[k, ESTIMATE], experience.together[k, ESTIMATE])
        percent = [f"{share:.0%}" for share in (*shares, *guesses)]
        rows.append(
            [_short(experience.attributes[k]), f"{experience.epsilons[k]:.2f}", *losses, *percent]
        )
    return "\n".join(
        [
            f"What people experience ({experience.people:,} drawn people; no guarantee)",
            text_columns(rows, most=SHOWN_ATTRIBUTES),
            "  promised: epsilon; median, 95%: realised loss of all reports, in nats",
            "  above: share of people with more than 1.1 epsilon; unrelated: on permuted columns",
            "  before, own, all: how often the best guess is right (before: in the table)",
            "  each person's own record is left out of what the reports are compared with",
            f"  values with fewer than {experience.rare:,} other records are not compared; "
            f"limits of {experience.confidence:.0%} confidence: --format json",
        ]
    )


def _notes_text(analysis: Analysis) -> str:
    matrix = analysis.matrix
    notes = [
        f"{' and '.join(names)} determine each other: one finding"
        for names in same_attributes(matrix)
    ]
    notes += [
        f"{attribute.name} is constant (always {attribute.values[0]}): it leaks nothing"
        for attribute in matrix.domain
        if attribute.size == 1
    ]
    if any(matrix.smoothing.values()):
        notes.append(f"smoothed by {matrix.smoothing}: leakages may be below the table's own")
    caution = sample_caution(matrix.pairs)
    if caution is not None:
        notes.append(f"leakages, and all totals but worst, are {caution}")
    distinct = dict.fromkeys(note for total in analysis.totals.totals for note in total.notes)
    notes += [note for note in distinct if caution is None or caution not in note]
    return "\n".join(notes)


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


# Plans -------------------------------------------------------------------------------------------
