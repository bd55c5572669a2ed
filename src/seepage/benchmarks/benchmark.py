"""What both benchmarks share: checks of their arguments, and results."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.results import Result
from seepage._core.text import how_many, sample_caution
from seepage.channel.pairs import PairCounts
from seepage.tables.read import as_pairs
from seepage.tables.table_options import DataOptions


def checked_budgets(epsilons: Iterable[float]) -> list[float]:
    """Return the budgets of a benchmark, each above 0."""
    budgets = [
        checks.epsilon(epsilon) for epsilon in checks.items(epsilons, "epsilons")
    ]
    if 0 in budgets:
        hint = "; results are relative to it"
        raise checks.violation("epsilon", "above 0", 0.0, hint)
    return budgets


def counted_tables(
    data: Mapping[str, Any], reading: DataOptions
) -> dict[str, PairCounts]:
    """Return the pair counts of a benchmark's data sets; raise for one with a single
    attribute.
    """
    tables = {name: as_pairs(table, **reading.keywords) for name, table in data.items()}
    for name, pairs in tables.items():
        if len(pairs.domain) < 2:
            raise InputError(
                f"{name} has one attribute; a benchmark compares at least two"
            )
    return tables


@dataclass(frozen=True, repr=False)
class Benchmark(Result):
    """The scores of a benchmark: a table with one row each.

    Parameters
    ----------
    scores
        One per data set, epsilon and analyser, or per epsilon and mechanism.
    tables
        The data sets, by name.
    left_out
        (data set, analyser, reason) for each analyser that raised an InputError.
    """

    scores: tuple[Any, ...]
    tables: Mapping[str, PairCounts]
    left_out: tuple[tuple[str, str, str], ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats of a benchmark: which leakages are those of a sample, and what was
        left out.
        """
        notes = []
        for name, pairs in self.tables.items():
            caution = sample_caution(pairs)
            if caution:
                notes.append(f"{name}: {caution}")
        for name, analyser, reason in self.left_out:
            notes.append(f"{name}: {analyser} left out: {reason}")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and notes of a benchmark as a JSON object."""
        return {
            "scores": [asdict(score) for score in self.scores],
            "notes": list(self.notes),
        }

    def _headline(self) -> str:
        """Return the scores of a benchmark in one line."""
        return f"Benchmark({len(self.scores)} scores, {len(self.notes)} notes)"

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of the scores of a benchmark in long form."""
        if not self.scores:
            return {}
        names = [part.name for part in fields(self.scores[0])]
        return {name: [getattr(score, name) for score in self.scores] for name in names}

    def chart(self) -> Any:
        """Return the paper's chart of a benchmark's scores.

        Analysers: undershoot against overshoot, with the regions labelled.  Mechanisms:
        the two utilities against leakage, and a third panel with the leakage of the
        whole report.
        """
        from seepage.charts.benchmark_charts import analyser_chart, mechanism_chart

        rows = [asdict(score) for score in self.scores]
        sample_sizes = {}
        for name, pairs in self.tables.items():
            if sample_caution(pairs):
                sample_sizes[name] = how_many(pairs)
        if all("region" in row for row in rows):
            for row in rows:
                if row["data"] in sample_sizes:
                    row["data"] += f" ({sample_sizes[row['data']]})"
            return analyser_chart(rows)
        chart = mechanism_chart(rows)
        if sample_sizes:
            return chart.properties(title=sample_sizes["data"])
        return chart


def panel_parts(choice: Any) -> list[Any]:
    """Return the names and objects of a benchmark's choice of mechanisms."""
    if isinstance(choice, Mapping):
        return list(choice.values())
    return [choice]


def score_label(choice: Any, parameter: str) -> str:
    """Return the label of a benchmark's score: the name of a mechanism, or those of a
    mapping, joined.
    """
    names = [
        checks.text(getattr(part, "name", part), parameter)
        for part in panel_parts(choice)
    ]
    return ", ".join(dict.fromkeys(names))
