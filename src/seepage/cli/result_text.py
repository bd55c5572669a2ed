"""Analyses and plans as text for a terminal."""

import math
import shutil
from typing import Any

from seepage._results import delta_text, floor_text, lower_text, shortest_above, upper_text
from seepage.analysis import Analysis
from seepage.cli.console import aligned, constants, named
from seepage.data import how_many, sample_caution
from seepage.leakage import Leak, same_attributes, skip_patterns, support
from seepage.leakage.matrix import LeakageMatrix
from seepage.totals import GUARANTEES, TotalLeakage
from seepage.totals.experienced import ESTIMATE, Experience
from seepage.verdict import STATES, Judgement, total_text

VIEWS = {
    "report": "the adversary keeps the whole report",
    "inferred": "the adversary keeps only the value inferred from the report",
}
SHOWN_ATTRIBUTES, SHOWN_LEAKS = 40, 10
"""Rows of tables by attribute (the matrix of more is not printed), and leaks."""
SHOWN_FORMS = 12
"""Maximum number of forms of a design that are printed."""

MAX_NAME = 24
CELL_WIDTH = 6
"""Characters of a cell of the matrix."""

UNIT = f"1 nat: {math.e:.2g} times likelier"
"""Explanation of the unit, printed where nats first occur."""


def analysis_text(analysis: Analysis) -> str:
    """Return an analysis as text whose matrix fits into the terminal."""
    parts = [
        _heading(analysis),
        _verdict_text(analysis),
        _leaks_text(analysis),
        _matrix_text(analysis.matrix, shutil.get_terminal_size((120, 24)).columns),
        _totals_text(analysis),
        "" if analysis.experienced is None else _experience_text(analysis.experienced),
        _notes_text(analysis),
        analysis.verdict.settle if analysis.limit is None else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _heading(analysis: Analysis) -> str:
    matrix = analysis.matrix
    mechanisms = sorted({release.name or "" for release in matrix.releases})
    how = "any mechanism (upper bound)" if mechanisms == [""] else ", ".join(mechanisms)
    ends = dict.fromkeys([matrix.epsilons.min(), matrix.epsilons.max()])
    epsilon = " to ".join(f"{budget:g}" for budget in ends)
    delta = delta_text(max(release.delta for release in matrix.releases))
    return (
        f"{analysis.name}: {how_many(matrix.pairs)}, {len(matrix.domain)} attributes\n"
        f"Mechanism: {how}, epsilon {epsilon}{delta}\n"
        f"View: {matrix.view} ({VIEWS[matrix.view]})"
    )


def _verdict_text(analysis: Analysis) -> str:
    """Return the verdict and a table of bounds by state of the limit; "" without limits."""
    verdict = analysis.verdict
    judged = [j for state in STATES for j in verdict.judgements if j.state == state]
    if not judged:
        return ""
    lines = list(filter(None, [verdict.decision, verdict.basis, named(verdict.settle)]))
    rows = [["", "limit", "at least", "at most", "but for delta", ""], *map(_judgement_row, judged)]
    if not any(judgement.relaxed_by for judgement in judged):
        rows = [[*row[:4], row[-1]] for row in rows]
    lines += ["", f"Limits (nats; {UNIT})", aligned(rows, most=SHOWN_ATTRIBUTES)]
    return "\n".join(lines)


def _judgement_row(j: Judgement) -> list[str]:
    """Return limit, what holds for every report, what holds but for a delta, and the state."""
    lower, upper = j.texts
    upper = f"{upper} {j.upper_by}" if j.upper_by else "unknown"
    rest = f"{upper_text(j.relaxed)} {j.relaxed_by}{delta_text(j.delta)}" if j.relaxed_by else "-"
    return [_short(j.attribute), f"{j.limit:g}", f"{lower} {j.lower_by}", upper, rest, str(j.state)]


def _leaks_text(analysis: Analysis) -> str:
    """Return the strongest leaks, and what too few records or missing values hide."""
    matrix, leaks = analysis.matrix, analysis.leaks(SHOWN_LEAKS)
    lines = [line for leak in leaks for line in _leak_lines(leak, matrix)]
    if matrix.pairs.pooled:
        head = "Largest leakages of the table, values pooled (source -> target, in nats)"
        return "\n".join([head, *lines])
    intervals = matrix.interval()
    if len(matrix.domain) < 2 or (not leaks and intervals.lower.any()):
        return ""
    unit = "" if analysis.limit is not None else f"; {UNIT}"
    about = f"confidence {intervals.confidence:g} for all intervals at once, {intervals.condition}"
    count = f"{support(matrix):,} records, missing ones left out"
    lines.append(
        f"  witnesses: among values with at least {count}"
        if leaks
        else f"  none is established: with {matrix.pairs.records:,} records all lower confidence "
        "limits are 0"
    )
    lines += [f"  {text}" for text in skip_patterns(matrix.pairs)[:SHOWN_LEAKS]]
    lines += [f"  {few.sentence()}" for few in intervals.too_few[:SHOWN_LEAKS]]
    if others := [few.attribute for few in intervals.too_few[SHOWN_LEAKS:]]:
        lines.append(f"  too few records to say about some values of {', '.join(others)} too")
    return "\n".join([f"Strongest leaks (source -> target, in nats{unit}; {about})", *lines])


def _leak_lines(leak: Leak, matrix: LeakageMatrix) -> list[str]:
    """Return a leak with its interval, and its witness in words."""
    ends = " -> ".join(" = ".join(names) for names in (leak.sources, leak.targets) if names)
    most = f"{matrix.epsilons[matrix.domain.index(leak.source)]:.2f}"
    line = f"  {ends or f'{leak.source} -> {leak.target}'}: {leak.leakage:.2f}"
    line += f"{delta_text(leak.delta)} of at most {most}"
    if leak.interval:
        line += f", {lower_text(leak.lower)} to {upper_text(leak.upper)} in the population"
    return [line, *([f"      {leak.sentence()}"] if leak.witness else [])]


def _matrix_text(matrix: LeakageMatrix, width: int) -> str:
    """Return the matrix in blocks of columns that fit the width; "" if it is large."""
    names = [f"{k:>2} {_short(name)}" for k, name in enumerate(matrix.domain.names, start=1)]
    if len(names) > SHOWN_ATTRIBUTES:
        return ""
    tables = {
        "Leakage (nats): rows are targets, columns are sources, numbered as the rows": [
            [f"{value:.2f}" for value in row] for row in matrix.values
        ]
    }
    if matrix.deltas.any():
        tables["Delta of each leakage"] = [
            [delta_text(delta, 1)[8:] or "0" for delta in row] for row in matrix.deltas
        ]
    fitting = max(1, (width - max(map(len, names)) - 2) // CELL_WIDTH)
    blocks = []
    for heading, cells in tables.items():
        blocks.append(heading)
        for start in range(0, len(names), fitting):
            some = range(len(names))[start : start + fitting]
            rows = [["", *(str(source + 1) for source in some)]]
            for k, (name, row) in enumerate(zip(names, cells, strict=True)):
                rows.append([name, *("-" if source == k else row[source] for source in some)])
            blocks.append(aligned(rows, narrowest=CELL_WIDTH - 2))
    return "\n".join(blocks)


def _totals_text(analysis: Analysis) -> str:
    """Return a table of totals by attribute and guarantee, with a legend."""
    comparison, matrix = analysis.totals, analysis.matrix
    rows = [["attribute", "own", *(f"{t.guarantee} ({t.kind})" for t in comparison.totals)]]
    for k, (name, release) in enumerate(zip(matrix.domain.names, matrix.releases, strict=True)):
        cells = [
            total_text(total, k)
            + delta_text(total.deltas[k])
            + " !" * (name in comparison.refuted.get(total.guarantee, ()))
            for total in comparison.totals
        ]
        rows.append([_short(name), f"{release.epsilon:.2f}{delta_text(release.delta)}", *cells])
    table = "table" if matrix.pairs.population is None else "sample"
    legend = [
        f"  {t.guarantee}: {GUARANTEES[t.guarantee].meaning}{_terms(t)}" for t in comparison.totals
    ]
    if comparison.refuted:
        legend.append(f"  ! refuted: below what reports in this {table} say (witness)")
    head = f"Total leakage of each attribute in this {table} (nats)"
    legend += [f"  {name}: {named(why)}" for name, why in comparison.unavailable.items()]
    return "\n".join([head, aligned(rows, most=SHOWN_ATTRIBUTES), *legend])


def _terms(total: TotalLeakage) -> str:
    """Return the largest delta and the confidence of a total, where it has one."""
    sure = "" if total.confidence is None else f", confidence {total.confidence:g}"
    return f" ({(total.delta_text + sure)[2:]})" if total.delta_text + sure else ""


def _experience_text(experience: Experience) -> str:
    """Return the realised losses of drawn people, the most affected attributes first."""
    rows = [["", "promised", "median", "95%", "above", "unrelated", "before", "own", "all"]]
    for k in experience.measured:
        losses = experience.epsilons[k], *experience.quantiles[k, 1:3, ESTIMATE]
        shares = experience.shares[k, ESTIMATE], experience.permuted_shares[k]
        guessed = experience.own[k, ESTIMATE], experience.together[k, ESTIMATE]
        percent = [f"{share:.0%}" for share in (*shares, experience.before[k], *guessed)]
        name = _short(experience.attributes[k])
        rows.append([name, *(f"{loss:.2f}" for loss in losses), *percent])
    legend = (
        "promised: epsilon; median, 95%: realised loss of all reports, in nats",
        "above: share of people with more than 1.1 epsilon; unrelated: on permuted columns",
        "before, own, all: how often the best guess is right (before: in the table)",
        "each person's own record is left out of what the reports are compared with",
        f"values with fewer than {experience.rare:,} other records are not compared; "
        f"limits of {experience.confidence:.0%} confidence: --format json",
    )
    head = f"What people experience ({experience.people:,} drawn people; no guarantee)"
    table = aligned(rows, most=SHOWN_ATTRIBUTES)
    return "\n".join([head, table, *(f"  {line}" for line in legend)])


def _notes_text(analysis: Analysis) -> str:
    matrix = analysis.matrix
    notes = [
        f"{' and '.join(names)} determine each other: one finding"
        for names in same_attributes(matrix)
    ]
    notes += constants(matrix.domain)
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


def calibration_text(plan: Any, name: str) -> str:
    """Return the budgets and totals of a calibrated plan as text."""
    rows = [["attribute", "mechanism", "epsilon", "total", "limit"]]
    for planned in plan.attributes:
        how = planned.mechanism or ("public" if planned.public else "not collected")
        total = shortest_above(planned.total) + delta_text(planned.total_delta)
        limit = "-" if planned.limit is None else f"{planned.limit:g}"
        rows.append([planned.name, how, floor_text(planned.epsilon), total, limit])
    lines = [
        f"{name}: budgets whose totals stay within the limit (all in nats)",
        f"Guarantee: {plan.guarantee} ({', '.join(filter(None, (plan.kind, plan.whom)))})",
        aligned(rows),
    ]
    return "\n".join([*lines, *map(named, plan.notes)])


def design_text(plan: Any, name: str) -> str:
    """Return the sentence of a designed plan, its forms, totals and alternatives as text."""
    from seepage.plan.plan_precision import plan_precision
    from seepage.plan.plan_text import advice, people_sentence

    precision = plan_precision(plan)
    guarantees = ", ".join(sorted({form.guarantee for form in plan.forms}))
    gap = plan.provenance.settings["design"]["gap"]
    lines = [
        people_sentence(plan, precision),
        *advice(plan, precision),
        f"{name}: {len(plan.forms)} forms, every total within its limit {plan.whom} "
        f"({guarantees}; all in nats), at most {gap:.2%} above the least error over the "
        "forms considered",
        f"\nForms\n{_forms_text(plan)}",
        f"\nAttributes\n{_attributes_text(plan, precision)}",
        f"\nWays to ask\n{_comparison_text(precision)}",
    ]
    return "\n".join([*filter(None, lines), *map(named, plan.notes)])


def limits_text(found: Any, name: str) -> str:
    """Return what each limit costs as text, and how to keep the plan of one."""
    from seepage.plan.plan_precision import points, rounded_people
    from seepage.plan.plan_text import factor

    width = points(found.width).removesuffix(".0")
    heads = ["limit", "odds change at most", f"share within, {found.people:,} people"]
    heads += [f"people for {width} points", "one question each needs", "whole record"]
    columns, rows = found._columns(), [heads]
    for row in zip(*(columns[key] for key in columns if key != "forms"), strict=True):
        limit, half_width, people, record, ratio = row
        needed = "-" if people is None else rounded_people(people)
        times = "-" if ratio is None else f"{ratio:.2g} times as many"
        change, within = f"{factor(limit)} times", f"{points(half_width)} points"
        rows.append([f"{limit:g}", change, within, needed, times, shortest_above(record)])
    whom, level = "for this table only", ""
    if found.confidence is not None:
        whom, each = f"for the population at {found.confidence:g}", found.plans[0].confidence
        level = f" --confidence {each:g}" if len(found.plans) > 1 else ""
    keep = f"the same command with --limit L{level} -o plan.json in place of --limits"
    shared = [note for note in found.plans[0].notes if all(note in p.notes for p in found.plans)]
    lines = [
        f"{name}: {len(rows) - 1} limits (nats), all of which hold together {whom}",
        aligned(rows),
        f"The plan of the limit that you choose: {keep}",
    ]
    return "\n".join([*lines, *map(named, shared)])


def _forms_text(plan: Any) -> str:
    rows = [["form", "share", "record", "attributes and budgets"]]
    for number, form in enumerate(plan.forms[:SHOWN_FORMS], 1):
        rows.append(
            [str(number), f"{form.share:.2%}", shortest_above(form.record), _questions(form)]
        )
        if form.answer_leakage is not None:
            rows.append(["", "", "", f"  tells: {form.answer_leakage}"])
    if (more := len(plan.forms) - SHOWN_FORMS) > 0:
        rows.append(["...", "", "", f"{more} more in the plan"])
    return aligned(rows, left=True)


def _questions(form: Any) -> str:
    if not form.is_product:
        return f"one shaped report: {', '.join(form.attributes)}"
    return ", ".join(
        f"{name} {floor_text(epsilon)}" + ("" if how == "grr" else f" ({how})")
        for name, how, epsilon in zip(form.attributes, form.mechanisms, form.epsilons, strict=True)
    )


def _attributes_text(plan: Any, precision: Any) -> str:
    from seepage.plan.plan_precision import points

    is_proven = plan.attributes[0].observed is not None
    total = "total in the table" if is_proven else "largest total"
    rows = [["attribute", total, "proven limit" if is_proven else "limit", "share within"]]
    for planned in plan.attributes:
        name, largest = planned.name, planned.observed if is_proven else planned.total
        told = "public" if planned.public else shortest_above(largest)
        limit, within = "-" if planned.limit is None else f"{planned.limit:g}", "not asked"
        if name in precision.sizes:
            within = f"{points(precision.width(precision.strategies[0], name))} points"
        rows.append([name, told, limit, within])
    errors = plan.provenance.settings["design"]["wanted"].items()
    rows += [[wanted, "", "", f"error {error:.3g}"] for wanted, error in errors]
    return aligned(rows, most=SHOWN_ATTRIBUTES)


def _comparison_text(precision: Any) -> str:
    from seepage.plan.plan_precision import people_text

    rows = [["way to ask", "people for the same precision", "whole record", "rests on"]]
    for strategy in sorted(precision.strategies, key=precision.ratio, reverse=True):
        record = float(strategy.record)
        whole = "everything" if record == math.inf else shortest_above(record)
        certified = "certified: " if strategy.certified and "conf" not in strategy.rests_on else ""
        people = people_text(precision, precision.ratio(strategy))
        rows.append([strategy.name, people, whole, certified + strategy.rests_on])
    return aligned(rows, left=True)
