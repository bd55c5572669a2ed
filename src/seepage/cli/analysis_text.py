"""Analyses, calibrations and designs as text for a terminal."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from seepage._numerics import ceiling_text, delta_text, floor_text, shortest_above
from seepage.analysis import Analysis
from seepage.cli.output import option_names, text_columns
from seepage.data.domain import how_many, sample_caution
from seepage.errors import naming
from seepage.leakage.intervals import LeakageIntervals
from seepage.leakage.leaks import same_attributes, support
from seepage.leakage.matrix import LeakageMatrix
from seepage.totals.experienced import ESTIMATE, Experience
from seepage.totals.result import GUARANTEES, TotalLeakage
from seepage.verdict import STATES, Judgement, lower_text, total_text, upper_text

VIEWS = {
    "report": "the adversary keeps the whole report",
    "inferred": "the adversary keeps only the value inferred from the report",
}
ROBUST = (
    "Robust bounds: the most over channels with rows within {:g} of the table's (total variation)"
)
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
        + (f"\n{ROBUST.format(matrix.radius)}" if matrix.radius else "")
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
    if not matrix.has_intervals:
        return _robust_text(matrix, budgets, count)
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
    return "\n".join([head, *lines, *_too_few(intervals, count)])


def _too_few(intervals: LeakageIntervals, count: int) -> Iterator[str]:
    """Yield a line for each of the first `count` attributes with rare values, one for the rest."""
    for few in intervals.too_few[:count]:
        yield f"  {few.sentence()}"
    if others := [few.attribute for few in intervals.too_few[count:]]:
        yield f"  too few records to say about some values of {', '.join(others)} too"


def _robust_text(matrix: LeakageMatrix, budgets: dict[str, float], count: int) -> str:
    lines = []
    for leak in matrix.strongest(count):
        ends = f"{leak.source} -> {leak.target}"
        told = f"{leak.leakage:.2f}{delta_text(leak.delta)}"
        lines.append(f"  {ends}: {told} of at most {budgets[leak.source]:.2f}")
        evidence = replace(leak, witness=matrix[leak.target, leak.source].witness)
        lines += [f"      {evidence.sentence()}"] if evidence.witness else []
    what = "robust bounds" if matrix.radius else "leakages of the table, values pooled"
    return "\n".join([f"Largest {what} (source -> target, in nats)", *lines])


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

SHOWN_FORMS = 12
"""Maximum number of forms of a design that are printed."""


def calibration_text(plan: Any, name: str) -> str:
    """Return the budgets and totals of a calibrated plan as text."""
    rows = [["attribute", "mechanism", "epsilon", "total", "limit"]]
    rows += [
        [
            planned.name,
            planned.mechanism or ("public" if planned.public else "not collected"),
            floor_text(planned.epsilon),
            ceiling_text(planned.total) + delta_text(planned.total_delta),
            "-" if planned.limit is None else f"{planned.limit:g}",
        ]
        for planned in plan.attributes
    ]
    heading = (
        f"{name}: budgets whose totals stay within the limit (all in nats)\n"
        f"Guarantee: {plan.guarantee} ({', '.join(filter(None, (plan.kind, plan.whom)))})"
    )
    return "\n".join(
        [heading, text_columns(rows), *(naming(note, option_names()) for note in plan.notes)]
    )


def design_text(design: Any, name: str) -> str:
    """Return the forms of a design, its totals and its comparison as text."""
    guarantees = ", ".join(sorted({form.guarantee for form in design.forms}))
    heading = (
        f"{name}: {len(design.forms)} forms, every total within its limit {design.whom} "
        f"({guarantees}; all in nats)\n"
        f"Error with {design.people:,} people: {design.error:.4g}, at most {design.gap:.2%} above "
        "the least over the forms considered; a form tells at most "
        f"{shortest_above(design.record)} about the whole record"
    )
    tables = {
        "Forms": _forms_text(design),
        "Attributes": _attributes_text(design),
        "Other ways to keep the same limit": _comparison_text(design),
    }
    parts = [f"\n{title}\n{table}" for title, table in tables.items()]
    return "\n".join([heading, *parts, *(naming(note, option_names()) for note in design.notes)])


def _forms_text(design: Any) -> str:
    rows = [["form", "share", "record", "attributes and budgets"]]
    for number, form in enumerate(design.forms[:SHOWN_FORMS], 1):
        row = [str(number), f"{form.share:.2%}", ceiling_text(form.record), _questions(form)]
        rows.append(row)
        if form.answer_leakage is not None:
            rows.append(["", "", "", f"  tells: {form.answer_leakage}"])
    more = len(design.forms) - SHOWN_FORMS
    if more > 0:
        rows.append(["...", "", "", f"{more} more in the plan"])
    return text_columns(rows, left=True)


def _questions(form: Any) -> str:
    if not form.is_product:
        return f"one shaped report: {', '.join(form.attributes)}"
    return ", ".join(
        f"{name} {floor_text(epsilon)}" + ("" if how == "grr" else f" ({how})")
        for name, how, epsilon in zip(form.attributes, form.mechanisms, form.epsilons, strict=True)
    )


def _attributes_text(design: Any) -> str:
    from seepage.plan.plan_text import attaining_form

    rows = [["attribute", "largest total", "in form", "limit", "error"]]
    for k, name in enumerate(design.domain.names):
        limit, mean = design.limits[k], design.means.get(name)
        error = design.errors[k] if mean is None else mean
        rows.append(
            [
                name if mean is None else f"mean {name}",
                "public" if name in design.public else ceiling_text(design.totals[k]),
                attaining_form([form.totals[k] for form in design.forms]),
                "-" if limit == math.inf else f"{limit:g}",
                f"{error:.3g}" if error < math.inf else "not asked",
            ]
        )
    rows += [[f"{i} x {j}", "", "", "", f"{e:.3g}"] for (i, j), e in design.joint.items()]
    return text_columns(rows, most=SHOWN_ATTRIBUTES)


def _comparison_text(design: Any) -> str:
    smallest = design.comparison[-1].error
    rows = [["strategy", "error", "of the design's", "rests on"]]
    rows += [
        [
            strategy.name,
            f"{strategy.error:.3g}",
            f"{strategy.error / smallest:.3g} x",
            _basis(design, strategy) + strategy.rests_on,
        ]
        for strategy in design.comparison
    ]
    return text_columns(rows, left=True)


def _basis(design: Any, strategy: Any) -> str:
    """Return whether a strategy's limits are certified, or hold with a confidence."""
    if not strategy.certified:
        return ""
    statistical = design.scope == "population" and "exact" in strategy.rests_on
    return f"at {design.confidence:g}: " if statistical else "certified: "


def table_text(shown: Any, table: Any) -> str:
    """Return cells and, for several attributes, shares given all but the first."""
    people = ", ".join(f"{count:,} of form {form}" for form, count in table.people.items())
    parts = [
        f"{table.records:,} people: {people}; as precise as "
        f"{table.equivalent_people:,.0f} unperturbed answers"
    ]
    for cells in (shown, *([table.shares()] if len(table.attributes) > 1 else [])):
        columns = cells.to_arrow().to_pydict()
        labels = [attribute.name for attribute in cells.attributes]
        numbers = ("estimate", "standard_error", "lower", "upper")
        rows = [
            [*(columns[name][row] for name in labels), *(f"{columns[n][row]:.5f}" for n in numbers)]
            for row in range(len(cells.values))
        ]
        heads = [*labels, "estimate", "standard error", "95 % from", "to"]
        parts += ["", cells.what, text_columns([heads, *rows])]
    return "\n".join(parts)
