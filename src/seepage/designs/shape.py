"""`shape`: the mechanism of least variance about some answers, within limits on the leakage."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage import _checks
from seepage._numerics import Floats
from seepage._options import method_takes
from seepage._results import Progress
from seepage.data.domain import Domain
from seepage.data.inputs import as_counted
from seepage.data.records import Records
from seepage.data.table.options import DataOptions
from seepage.designs.admissible_reports import RatioLimit
from seepage.designs.design_options import time_limit
from seepage.designs.form_search import Timer
from seepage.designs.shape_form import (
    MAX_CELLS,
    answer_cells,
    counts_by_cell,
    form_table,
    shape_form,
)
from seepage.designs.shaped_mechanism import ShapedMechanism, occurring
from seepage.designs.shaped_population import (
    certified_mechanism,
    select_mechanism,
    split_records,
)
from seepage.designs.wanted import MEAN, parse_want
from seepage.errors import InputError, Setting
from seepage.totals.result import SCOPES, check_whole_table

RULES = ("answer", "record")
"""Values of the option `rule`."""

MAX_KNOWN = 5_000
"""Maximum number of limits given the values of known attributes."""


@dataclass(frozen=True, kw_only=True)
class ShapeOptions(DataOptions):
    """Options of `shape`.

    Parameters
    ----------
    limit
        Maximum leakage in nats about each attribute of the table, asked or not: one limit l for
        all, or a mapping of the attributes to protect.  P(report | x) <= e^l P(report | x').
    epsilon
        Budget of each answer, one for all or by source: the largest change of a report's
        log-likelihood when one answer changes, whatever else is known of the person.  By default
        each source's limit.
    record_limit
        Largest log-likelihood ratio of a report between any two records.  By default epsilon for
        one source, and for several the sum of budgets of independent randomised responses within
        the same limits.
    rule
        `"answer"`: a change of one answer changes a report's likelihood by at most e^epsilon.
        `"record"`: only `limit` and `record_limit` hold, and an adversary who knows other answers
        may learn far more, up to `record_limit`.
    known
        Attributes, or tuples of them, that an adversary may know of the person: limits then also
        hold given their values.
    wanted
        Tables to estimate: sources, tuples of them for joint tables, or `"mean hours"` for the mean
        of a numeric source, as in `design`; or a mapping of these to weights.  By default the
        frequencies of each source.
    scope
        `"population"`: limits hold, with a confidence, for the people that the records were drawn
        from at random, one record per person.  The mechanism is selected on a random fifth of the
        records and certified on the others.  `"table"`: limits hold for the table itself, exactly.
    confidence
        Confidence level of all limits at once, for the population.
    rng
        Seed of the split of the records, for the population.
    gap
        Relative optimality gap at which the search stops: variance / lower bound - 1.
    seconds
        Time limit in seconds; None for none.  Ctrl-C ends the search too.  Either way the best
        mechanism so far is returned, checked like any other, with its gap.  `progress` is called
        with the elapsed seconds and this limit.
    """

    limit: Any
    epsilon: Any = None
    record_limit: float | None = None
    rule: str = "answer"
    known: Iterable[Any] = ()
    wanted: Any = None
    scope: str = "population"
    confidence: float = 0.95
    rng: Any = 0
    gap: float = 1e-3
    seconds: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.choice(self.rule, "rule", RULES)
        _checks.choice(self.scope, "scope", SCOPES)
        _checks.set_seed(self, required=True)
        _checks.inner_probability(self.gap, "gap")
        if self.record_limit is not None:
            _checks.epsilon(self.record_limit, "record_limit")
        if self.seconds is not None:
            time_limit(self.seconds)
        if not 0.5 <= _checks.probability(self.confidence, "confidence") < 1:
            raise InputError(
                f"confidence must be at least 0.5 and below 1, got {self.confidence:g}",
                parameter="confidence",
            )


@method_takes(ShapeOptions)
def shape(data: Any, sources: Any, options: ShapeOptions) -> ShapedMechanism:
    """Return the mechanism of least variance whose leakages are within given limits.

    Lowering a budget until a leakage is within its limit adds noise in every direction, which the
    limits do not require: a report is a vector w of likelihoods over the answers, and each limit is
    linear in w.  The best mixture of admissible reports is an A-optimal design, computed here by
    column generation.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset or `Records`; for one source and nothing known also
        `PairCounts`.
    sources
        The attribute to ask, or several with one report for all their answers.

    Returns
    -------
    ShapedMechanism
        With the realised leakage for each limit, its variance, and the optimality gap.

    Notes
    -----
    The gap is proven if all extreme rays are enumerated: one source of up to 16 values with at
    most one protected target, of two values.  Otherwise it is relative to the reports found by
    linear programs.  Every limit is checked on the integer thresholds, in exact arithmetic.
    Cost: about a second for 16 cells, 4 for the population, 10 to 15 for 32 or 40 cells.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult")
    >>> made = sp.shape(adult, "relationship", limit={"sex": 0.25}, epsilon=3.0, scope="table")
    >>> made
    ShapedMechanism(relationship: 6 cells, 12 reports, epsilon 3, n x variance 8.588, gap 1e-06)
    >>> made.realised()["sex"] <= 0.25
    True
    """
    names, known = _sources(sources), _checks.items(options.known, "known")
    known_sets = [_names(given, "each of known") for given in known]
    how: dict[str, Any] = {
        "record_limit": options.record_limit,
        "rule": options.rule,
        "gap": options.gap,
        "stop": _stop_function(options.seconds, options.progress),
    }
    for_population = options.scope == "population"
    needs_records = for_population or len(names) > 1 or bool(known_sets)
    reading = {name: value for name, value in options.reading.items() if name != "progress"}
    counted = as_counted(data, records=needs_records, **reading)
    limits = _limits(counted.domain, options.limit)
    _check_cells(counted.domain, names)
    how["wanted"], how["rows"] = _wanted(counted.domain.select(names), options.wanted)
    how["epsilons"] = _epsilons(names, limits, options.epsilon)
    if for_population and known_sets:
        raise InputError(
            "known must be empty for ",
            Setting("scope", "population"),
            "; use ",
            Setting("scope", "table"),
            parameter="known",
        )
    if needs_records and not isinstance(counted, Records):
        raise InputError(
            "limits for the population, several sources and known attributes need records, and "
            "data has pair counts only; give the table itself, or ",
            Setting("scope", "table"),
            " for one source",
        )
    if isinstance(counted, Records) and for_population:
        fifth, rest = split_records(counted, options.rng)
        selected = select_mechanism(fifth, names, limits, how, options.confidence)
        return certified_mechanism(selected, limits, rest, counted, options.confidence)
    check_whole_table(counted, "exact", "shaped reports")
    if isinstance(counted, Records):
        how["known"] = _known_limits(counted, names, limits, known_sets)
    return shape_form(form_table(counted, names, limits), limits, **how)


def _check_cells(domain: Domain, sources: Sequence[str]) -> None:
    """Raise an InputError where the answers have too many combinations to be shaped."""
    cells = math.prod(domain[name].size for name in sources)
    if cells > MAX_CELLS:
        raise InputError(
            f"the answers {', '.join(sources)} must have at most {MAX_CELLS} cells together, got "
            f"{cells:,}; ask fewer attributes or pool rare values"
        )


def _names(given: Any, what: str) -> list[str]:
    """Return a name, or several, as a list."""
    return [given] if isinstance(given, str) else _checks.texts(given, what)


def _sources(sources: Any) -> list[str]:
    names = _names(sources, "sources")
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"sources must be different attributes, at least one, got {names}", parameter="sources"
        )
    return names


def _stop_function(seconds: float | None, progress: Progress | None) -> Callable[[], bool]:
    """Return a function that reports the progress and returns whether the time limit is reached."""
    timer = Timer(math.inf if seconds is None else seconds)

    def stop() -> bool:
        timer.show(progress)
        return timer.expired()

    return stop


def _limits(domain: Domain, limit: Any) -> dict[str, float]:
    """Return the limit of each protected attribute."""
    if not isinstance(limit, Mapping):
        return dict.fromkeys(domain.names, _checks.epsilon(limit, "limit"))
    return {
        domain[name].name: _checks.epsilon(value, f"the limit of {_checks.shown(name)}")
        for name, value in limit.items()
    }


def _epsilons(sources: Sequence[str], limits: Mapping[str, float], epsilon: Any) -> list[float]:
    """Return the budget of each source; for one source at most its limit."""
    given = epsilon if isinstance(epsilon, Mapping) else dict.fromkeys(sources, epsilon)
    for name in given:
        _checks.choice(name, "epsilon of an attribute", sources)
    epsilons = []
    for name in sources:
        budget = given.get(name)
        if budget is None and name not in limits:
            raise InputError(
                f"epsilon must be given for {name!r}, which has no limit of its own",
                parameter="epsilon",
            )
        value = limits[name] if budget is None else _checks.epsilon(budget)
        epsilons.append(min(value, limits.get(name, value)) if len(sources) == 1 else value)
    return epsilons


def _wanted(
    domain: Domain, wanted: Any
) -> tuple[dict[tuple[int, ...], float] | None, dict[int, Floats]]:
    """Return the weights of the wanted tables by their sources, None by default; and B of means."""
    rows, sources = dict[int, Floats](), domain.names
    if wanted is None:
        return None, rows
    given_weights = wanted if isinstance(wanted, Mapping) else None
    tables = [wanted] if isinstance(wanted, str) else _checks.items(wanted, "wanted")
    weights: dict[tuple[int, ...], float] = {}
    for table in tables:
        names = _names(table, "each of wanted")
        if isinstance(table, str) and table not in sources and table.startswith(MEAN):
            ((axis, rows[axis]),) = parse_want(domain, table).rows.items()
            names = [sources[axis]]
        for name in names:
            _checks.choice(name, "wanted", sources)
        weight = 1.0
        if given_weights is not None:
            weight = _checks.weight(given_weights[table], "a weight of wanted")
        axes = tuple(sorted({sources.index(name) for name in names}))
        if axes and weight > 0:
            weights[axes] = weight
    if not weights:
        raise InputError(
            "wanted must name at least one source, with a weight above 0", parameter="wanted"
        )
    return weights, rows


def _known_limits(
    records: Records,
    sources: Sequence[str],
    limits: Mapping[str, float],
    known_sets: Sequence[Sequence[str]],
) -> list[RatioLimit]:
    """Return the limits given the values of each set of attributes that an adversary may know."""
    cells = answer_cells(records, sources)
    cell_count = math.prod(records.domain[name].size for name in sources)
    ratio_limits: list[RatioLimit] = []
    for names in known_sets:
        groups = records.groups(names)
        values = int(groups.max()) + 1
        for target, limit in limits.items():
            if target in names:
                continue
            if len(ratio_limits) + values > MAX_KNOWN:
                raise InputError(
                    f"known attributes must make at most {MAX_KNOWN:,} limits, and "
                    f"{', '.join(names)} makes more; give fewer or coarser ones",
                    parameter="known",
                )
            label = f"{target} given {', '.join(names)}"
            for counts in counts_by_cell(records, target, cells, cell_count, groups):
                rows = occurring(counts)
                if len(rows) > 1:
                    ratio_limits.append(RatioLimit(label, rows, limit, "known"))
    return ratio_limits
