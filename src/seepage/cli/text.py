"""Results as text for a terminal."""

from seepage.analysis import Analysis
from seepage.cli.output import columns
from seepage.data.domain import how_many, sample_caution
from seepage.leakage.matrix import LeakageMatrix
from seepage.totals import TotalLeakage

__all__ = ["analysis_text"]

VIEWS = {
    "report": "the adversary keeps the whole report",
    "inferred": "the adversary keeps only the value inferred from the report",
}
LONGEST_NAME = 24
CELL = 6
RARE = 10
"""Target values seen fewer times are named: a leakage that rests on them may be chance."""


def analysis_text(analysis: Analysis, name: str, strongest: int, width: int) -> str:
    """Return an analysis in words, the matrix as a table, and the totals."""
    matrix = analysis.matrix
    parts = [
        _heading(matrix, name),
        _strongest(matrix, strongest),
        _matrix(matrix, width),
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
    )


def _strongest(matrix: LeakageMatrix, count: int) -> str:
    budgets = dict(zip(matrix.domain.names, matrix.epsilons, strict=True))
    lines = [
        f"  {source} -> {target}: {value:.2f} of at most {budgets[source]:.2f}"
        + _because(matrix, source, target, value)
        for target, source, value in matrix.strongest(count)
    ]
    return "\n".join(["Strongest leaks (source -> target, in nats)", *lines]) if lines else ""


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


def _matrix(matrix: LeakageMatrix, width: int) -> str:
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
    "tree": "right if the data follow the given structure",
    "independent": "the paper's sum; right only if sources are independent given the target, "
    "which real data exceed",
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
    return "\n".join(notes)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
