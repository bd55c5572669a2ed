"""`find_design`: the forms, budgets and shares with the least error that keep every limit.

`frontier`: the error of designs against what a form may tell about the whole record.
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
from seepage.data.recoding import pool_rare, rare_values
from seepage.data.records import Records
from seepage.designs.design import Design
from seepage.designs.design_search import search_design
from seepage.designs.forms.form_search import time_limit
from seepage.designs.shaped.form_shaper import SHAPES
from seepage.designs.strategies import DESIGN, OPTIMAL_SMP
from seepage.errors import InputError
from seepage.leakage.population_limits import DEFAULT_POOL, MAX_NAMED
from seepage.totals.result import SCOPES, check_whole_table

POOLING_SHARE, POOLING_FROM = 0.1, 1.0
"""Share of the time for a design of pooled values, and the seconds in all from which it is made."""


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

    By default for the people whom the records are a random sample of, at a confidence of 95 %.

    A form is a set of attributes with a mechanism and a budget each.  Everyone gets one form, drawn
    without looking at the record; its reports tell about attribute k at most the form's total,
    computed for every attribute of the table, asked or not [theory-forms].

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`.  A sample of records is enough for
        `scope="population"` and raises for `scope="table"`.
    limit
        The allowed total of every attribute, or one for each (a mapping by name); None for an
        attribute that is not protected.
    mechanism
        `"grr"` for GRR throughout; None: a form of one question may use another mechanism where
        that is more precise.
    public, left_out
        Attributes that are public already, and attributes that are not collected.
    known
        Attributes whose values the adversary knows of the person: totals are conditional on them.
        For the population every value needs records with every combination of known and public
        ones: where known ones lack them a form keeps the sum of its budgets within the limit,
        where public ones do it raises.  Reports are not shaped with either.
    weights
        How much each attribute's error counts.
    least
        The smallest useful budget, for all or by attribute.
    record_limit
        The largest sum of budgets of a form: what it may tell about the whole record.
    together, never
        Groups of attributes that are only asked together; pairs never asked together.
    largest
        The most attributes of a form; forms of up to 8 are searched for where not given.
    joint
        Pairs whose joint distribution is wanted: their error counts like that of an attribute.
    scope, confidence
        For whom every limit holds: `"population"`, with this confidence for all limits together,
        if the records are a random sample of it with one record per person (table option
        `person`); or `"table"`, for the people in the table only.
    sample
        Read so many records drawn at random by the seed, for `scope="population"`: what is
        certified then holds for the table as well.
    shape
        Which forms send one shaped report where that is more precise, of at most 32 combinations
        of answers: `"never"`, `"single"` for those of one attribute, `"forms"` for all; with the
        rule that one answer changed changes a report by its limit at most, and no more told about
        the whole record than by the product of the same form.  `"record"`: without that rule.
    seconds
        How long to search at most, once the records are read; Ctrl-C ends it too.  Either way the
        best design so far is returned, certified like any other.  Reading, and counting the chosen
        forms again, come on top: 3 to 5 s for 300 columns of 20,000 records.
    seed
        Of the search and the sample.  The same seed gives the same design where time does not end
        the search.
    progress
        Called with the seconds spent and those in all.
    table_options
        Table options of `count_pairs`.

    Returns
    -------
    Design
        Forms with budgets, shares and totals, expected errors, the gap to the least error over
        the forms considered, and a comparison with other ways to spend the limit.

    Notes
    -----
    Shares are A-optimal by a multiplicative algorithm; new forms come by column generation.  The
    pool of forms holds every attribute alone and all attributes together, so neither SMP nor the
    calibrated collection has less weighted error, up to the gap.

    About the whole record a form tells up to the sum of its budgets, `record`; and an adversary who
    knows other attributes of the person can learn more than the total unless they are `known`.

    For the population all forms of a size are covered by a union bound, so that the choice among
    them costs no confidence, with equal budgets in each form [theory-population].

    Cost: 0.1 ms to count a form of binary attributes and 0.05 ms for its totals about 40
    attributes, after 6 ms for 115,000 distinct records; some thousands of forms.  For the
    population 10 ms for every form that seems to pay, six times.

    Examples
    --------
    Two fair coins and whether they differ: each two may be asked with the whole limit, all three
    may not.

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
    time = time_limit(seconds)
    number = _checks.integer(seed, "seed", 0)
    _checks.progress(progress)
    _checks.choice(scope, "scope", SCOPES)
    _checks.choice(shape, "shape", SHAPES)
    drawn = {} if sample is None else {"sample": sample, "seed": number}
    records = as_records(data, **drawn, **table_options)
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
    conditions = {  # for two designs, if need be
        name: list(value) if isinstance(value, Iterator) else value
        for name, value in conditions.items()
    }
    designed = partial(search_design, conditions, confidence, shape, mechanism, number)
    pool = _suggested_pool(records) if time >= POOLING_FROM else None
    if pool is None:
        return designed(records, time, progress)
    found = designed(records, (1 - POOLING_SHARE) * time, progress)
    if found.ended == "interrupted":
        return found
    shortly = partial(designed, seconds=POOLING_SHARE * time, progress=None)
    return _with_pooling_note(found, records, pool, shortly)


# What pooling rare values would gain ------------------------------------------------------------

WORTH = 0.97
"""Share of the error up to which pooling is worth a note."""


def _suggested_pool(records: Records) -> int | None:
    """Return the records below which values would be pooled; None where none is so rare."""
    pool = min(DEFAULT_POOL, max(2, records.records // 100))
    return pool if rare_values(records, pool) else None


def _with_pooling_note(
    found: Design, records: Records, pool: int, designed: Callable[[Records], Design]
) -> Design:
    """Return a design with a note on what pooling would gain, if it gains anything.

    Parameters
    ----------
    found, records
        The design and its records.
    pool
        Values of fewer records are pooled.
    designed
        Designs other records under the same conditions, in a short time.

    Notes
    -----
    Errors of different numbers of values cannot be compared, so each is divided by that of the
    best SMP on its own values.
    """
    try:
        before, after = found.of_smp, designed(pool_rare(records, pool)).of_smp
    except (InputError, KeyboardInterrupt):
        return found
    if before is None or after is None or after > WORTH * before:
        return found
    sizes = sorted(rare_values(records, pool).items(), key=lambda item: -len(item[1]))
    named = ", ".join(f"{name} {len(values)}" for name, values in sizes[:MAX_NAMED])
    more = f" and {len(sizes) - MAX_NAMED} more" if len(sizes) > MAX_NAMED else ""
    note = (
        f"pool={pool} would merge rare values ({named}{more}): a short search then finds "
        f"{after:.3g} of the best SMP's error, and this design has {before:.3g} of it"
    )
    return replace(found, notes=(*found.notes, note))


# Designs against what a form may tell about the whole record -------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Result):
    """The least errors found for some limits on the epsilon of the whole record.

    Parameters
    ----------
    designs
        One for each limit, ascending; the last has no limit but those of its attributes.
    record_limits
        The most that a form of each may tell about the whole record.
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
        return np.array([_product_error(design) for design in self.designs])

    @property
    def shares(self) -> Floats:
        """The errors as shares of that of one question each (SMP) with the best shares."""
        return self.errors / self._one_question

    @property
    def _one_question(self) -> float:
        found = [one.error for one in self.designs[-1].comparison if one.name == OPTIMAL_SMP]
        return found[0] if found else float(self.errors[0])

    @property
    def half_nat(self) -> float:
        """Factor by which the error grows where a form may tell half a nat less than the last."""
        most = float(self.record_limits[-1])
        before = np.interp(most - 0.5, self.record_limits, self.errors)
        return float(before / self.errors[-1])

    def chart(self) -> Any:
        """Return the errors with and without shaped reports against the record's epsilon."""
        from seepage.charts.results import frontier_chart

        whole = self._one_question
        rows = [
            {"record": float(limit), "share": float(error / whole), "reports": reports}
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
    """Return the least errors for limits on what a form tells about the whole record.

    Forms, reports and shares are designed anew for each limit on the epsilon of the whole record,
    from the smallest limit of an attribute, which leaves one question each (SMP), to what the
    design without such a limit tells.

    Parameters
    ----------
    data, limit
        As in `find_design`.
    points
        The number of designs, at least two.
    seconds
        Of all searches together.
    options
        Other keywords of `find_design`, but for `record_limit`, and table options.

    Notes
    -----
    A design within one limit keeps all larger ones, so errors never grow along the frontier: where
    a later search ends with a larger error, the design before it is taken.

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
    time = _checks.real(seconds, "seconds") / number
    if "record_limit" in options:
        raise InputError("record_limit must be left out: a frontier has one for each design")
    own = set(options) & set(inspect.signature(find_design).parameters)
    kept = {name: options.pop(name) for name in own}
    records = as_records(data, **options)
    last = find_design(records, limit, seconds=time, **kept)
    least = float(last.limits.min())
    grid = np.linspace(least, max(last.record, least), number)
    found = [
        *(
            find_design(records, limit, record_limit=most, seconds=time, **kept)
            for most in grid[:-1]
        ),
        last,
    ]
    for index in range(1, number):
        if found[index].error > found[index - 1].error:
            found[index] = found[index - 1]
    return Frontier(tuple(found), grid)


def _product_error(design: Design) -> float:
    """Return the error of the design without shaped reports."""
    return next((one.error for one in design.comparison if one.name == DESIGN), design.error)
