"""`shape`: the report that tells most about what is asked, within limits on all else."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage._results import Progress
from seepage.data.domain import Domain
from seepage.data.inputs import as_counted
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.forms.form_search import Timer, search_time
from seepage.designs.shaped.admissible_reports import AdmissibleReports, RatioLimit
from seepage.designs.shaped.shape_form import (
    AnswerCounts,
    answer_cells,
    check_cells,
    counts_by_cell,
    form_table,
    occurring,
    shape_form,
)
from seepage.designs.shaped.shaped_mechanism import ShapedMechanism
from seepage.designs.shaped.shaped_population import (
    GROWTH,
    CellCounts,
    CertifiedReports,
    certified_mechanism,
    split_records,
    statement_level,
)
from seepage.errors import InputError
from seepage.totals.result import SCOPES, check_whole_table

RULES = ("answer", "record")

CHOICE_GAP, CHOICE_STARTS = 1e-2, 15
"""Gap and starts of `shape_form` on a fifth of the records: a finer search would overfit it."""

MAX_KNOWN = 5_000
"""Most limits for adversaries who know other attributes of the person."""


def shape(
    data: Any,
    sources: Any,
    *,
    limits: Any,
    epsilon: Any = None,
    record_limit: float | None = None,
    rule: str = "answer",
    known: Iterable[Any] = (),
    wanted: Any = None,
    scope: str = "population",
    confidence: float = 0.95,
    seed: int = 0,
    gap: float = 1e-3,
    seconds: float | None = None,
    progress: Progress | None = None,
    **table_options: Any,
) -> ShapedMechanism:
    """Return the mechanism of least variance whose reports tell no more than the limits allow.

    Lowering a budget until a leakage fits adds noise in every direction.  Limits do not ask for
    that: a report is a vector w of likelihoods over the answers, and each limit is linear in it.
    The best mixture of admissible reports is an A-optimal design, and it is found here.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset or `Records`; for one source and nothing known also
        `PairCounts`.
    sources
        The attribute to ask, or several: one report then tells about all their answers.
    limits
        What reports may tell about each attribute of the table, asked or not: one limit l for all,
        or a mapping of the attributes to protect.  P(report | x) <= e^l P(report | x').
    epsilon
        Own budgets, one or by source: the most that changing one answer alone may change a report,
        whatever else is known of the person.  By default each source's limit.
    record_limit
        The most that any two records may differ by.  By default epsilon for one source, and for
        several what independent randomised responses within the same limits spend.
    rule
        `"answer"`: one answer changed changes a report by e^epsilon at most.  `"record"`: only
        `limits` and `record_limit` hold, and an adversary who knows other answers may learn far
        more, up to `record_limit`.
    known
        Attributes, or tuples of them, that an adversary may know of the person: limits then also
        hold given their values.
    wanted
        What to estimate: sources, or tuples of them for joint tables; or a mapping of these to
        weights.  By default the frequencies of each source.
    scope
        `"population"`: limits hold, with a confidence, for the people that the records were drawn
        from at random, one record per person.  Reports are chosen on a random fifth of the records
        and certified on the rest.  `"table"`: limits hold for the table itself, exactly.
    confidence, seed
        With which all limits hold at once for the population; of the split.
    gap
        Stop where the variance is within this share of its lower bound.
    seconds
        How long to search at most; Ctrl-C ends it too.  Either way the best mechanism so far is
        returned, checked like any other, with the gap known by then.
    progress
        Called with the seconds spent and those in all.
    table_options
        Options of `count_pairs`.

    Returns
    -------
    ShapedMechanism
        With what it realises of each limit, its variance, and the gap to the best possible one.

    Notes
    -----
    The gap is proven where all extreme rays are enumerated: one source of up to 16 values with at
    most one protected target, of two values.  Otherwise it is that of the reports which linear
    programs found.  Every limit is checked on the integers that are drawn, in exact arithmetic.
    Cost: about a second for 16 cells, 4 for the population, 10 to 15 for 32 or 40 cells.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult")
    >>> made = sp.shape(adult, "relationship", limits={"sex": 0.25}, epsilon=3.0, scope="table")
    >>> made
    ShapedMechanism(relationship: 6 cells, 12 reports, epsilon 3, n x variance 8.588, gap 1e-06)
    >>> made.realised()["sex"] <= 0.25
    True
    """
    names = _sources(sources)
    sets = [_names(one, "each of known") for one in _checks.items(known, "known")]
    people = _checks.choice(scope, "scope", SCOPES) == "population"
    level, split = _confidence(confidence), _checks.integer(seed, "seed", 0)
    options: dict[str, Any] = {
        "record_limit": None if record_limit is None else _checks.epsilon(record_limit),
        "rule": _checks.choice(rule, "rule", RULES),
        "wanted": _wanted(names, wanted),
        "gap": _checks.inner_probability(gap, "gap"),
        "stop": _stopping(seconds, progress),
    }
    counted = as_counted(data, records=people or len(names) > 1 or bool(sets), **table_options)
    allowed = _limits(counted.domain, limits)
    check_cells(names, [counted.domain[name].size for name in names])
    options["epsilons"] = _epsilons(names, allowed, epsilon)
    if people:
        if sets:
            raise InputError("limits given known attributes hold for the table; scope='table'")
        records = _records(counted)
        fifth, rest = split_records(records, split)
        made = chosen_mechanism(fifth, names, allowed, options, level)
        return certified_on(rest, records, made, allowed, level)
    check_whole_table(counted, "exact", "shaped reports")
    known_limits = _known_limits(counted, names, allowed, sets)
    return shape_form(form_table(counted, names, allowed), allowed, known=known_limits, **options)


def chosen_mechanism(
    fifth: Records,
    sources: Sequence[str],
    limits: Mapping[str, float],
    options: Mapping[str, Any],
    confidence: float,
) -> ShapedMechanism:
    """Return the mechanism that a larger sample is expected to certify, made on a small one."""
    table = form_table(fifth, sources, limits)
    chosen = cell_tables(table)
    reports = math.prod(table.sizes) * (sum(table.sizes) + 1)
    level = statement_level(chosen, reports, confidence)
    targets = [(chosen[name], limit) for name, limit in limits.items()]

    def cone(promised: Sequence[RatioLimit], frequencies: Floats) -> AdmissibleReports:
        return CertifiedReports(promised, frequencies, targets, level, GROWTH)

    loose = {"starts": CHOICE_STARTS, **options, "gap": max(options["gap"], CHOICE_GAP)}
    return shape_form(table, limits, cone=cone, **loose)


def certified_on(
    rest: Records,
    records: Records,
    made: ShapedMechanism,
    limits: Mapping[str, float],
    confidence: float,
) -> ShapedMechanism:
    """Return a mechanism certified on the records that its choice has not seen."""
    tables = cell_tables(form_table(rest, made.sources, limits))
    counts = form_table(records, made.sources, ()).counts
    return certified_mechanism(made, limits, tables, counts, confidence)


def cell_tables(table: AnswerCounts) -> dict[str, CellCounts]:
    """Return counts of protected attributes by cell, and which cells each value may have."""
    codes = np.array(list(np.ndindex(*table.sizes)))

    def possible(name: str, counts: Integers) -> Booleans:
        if name not in table.sources:
            return np.ones(counts.shape, dtype=bool)
        own = codes[:, table.sources.index(name)]
        return np.asarray(own == np.arange(len(counts))[:, None])

    return {
        name: CellCounts(counts, possible(name, counts)) for name, counts in table.targets.items()
    }


def _records(counted: PairCounts | Records) -> Records:
    if isinstance(counted, PairCounts):
        raise InputError(
            "limits for the population need records, and data has pair counts only; give the "
            "table itself, or scope='table'"
        )
    return counted


def _confidence(confidence: Any) -> float:
    found = _checks.probability(confidence, "confidence")
    if not 0.5 <= found < 1:
        raise InputError(f"confidence must be at least 0.5 and below 1, got {found:g}")
    return found


def _names(given: Any, what: str) -> list[str]:
    """Return one attribute, or several."""
    return [given] if isinstance(given, str) else _checks.texts(given, what)


def _sources(sources: Any) -> list[str]:
    names = _names(sources, "sources")
    if not names or len(set(names)) < len(names):
        raise InputError(f"sources must be different attributes, at least one, got {names}")
    return names


def _stopping(seconds: Any, progress: Progress | None) -> Callable[[], bool]:
    """Return a function that shows the progress and says whether time is over."""
    _checks.progress(progress)
    most = math.inf if seconds is None else search_time(seconds)
    timer, total = Timer(most), None if math.isinf(most) else math.ceil(most)

    def over() -> bool:
        if progress is not None:
            progress(int(min(timer.spent, most)), total)
        return timer.over()

    return over


def _limits(domain: Domain, limits: Any) -> dict[str, float]:
    """Return the limit of each protected attribute."""
    if not isinstance(limits, Mapping):
        limit = _checks.epsilon(limits, "limits")
        return dict.fromkeys(domain.names, limit)
    return {
        domain[name].name: _checks.epsilon(limit, f"the limit of {_checks.shown(name)}")
        for name, limit in limits.items()
    }


def _epsilons(sources: Sequence[str], limits: Mapping[str, float], epsilon: Any) -> list[float]:
    """Return the own budget of each source."""
    given = epsilon if isinstance(epsilon, Mapping) else dict.fromkeys(sources, epsilon)
    for name in given:
        _checks.choice(name, "epsilon of an attribute", sources)
    found = []
    for name in sources:
        budget = given.get(name)
        if budget is None and name not in limits:
            raise InputError(f"epsilon must be given for {name!r}, which has no limit of its own")
        own = limits[name] if budget is None else _checks.epsilon(budget)
        found.append(min(own, limits.get(name, own)) if len(sources) == 1 else own)
    return found


def _wanted(sources: Sequence[str], wanted: Any) -> dict[tuple[int, ...], float] | None:
    """Return the weights of the wanted tables by the positions of their sources."""
    if wanted is None:
        return None
    given = wanted if isinstance(wanted, Mapping) else None
    tables = [wanted] if isinstance(wanted, str) else _checks.items(wanted, "wanted")
    found: dict[tuple[int, ...], float] = {}
    for one in tables:
        names = _names(one, "each of wanted")
        for name in names:
            _checks.choice(name, "wanted", sources)
        weight = 1.0 if given is None else _checks.weight(given[one], "a weight of wanted")
        axes = tuple(sorted({sources.index(name) for name in names}))
        if axes and weight > 0:
            found[axes] = weight
    if not found:
        raise InputError("wanted must name at least one source, with a weight above 0")
    return found


def _known_limits(
    counted: PairCounts | Records,
    sources: Sequence[str],
    limits: Mapping[str, float],
    sets: Sequence[Sequence[str]],
) -> list[RatioLimit]:
    """Return the limits given the values of attributes that an adversary may know."""
    if not sets:
        return []
    if isinstance(counted, PairCounts):
        raise InputError("known attributes need records; give the table itself")
    cells = answer_cells(counted, sources)
    many = int(np.prod([counted.domain[name].size for name in sources]))
    found: list[RatioLimit] = []
    for names in sets:
        groups = counted.groups(names)
        values = int(groups.max()) + 1
        for target, limit in limits.items():
            if target in names:
                continue
            if len(found) + values > MAX_KNOWN:
                raise InputError(
                    f"known attributes must make at most {MAX_KNOWN:,} limits, and "
                    f"{', '.join(names)} makes more; give fewer or coarser ones"
                )
            label = f"{target} given {', '.join(names)}"
            for counts in counts_by_cell(counted, target, cells, many, groups):
                rows = occurring(counts)
                if len(rows) > 1:
                    found.append(RatioLimit(label, rows, limit, "known"))
    return found
