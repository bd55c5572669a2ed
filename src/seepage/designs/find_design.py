"""`find_design`: the forms, budgets and shares with the least error that keep every limit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from seepage import _checks
from seepage._results import Progress
from seepage.data.inputs import as_records
from seepage.data.pooling import pool_records, rare_values
from seepage.data.records import Records
from seepage.designs.design import Design
from seepage.designs.design_options import make_form_problem
from seepage.designs.design_search import DesignRun, make_certifier, shape_forms
from seepage.designs.forms.form_search import Timer, search_time
from seepage.designs.shaped.form_shaper import SHAPES
from seepage.errors import InputError
from seepage.leakage.pooling_gain import NAMED, SUGGESTED
from seepage.totals.population_totals import SCOPES
from seepage.totals.result import refuse_sample

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
    time = search_time(seconds)
    number = _checks.integer(seed, "seed", 0)
    _checks.progress(progress)
    _checks.choice(scope, "scope", SCOPES)
    _checks.choice(shape, "shape", SHAPES)
    drawn = {} if sample is None else {"sample": sample, "seed": number}
    records = as_records(data, **drawn, **table_options)
    hint = "give the table itself, or scope='population'"
    refuse_sample(records, "exact", "designs for the table", scope, hint)
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

    def designed(people: Records, share: float, shown: Progress | None) -> Design:
        timer = Timer(share * time)
        problem = make_form_problem(people, **conditions)
        strata = problem.public_places or problem.known_places
        shaped = mechanism is None and shape != "never" and not strata
        certifier = make_certifier(problem, people, confidence, timer, number, shaped)
        run = DesignRun(certifier, timer, largest, mechanism, shown)
        run.start()
        if shaped:
            shape_forms(run, shape, number)
        run.search(number)
        return run.result(number)

    pool = _suggested_pool(records) if time >= POOLING_FROM else None
    found = designed(records, 1.0 if pool is None else 1 - POOLING_SHARE, progress)
    if pool is None or found.ended == "interrupted":
        return found
    return _with_pooling_note(
        found, records, pool, lambda people: designed(people, POOLING_SHARE, None)
    )


# What pooling rare values would gain ------------------------------------------------------------

WORTH = 0.97
"""Share of the error up to which pooling is worth a note."""


def _suggested_pool(records: Records) -> int | None:
    """Return the records below which values would be pooled; None where none is so rare."""
    pool = min(SUGGESTED, max(2, records.records // 100))
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
        before, after = found.of_smp, designed(pool_records(records, pool)).of_smp
    except (InputError, KeyboardInterrupt):
        return found
    if before is None or after is None or after > WORTH * before:
        return found
    sizes = sorted(rare_values(records, pool).items(), key=lambda item: -len(item[1]))
    named = ", ".join(f"{name} {len(values)}" for name, values in sizes[:NAMED])
    more = f" and {len(sizes) - NAMED} more" if len(sizes) > NAMED else ""
    note = (
        f"pool={pool} would merge rare values ({named}{more}): a short search then finds "
        f"{after:.3g} of the best SMP's error, and this design has {before:.3g} of it"
    )
    return replace(found, notes=(*found.notes, note))
