"""`total_leakage`: from a table, budgets and a guarantee's name to the totals."""

from typing import Any

from seepage import _checks
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import DomainError, InputError
from seepage.leakage import LeakageMatrix, releases
from seepage.leakage.release import VIEWS, View
from seepage.totals.compute import Settings, compute
from seepage.totals.exact_total import fits
from seepage.totals.report_columns import columns_of
from seepage.totals.result import GUARANTEES, GuaranteeError, Progress, TotalLeakage

__all__ = ["choose_guarantee", "prepare", "total_leakage"]


def total_leakage(
    data: Any,
    epsilon: Any,
    mechanism: Any = None,
    guarantee: str = "auto",
    *,
    delta: Any = 0.0,
    view: View = "report",
    structure: Any = None,
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    sample: int | None = None,
    seed: int | None = 0,
    progress: Progress | None = None,
    **table: Any,
) -> TotalLeakage:
    """Return how much each attribute leaks in all, under a named guarantee.

    Parameters
    ----------
    data
        Records: any table that `count_pairs` takes, or `Records`; or `PairCounts`, with which
        only `"worst"`, `"independent"` and `"tree"` can be computed.
    epsilon, delta
        The budget of every attribute, or one for each (a sequence, or a mapping by name).
    mechanism
        None where only budgets are known: `"exact"` and `"witness"` then range over all
        mechanisms with these budgets, and `"sampled"` takes GRR for binary attributes, of which
        all others are post-processings, and refuses larger ones.  Or a registered name, or one
        for each attribute.
    guarantee
        What the totals rest on [theory-totals]:

        * `"worst"`, `"exact"`, `"merged"`: certified for the table's own joint distribution;
        * `"sampled"`: holds with `target_delta`, and for all attributes at once with
          `confidence` over the reports drawn;
        * `"independent"`, `"tree"`: right under an assumption only, and kinds say so;
        * `"witness"`: a lower bound, found by search;
        * `"auto"`: with records `"exact"` where it fits, else `"sampled"` (or `"merged"` where
          a mechanism is not known); with pair counts `"independent"`.

        Totals of a sample of records (`sample=n` here or in `Records.from_data`, and pair
        counts of such) are of kind `"assumed"`, all but `"worst"`: the people left out may have
        what leaks most.
    view
        What the adversary keeps: the whole `"report"` or a value `"inferred"` from it.
    structure
        For `"tree"`: edges as pairs of names, a `Forest`, or `Groups`.
    target_delta, confidence, reports
        For `"sampled"`: the delta of the totals, the confidence of all of them together, and how
        many reports are drawn.
    sample
        For a table: look at so many of its records only, see `Records.from_data`.
    seed
        Of everything that is drawn: the sample, the reports of `"sampled"`, the searches of
        `"witness"`.  The same seed gives the same numbers; None is another one each time.
    progress
        Called with the work done and the work in all.
    table
        For a table: options of `seepage.data.table.TableOptions`, such as `columns` and `bins`.

    Returns
    -------
    TotalLeakage
        Totals in the order of the attributes, with kind, deltas, DPL, CPL, TCPL and evidence.

    Notes
    -----
    A guarantee that lacks what it needs is refused with `GuaranteeError`, the size and a way
    out.  For costs see the module of each guarantee.

    Examples
    --------
    Two fair coins and whether they differ: each coin alone says nothing about the third
    attribute, both together do.

    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> total = total_leakage(coins, epsilon=1.0, mechanism="grr")
    >>> total.guarantee, total.kind, total.values.round(4).tolist()
    ('exact', 'certified', [1.4338, 1.4338, 1.4338])
    >>> total_leakage(coins.pairs(), epsilon=1.0, mechanism="grr").values.round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    settings = Settings(structure, target_delta, confidence, reports, seed, progress)
    _checks.choice(guarantee, "guarantee", ("auto", *GUARANTEES))
    known, matrix = prepare(
        data, epsilon, mechanism, delta, view, guarantee, sample=sample, seed=seed, **table
    )
    if guarantee == "auto":
        guarantee = _auto(known, matrix)
    return compute(guarantee, known, matrix, settings)


def prepare(
    data: Any,
    epsilon: Any,
    mechanism: Any,
    delta: Any,
    view: View,
    guarantee: str = "auto",
    *,
    sample: int | None = None,
    seed: int | None = 0,
    **table: Any,
) -> tuple[PairCounts | Records, LeakageMatrix]:
    """Return the data as pair counts or tuples, and the pairwise leakages at the budgets."""
    _checks.choice(view, "view", VIEWS)
    options = table if sample is None else {**table, "sample": sample}
    if isinstance(data, (PairCounts, Records)):
        if options:
            raise InputError(f"{min(options)!r} is an option of tables, and these are counted")
        known = data
    elif guarantee in ("worst", "independent") and sample is None:
        from seepage.data.counting import count_pairs

        known = count_pairs(data, **table)
    else:
        known = Records.from_data(data, seed=seed, **options)
    if not known.records:
        raise DomainError("there is no leakage without records, and this table has none")
    released = releases(known.domain, epsilon, mechanism, delta)
    pairs = known if isinstance(known, PairCounts) else known.pairs()
    return known, LeakageMatrix(pairs, released, view, {"min_count": 0.0, "prior": 0.0})


def choose_guarantee(
    data: PairCounts | Records, domain: Domain, mechanism: Any = None, epsilon: Any = 1.0
) -> str:
    """Return the name that `"auto"` stands for.

    Parameters
    ----------
    data
        Pair counts, or records as tuples.
    domain
        The attributes.
    mechanism, epsilon
        How they are released; budgets matter little for what fits.

    Examples
    --------
    >>> import seepage as sp
    >>> pairs = sp.load_pairs("adult")
    >>> choose_guarantee(pairs, pairs.domain)
    'independent'
    """
    pairs = data if isinstance(data, PairCounts) else data.pairs()
    released = releases(domain, epsilon, mechanism)
    return _auto(data, LeakageMatrix(pairs, released, "report", {"min_count": 0.0, "prior": 0.0}))


def _auto(data: PairCounts | Records, matrix: LeakageMatrix) -> str:
    if isinstance(data, PairCounts):
        return "independent"
    named = all(
        release.public
        or release.mechanism is not None
        or (attribute.size <= 2 and release.delta == 0)
        for attribute, release in zip(matrix.domain, matrix.releases, strict=True)
    )
    try:
        columns = columns_of(matrix.domain, matrix.releases, matrix.view)
    except GuaranteeError:
        return "sampled" if named else "merged"
    if fits(columns, data.records):
        return "exact"
    return "sampled" if named else "merged"
