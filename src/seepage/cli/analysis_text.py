"""Analyses as text for a terminal: verdict, leaks, matrix, totals, experience,
notes.
"""

import shutil
from collections.abc import Sequence
from typing import Any

from seepage._core.odds import (
    limit_and_odds,
    measured_odds,
    odds_above,
    odds_below,
    odds_cell,
)
from seepage._core.text import (
    delta_text,
    how_many,
    sample_caution,
    short_list,
)
from seepage.cli.console import aligned, constants
from seepage.cli.file_command import with_option_names

VIEWS = {
    "report": "the adversary keeps the whole report",
    "inferred": "the adversary keeps only the value inferred from the report",
}
"""What each view means."""


SHOWN_ATTRIBUTES = 40
"""Maximum number of rows of tables by attribute; a larger matrix is not printed."""


SHOWN_LEAKS = 10
"""Maximum number of leaks that are printed."""


FEW_ROWS = 4
"""Number of rows up to which a table is printed with all columns and rows."""


NAMED_ALIKE = 3
"""Maximum number of attributes that are named where their rows are alike."""


MAX_NAME = 24
"""Maximum number of characters of a name in a table."""


CELL_WIDTH = 4
"""Minimum number of characters of a cell of the matrix."""


IN_NATS = "the same in nats: --format json"
"""Where numbers stand in nats, as theory has them."""


def analysis_text(analysis: Any) -> str:
    """Return an analysis as text whose matrix fits into the terminal."""
    verdict = _verdict_text(analysis)
    width = shutil.get_terminal_size((120, 24)).columns
    parts = [
        _heading(analysis),
        verdict,
        _leaks_text(analysis),
        _matrix_text(analysis.matrix, width),
        _totals_text(analysis),
        _uncertainty_text(analysis),
    ]
    if analysis.experienced is not None:
        parts.append(_experience_text(analysis.experienced))
    parts.append(_notes_text(analysis))
    if not verdict:
        parts.append(analysis.verdict.settle)
    return "\n\n".join(part for part in parts if part)


def _heading(analysis: Any) -> str:
    """Return the first lines of an analysis's text: what was analysed, and how."""
    matrix = analysis.matrix
    names = sorted({release.name or "" for release in matrix.releases})
    mechanism = ", ".join(names)
    if names == [""]:
        mechanism = "any mechanism (upper bound)"
    ends = dict.fromkeys([matrix.epsilons.min(), matrix.epsilons.max()])
    epsilon = " to ".join(f"{budget:g}" for budget in ends)
    delta = delta_text(max(release.delta for release in matrix.releases))
    own = measured_odds(float(matrix.epsilons.max()))
    return (
        f"{analysis.name}: {how_many(matrix.pairs)}, {len(matrix.domain)} attributes\n"
        f"Mechanism: {mechanism}, epsilon {epsilon}{delta}: an answer changes the odds "
        f"between two values at most {own} times\n"
        f"View: {matrix.view} ({VIEWS[matrix.view]})\n"
        f"Odds are rounded to the safe side ({IN_NATS})"
    )


def _verdict_text(analysis: Any) -> str:
    """Return the verdict of an analysis as text, with a table of bounds by state of the
    limit; "" without limits.
    """
    from seepage.analysis.verdict import STATES

    verdict = analysis.verdict
    judged = list[Any]()
    for state in STATES:
        judged += [each for each in verdict.judgements if each.state == state]
    if not judged:
        return ""
    lines = [verdict.decision, verdict.basis, with_option_names(verdict.settle)]
    lines = [line for line in lines if line]
    rows = [
        ["", "limit", "at least", "at most", "but for delta", "probably", ""],
        *(_judgement_row(judgement) for judgement in judged),
    ]
    rows = _without_columns(rows, "-")
    lines += ["", LIMITS_HEAD, *_alike_as_sentences(rows)]
    return "\n".join(lines)


LIMITS_HEAD = (
    "Limits: how many times all reports of a person change the odds between two values"
)
"""What the table of limits states."""


def _judgement_row(judgement: Any) -> list[str]:
    """Return a row of an analysis's text on one limit: what holds for every report,
    what holds but for a delta, and the state.
    """
    at_least = "-"
    if judgement.at_least:
        at_least = f"{odds_below(judgement.lower)} {judgement.lower_by}"
    at_most = "unknown"
    if judgement.upper_by:
        at_most = f"{odds_above(judgement.upper)} {judgement.upper_by}"
    probably = "-"
    if judgement.state == "not certifiable" and judgement.probable is not None:
        probably = f"{odds_above(judgement.probable)} independent"
    but_for_delta = "-"
    if judgement.relaxed_by:
        relaxed = f"{odds_above(judgement.relaxed)} {judgement.relaxed_by}"
        but_for_delta = relaxed + delta_text(judgement.delta)
    return [
        _short(judgement.attribute),
        limit_and_odds(judgement.limit),
        at_least,
        at_most,
        but_for_delta,
        probably,
        judgement.standing,
    ]


def _without_columns(rows: Sequence[Sequence[str]], empty: str) -> list[list[str]]:
    """Return a table of an analysis's text without the columns in which all rows below
    the head are empty.
    """
    columns = list(zip(*rows, strict=True))
    kept = [column for column in columns if set(column[1:]) != {empty}]
    return [list(row) for row in zip(*kept, strict=True)]


def _alike_as_sentences(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of an analysis's table by attribute: what is the same in all
    rows of many as one sentence, and rows alike as one.
    """
    head = list(rows[0])
    body = [list(row) for row in rows[1:]]
    if len(body) <= FEW_ROWS:
        return [aligned(rows, most=SHOWN_ATTRIBUTES)]
    alike = list[str]()
    kept = [0]
    for place in range(1, len(head)):
        cells = {row[place] for row in body}
        if len(cells) > 1:
            kept.append(place)
            continue
        alike.append(f"{head[place]} {cells.pop()}".strip())
    lines = list[str]()
    if alike:
        lines.append(f"  each of {len(body)}: {', '.join(alike)}")
    if len(kept) > 1:
        table = [[row[place] for place in kept] for row in [head, *body]]
        lines.append(aligned(_rows_alike_as_one(table), most=SHOWN_ATTRIBUTES))
    return lines


def _rows_alike_as_one(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a table of an analysis's text in which many rows with the same cells are
    one row with the names of all.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, *cells in rows[1:]:
        groups.setdefault(tuple(cells), []).append(name)
    merged = [list(rows[0])]
    for row_cells, names in groups.items():
        if len(names) > FEW_ROWS:
            names = [short_list(names, NAMED_ALIKE)]
        merged += [[name, *row_cells] for name in names]
    return merged


def _leaks_text(analysis: Any) -> str:
    """Return the strongest leaks of an analysis as text, and what too few records or
    missing values hide.
    """
    from seepage.leakage.skip_patterns import skip_patterns
    from seepage.leakage.strongest_leaks import witness_records

    matrix = analysis.matrix
    leaks = analysis.leaks(SHOWN_LEAKS)
    lines = list[str]()
    for leak in leaks:
        lines += _leak_lines(leak, matrix)
    if matrix.pairs.pooled:
        head = (
            "Largest leakages of the table, values pooled (source -> target: how many "
            "times a report changes the odds)"
        )
        return "\n".join([head, *lines])
    intervals = matrix.interval()
    if len(matrix.domain) < 2:
        return ""
    if not leaks and intervals.lower.any():
        return ""
    condition = (
        f"confidence {intervals.confidence:g} for all intervals at once, "
        f"{intervals.condition}"
    )
    if leaks:
        count = f"{witness_records(matrix.pairs):,} records, missing ones left out"
        lines.append(f"  witnesses: among values with at least {count}")
    else:
        lines.append(
            f"  none is established: with {matrix.pairs.records:,} records all lower "
            "confidence limits are 0"
        )
    lines += [f"  {text}" for text in skip_patterns(matrix.pairs)[:SHOWN_LEAKS]]
    lines += _too_few_lines(intervals.too_few)
    return "\n".join(
        [
            "Strongest leaks (source -> target: how many times a report changes the "
            f"odds; {condition})",
            *lines,
        ]
    )


def _too_few_lines(too_few: Sequence[Any]) -> list[str]:
    """Return lines of an analysis's text on the attributes with too few records of some
    values.
    """
    lines = [f"  {few.sentence()}" for few in too_few[:SHOWN_LEAKS]]
    others = [few.attribute for few in too_few[SHOWN_LEAKS:]]
    if others:
        lines.append(
            f"  too few records to say about some values of {', '.join(others)} too"
        )
    return lines


def _leak_lines(leak: Any, matrix: Any) -> list[str]:
    """Return lines of an analysis's text on a leak with its interval, and its
    witness.
    """
    groups = [" = ".join(names) for names in (leak.sources, leak.targets) if names]
    ends = " -> ".join(groups) or f"{leak.source} -> {leak.target}"
    most = odds_above(float(matrix.epsilons[matrix.domain.index(leak.source)]))
    odds = f"{odds_above(leak.leakage)}{delta_text(leak.delta)}"
    line = f"  {ends}: {odds} of at most {most}"
    if leak.interval:
        line += (
            f", {odds_below(leak.lower)} to {odds_above(leak.upper)} in the population"
        )
    lines = [line]
    if leak.witness:
        lines.append(f"      {leak.sentence()}")
    return lines


def _matrix_text(matrix: Any, width: int) -> str:
    """Return the matrix of an analysis as text in blocks of columns that fit the width;
    "" if it is large.
    """
    names = [
        f"{k:>2} {_short(name)}" for k, name in enumerate(matrix.domain.names, start=1)
    ]
    if len(names) > SHOWN_ATTRIBUTES:
        return ""
    free = width - max(map(len, names)) - 2
    odds = [[odds_cell(value) for value in row] for row in matrix.values.tolist()]
    blocks = [
        "How many times a report changes the odds: rows are targets, columns are "
        "sources, numbered as the rows",
        *_matrix_blocks(names, odds, free),
    ]
    if matrix.deltas.any():
        deltas = [[_bare_delta(delta) for delta in row] for row in matrix.deltas]
        blocks += ["Delta of each leakage", *_matrix_blocks(names, deltas, free)]
    return "\n".join(blocks)


def _bare_delta(delta: float) -> str:
    """Return a delta of an analysis as text without a comma before it."""
    return delta_text(delta, 1).removeprefix(", delta ") or "0"


def _matrix_blocks(
    names: Sequence[str], cells: Sequence[Sequence[str]], free: int
) -> list[str]:
    """Return the matrix of an analysis as aligned blocks of at most so many columns."""
    widest = max(CELL_WIDTH, *(len(cell) for row in cells for cell in row))
    fitting = max(1, free // (widest + 2))
    blocks = list[str]()
    for start in range(0, len(names), fitting):
        sources = range(len(names))[start : start + fitting]
        rows = [["", *(str(source + 1) for source in sources)]]
        for target, name in enumerate(names):
            row = [cells[target][source] for source in sources]
            if target in sources:
                row[sources.index(target)] = "-"
            rows.append([name, *row])
        blocks.append(aligned(rows, narrowest=CELL_WIDTH))
    return blocks


def _totals_text(analysis: Any) -> str:
    """Return the totals of an analysis as a table by attribute and guarantee, with a
    legend.
    """
    from seepage.totals.guarantees import GUARANTEES
    from seepage.totals.total_result import odds_of_total

    comparison = analysis.totals
    matrix = analysis.matrix
    rows = [
        ["attribute", "own", *(f"{t.guarantee} ({t.kind})" for t in comparison.totals)]
    ]
    for k, release in enumerate(matrix.releases):
        name = matrix.domain.names[k]
        own = odds_above(float(release.epsilon))
        row = [_short(name), own + delta_text(release.delta)]
        for total in comparison.totals:
            cell = odds_of_total(total, k) + delta_text(total.deltas[k])
            if name in comparison.refuted.get(total.guarantee, ()):
                cell += " !"
            row.append(cell)
        rows.append(row)
    table = "table"
    if matrix.pairs.population is not None:
        table = "sample"
    legend = [
        f"  {t.guarantee}: {GUARANTEES[t.guarantee].meaning}{_terms(t)}"
        for t in comparison.totals
    ]
    if comparison.refuted:
        legend.append(f"  ! refuted: below what reports in this {table} say (witness)")
    head = (
        "How many times all reports of a person change the odds about each attribute "
        f"in this {table}"
    )
    legend += [
        f"  {name}: {with_option_names(why)}"
        for name, why in comparison.unavailable.items()
    ]
    return "\n".join([head, *_alike_as_sentences(rows), *legend])


def _terms(total: Any) -> str:
    """Return the largest delta and the confidence of a total in an analysis's text,
    where it has one.
    """
    terms = total.delta_text
    if total.confidence is not None:
        terms += f", confidence {total.confidence:g}"
    if not terms:
        return ""
    return f" ({terms.removeprefix(', ')})"


def _uncertainty_text(analysis: Any) -> str:
    """Return an analysis's leakages that grow most over the rows within the stated
    distances as text, and totals by distance; "" without any.
    """
    within = analysis.within
    if within is None:
        return ""
    matrix = analysis.matrix
    growth = within.values - matrix.values
    names = matrix.domain.names
    lines = [
        f"For all {within.uncertainty.words} (assumed; total variation): how many "
        "times the odds change"
    ]
    for place in growth.ravel().argsort(kind="stable")[::-1][:SHOWN_LEAKS].tolist():
        target, source = divmod(place, len(names))
        if growth[target, source] <= 0:
            break
        own = odds_above(float(matrix.values[target, source]))
        most = odds_above(float(within.values[target, source]))
        delta = delta_text(within.deltas[target, source])
        ends = f"{_short(names[source])} -> {_short(names[target])}"
        lines.append(f"  {ends}: {own} in the table, at most {most}{delta}")
    curve = analysis.uncertainty_curve()
    rows = [["rows within", *(f"{level:g}" for level in curve.distances)]]
    for label, values in (
        ("largest independent total", curve.totals),
        ("largest leakage", curve.largest),
        ("mean leakage", curve.mean),
    ):
        rows.append([label, *map(odds_above, values.tolist())])
    return "\n".join([*lines, aligned(rows)])


def _experience_text(experience: Any) -> str:
    """Return the realised losses of an analysis's people as text, the most affected
    attributes first.
    """
    from seepage.totals.experienced_loss import ESTIMATE

    rows = [
        ["", "promised", "median", "95%", "above", "unrelated", "before", "own", "all"]
    ]
    for k in experience.measured:
        losses = [experience.epsilons[k], *experience.quantiles[k, 1:3, ESTIMATE]]
        shares = [
            experience.shares[k, ESTIMATE],
            experience.permuted_shares[k],
            experience.before[k],
            experience.own[k, ESTIMATE],
            experience.together[k, ESTIMATE],
        ]
        row = [_short(experience.attributes[k])]
        row += [odds_above(float(loss)) for loss in losses]
        row += [f"{share:.0%}" for share in shares]
        rows.append(row)
    legend = (
        "promised: how many times the own answer changes the odds, at most; median, "
        "95%: how many times all reports did",
        "above: share of people with more than 1.1 epsilon; unrelated: on permuted "
        "columns",
        "before, own, all: how often the best guess is right (before: in the table)",
        "each person's own record is left out of what the reports are compared with",
        f"values with fewer than {experience.rare:,} other records are not compared; "
        f"limits of {experience.confidence:.0%} confidence: --format json",
    )
    head = f"What people experience ({experience.people:,} drawn people; no guarantee)"
    table = aligned(rows, most=SHOWN_ATTRIBUTES)
    return "\n".join([head, table, *(f"  {line}" for line in legend)])


def _notes_text(analysis: Any) -> str:
    """Return the notes of an analysis as text."""
    from seepage.leakage.equivalent_attributes import same_attributes

    matrix = analysis.matrix
    notes = [
        f"{' and '.join(names)} determine each other: one finding"
        for names in same_attributes(matrix.pairs)
    ]
    notes += constants(matrix.domain)
    if any(matrix.smoothing.values()):
        notes.append(
            f"smoothed by {matrix.smoothing}: leakages may be below the table's own"
        )
    caution = sample_caution(matrix.pairs)
    if caution is not None:
        notes.append(f"leakages, and all totals but worst, are {caution}")
    for total in analysis.totals.totals:
        for note in total.notes:
            is_caution = caution is not None and caution in note
            if not is_caution and note not in notes:
                notes.append(note)
    return "\n".join(notes)


def _short(name: str) -> str:
    """Return a name cut to the width that an analysis's tables have for it."""
    if len(name) <= MAX_NAME:
        return name
    return name[: MAX_NAME - 1] + "…"
