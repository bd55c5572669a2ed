"""`find_design`: the forms, budgets and shares with the least error within all limits.

`frontier`: the error of designs against the limit of a form's leakage about the whole record.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Progress, Result
from seepage.data.inputs import as_records
from seepage.data.recoding import default_pool, merged_counts, pool_rare, rare_values
from seepage.data.records import Records
from seepage.designs.design import Design
from seepage.designs.design_search import search_design
from seepage.designs.forms.form_search import time_limit
from seepage.designs.shaped.form_shaper import SHAPES
from seepage.designs.strategies import DESIGN, OPTIMAL_SMP, error_of
from seepage.errors import InputError
from seepage.totals.result import SCOPES, check_whole_table

POOLING_SHARE, MIN_POOLING_SECONDS = 0.1, 1.0
"""Share of the time limit for a design with pooled values, and the minimum time limit for it."""


def find_design(
    data: Any,
    limit: Any,
    *,
    mechanism: str | None = None,
    public: Iterable[str] = (),
    left_out: Iterable[str] = (),
    known: Iterable[str] = (),
    weights: Any = 1.0,
    least: Any = 0.0,
    record_limit: float | None = None,
    together: Iterable[Iterable[str]] = (),
    never: Iterable[Iterable[str]] = (),
    largest: int | None = None,
    joint: Iterable[Iterable[str]] = (),
    scope: str = "population",
    confidence: float = 0.95,
    sample: int | None = None,
    shape: str = "forms",
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
    **table_options: Any,
) -> Design:
    """Return the most accurate collection by forms whose totals provably stay within the limit.

    By default for the population that the records are a random sample of, at confidence 95 %.

    A form is a set of attributes with a mechanism and a budget each.  Everyone gets one form, drawn
    independently of the record.  The leakage of its reports about attribute k is at most the form's
    total, computed for every attribute of the table, asked or not [theory-forms].

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`.  A sample of records is enough for
        `scope="population"` and raises for `scope="table"`.
    limit
        The maximum total of every attribute in nats, or one for each (a mapping by name); None for
        an attribute that is not protected.
    mechanism
        `"grr"` for GRR throughout; None: a form of one question may use another mechanism if that
        is more precise.
    public, left_out
        Attributes whose values are public, and attributes that are not collected.
    known
        Attributes whose values the adversary knows of the person: totals are conditional on them.
        For the population, every value needs records with every combination of known and public
        values.  If a combination of known values has none, the sum of a form's budgets is kept
        within the limit; if one of public values has none, it raises.  With public or known
        attributes reports are not shaped.
    weights
        Weight of each attribute's error.
    least
        The minimum useful budget, for all or by attribute.
    record_limit
        The maximum sum of budgets of a form, which bounds its leakage about the whole record.
    together, never
        Groups of attributes that are only asked together; pairs never asked together.
    largest
        The maximum number of attributes of a form; by default 8.
    joint
        Pairs whose joint distribution is estimated: its error counts like that of an attribute.
    scope, confidence
        For whom every limit holds: `"population"`, with this confidence for all limits at once,
        if the records are a random sample of it with one record per person (table option
        `person`); or `"table"`, for the people in the table only.
    sample
        Number of records to draw at random, by the seed, for `scope="population"`: the limits then
        hold for the table as well.
    shape
        The forms that may send one shaped report, if it is more precise and has at most 32
        combinations of answers: `"never"`, `"single"` for forms of one attribute, `"forms"` for
        all.  A change of one answer then changes a report's log-likelihood by at most its limit,
        and the leakage about the whole record is at most that of the product of the same form.
        `"record"`: like `"forms"`, without the limit on changes of one answer.
    seconds
        Time limit of the search, after the records are read; Ctrl-C ends it too.  Either way the
        best design so far is returned, certified like any other.
    seed
        Seed of the search and the sample.  The same seed gives the same design unless the time
        limit ends the search.
    progress
        Called with the elapsed seconds and the time limit.
    table_options
        Table options of `count_pairs`.

    Returns
    -------
    Design
        Forms with budgets, shares and totals, expected errors, the optimality gap over the forms
        considered, and a comparison with other strategies within the same limit.

    Notes
    -----
    Shares are A-optimal by a multiplicative algorithm; new forms come by column generation.  The
    pool of forms contains every attribute alone and all attributes together, so neither SMP nor the
    calibrated collection has a smaller weighted error, up to the gap.

    The leakage of a form about the whole record is up to the sum of its budgets, `record`; and an
    adversary who knows other attributes of the person can learn more than the total unless they are
    `known`.

    For the population a union bound covers all forms of a size, so that the selection among them
    costs no confidence, with equal budgets in each form [theory-population].

    Cost: 0.05 ms to count a form of binary attributes and 0.1 ms for its totals about 40
    attributes, after 6 ms for 115,000 distinct records; some thousands of forms.  For the
    population also six evaluations of 10 ms for every form that the screen finds improving.

    Examples
    --------
    Two fair coins and whether they differ: any two may be asked with the whole limit each, all
    three may not.

    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> found = sp.find_design(coins, 1.0, scope="table")
    >>> sorted(form.attributes for form in found.forms)
    [('a', 'b'), ('a', 'differ'), ('b', 'differ')]
    >>> round(float(found.totals.max()), 6), round(found.record, 6)
    (1.0, 2.0)
    """
    if mechanism is not None:
        _checks.choice(mechanism, "mechanism", ("grr",))
    limit_seconds = time_limit(seconds)
    seed_number = _checks.integer(seed, "seed", 0)
    _checks.progress(progress)
    _checks.choice(scope, "scope", SCOPES)
    _checks.choice(shape, "shape", SHAPES)
    sampling = {} if sample is None else {"sample": sample, "seed": seed_number}
    records = as_records(data, **sampling, **table_options)
    hint = "give the table itself, or scope='population'"
    check_whole_table(records, "exact", "designs for the table", scope, hint)
    conditions = {
        "limit": limit,
        "public": public,
        "left_out": left_out,
        "known": known,
        "weights": weights,
        "least": least,
        "record_limit": record_limit,
        "together": together,
        "never": never,
        "largest": largest,
        "joint": joint,
        "scope": scope,
    }
    conditions = {  # iterators are read twice if values are pooled
        name: list(value) if isinstance(value, Iterator) else value
        for name, value in conditions.items()
    }
    search = partial(search_design, conditions, confidence, shape, mechanism, seed_number)
    rare = rare_values(records, default_pool(records.records))
    if not rare or limit_seconds < MIN_POOLING_SECONDS:
        return search(records, limit_seconds, progress)
    design = search(records, (1 - POOLING_SHARE) * limit_seconds, progress)
    if design.ended == "interrupted":
        return design
    short_search = partial(search, seconds=POOLING_SHARE * limit_seconds, progress=None)
    return _with_pooling_note(design, records, merged_counts(rare), short_search)


# The gain of pooling rare values ----------------------------------------------------------------

MAX_POOLED_RATIO = 0.97
"""Maximum ratio of the errors with and without pooling for a note that suggests pooling."""


def _with_pooling_note(
    design: Design, records: Records, merged: str, search: Callable[[Records], Design]
) -> Design:
    """Return a design with a note if pooling rare values would lower its error.

    Parameters
    ----------
    design, records
        The design and its records.
    merged
        The numbers of rare values by attribute, for the note.
    search
        Returns a design of other records under the same conditions, in a short time.

    Notes
    -----
    Errors over different numbers of values cannot be compared, so each is divided by that of SMP
    with the best shares on the same values.
    """
    pool = default_pool(records.records)
    try:
        before, after = design.of_smp, search(pool_rare(records, pool)).of_smp
    except (InputError, KeyboardInterrupt):
        return design
    if before is None or after is None or after > MAX_POOLED_RATIO * before:
        return design
    note = (
        f"pool={pool} would merge rare values ({merged}): a short search then finds "
        f"{after:.3g} of the best SMP's error, and this design has {before:.3g} of it"
    )
    return replace(design, notes=(*design.notes, note))


# The error against the leakage about the whole record --------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Result):
    """The least errors found for a grid of limits on the leakage about the whole record.

    Parameters
    ----------
    designs
        One design for each limit, ascending; the last has only the limits of its attributes.
    record_limits
        The maximum leakage in nats of a form of each design about the whole record.
    """

    designs: tuple[Design, ...]
    record_limits: Floats

    @property
    def errors(self) -> Floats:
        """The error of each design."""
        return np.array([design.error for design in self.designs])

    @property
    def product_errors(self) -> Floats:
        """The error of each design without shaped reports."""
        products = (error_of(DESIGN, design.comparison) for design in self.designs)
        errors = zip(products, self.errors.tolist(), strict=True)
        return np.array([error if product is None else product for product, error in errors])

    @property
    def shares(self) -> Floats:
        """The errors relative to that of one question each (SMP) with the best shares."""
        return self.errors / self._smp_error

    @property
    def _smp_error(self) -> float:
        error = error_of(OPTIMAL_SMP, self.designs[-1].comparison)
        return float(self.errors[0]) if error is None else error

    @property
    def half_nat(self) -> float:
        """Ratio of the errors at the last record limit minus half a nat and at the last one."""
        last = float(self.record_limits[-1])
        error = np.interp(last - 0.5, self.record_limits, self.errors)
        return float(error / self.errors[-1])

    def chart(self) -> Any:
        """Return the errors with and without shaped reports against the record's epsilon."""
        from seepage.charts.results import frontier_chart

        smp_error = self._smp_error
        rows = [
            {"record": float(limit), "share": float(error / smp_error), "reports": reports}
            for reports, errors in (
                ("one for each answer", self.product_errors),
                ("shaped where that gains", self.errors),
            )
            for limit, error in zip(self.record_limits, errors, strict=True)
        ]
        return frontier_chart(rows)

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {
            "record_limit": self.record_limits.tolist(),
            "record": [design.record for design in self.designs],
            "error": self.errors.tolist(),
            "product_error": self.product_errors.tolist(),
            "of_smp": self.shares.tolist(),
        }

    def _headline(self) -> str:
        return (
            f"Frontier({len(self.designs)} designs, whole record {self.record_limits[0]:.3g} to "
            f"{self.record_limits[-1]:.3g}, error {self.shares[0]:.3g} to {self.shares[-1]:.3g} "
            f"of the best SMP, half a nat less costs a factor of {self.half_nat:.3g})"
        )


def frontier(
    data: Any, limit: Any, *, points: int = 4, seconds: float = 60.0, **options: Any
) -> Frontier:
    """Return the least errors for a grid of limits on a form's leakage about the whole record.

    Forms, reports and shares are designed anew for each limit, from the smallest limit of an
    attribute, which leaves one question each (SMP), to the leakage of the design without such a
    limit.

    Parameters
    ----------
    data, limit
        As in `find_design`.
    points
        The number of designs, at least two.
    seconds
        Time limit of all searches together.
    options
        Other keywords of `find_design`, except `record_limit`, and table options.

    Notes
    -----
    A design within one limit is within all larger ones, so errors never increase along the
    frontier: if a later search ends with a larger error, the design before it is taken.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> found = sp.frontier(coins, 1.0, points=2, scope="table", shape="never")
    >>> found.record_limits.round(3).tolist(), found.shares.round(3).tolist()
    ([1.0, 2.0], [1.0, 0.5])
    """
    number = _checks.integer(points, "points", 2, 50)
    seconds_each = _checks.real(seconds, "seconds") / number
    if "record_limit" in options:
        raise InputError("record_limit must be left out: a frontier has one for each design")
    names = set(options) & set(inspect.signature(find_design).parameters)
    keywords = {name: options.pop(name) for name in names}
    records = as_records(data, **options)
    last = find_design(records, limit, seconds=seconds_each, **keywords)
    lowest = float(last.limits.min())
    grid = np.linspace(lowest, max(last.record, lowest), number)
    designs = [
        find_design(records, limit, record_limit=record, seconds=seconds_each, **keywords)
        for record in grid[:-1].tolist()
    ]
    designs.append(last)
    for index in range(1, number):
        designs[index] = min(designs[index], designs[index - 1], key=lambda one: one.error)
    return Frontier(tuple(designs), grid)
