"""`find_design`: the forms, budgets and shares with the least error within all limits."""

from collections.abc import Iterable
from typing import Any

from seepage import _checks
from seepage._results import Progress
from seepage.data.inputs import DATA_OPTIONS, as_records
from seepage.designs.design import Design
from seepage.designs.design_search import search_design
from seepage.designs.forms.form_search import time_limit
from seepage.designs.shaped.form_shaper import SHAPES
from seepage.errors import Setting, Text
from seepage.totals.guarantees import SCOPES, check_whole_table


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
    _checks.options(table_options, DATA_OPTIONS, find_design)
    records = as_records(data, **sampling, **table_options)
    hint = Text("give the table itself, or ", Setting("scope", "population"))
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
    return search_design(
        conditions,
        confidence,
        shape,
        mechanism,
        seed_number,
        records,
        limit_seconds,
        progress,
    )
