"""Plans within limits: `calibrate` (everyone is asked everything), `design`,
`compare_limits`.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, Unpack

from seepage._core.errors import DataWarning
from seepage._core.progress import shown_progress
from seepage.calibration.calibration import Calibration, calibrated
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.channel.records import Records
from seepage.designs.design_options import DesignOptions, ShapedSets, WarmStart
from seepage.designs.forms.form import Form, with_shares
from seepage.designs.forms.form_channels import ProductChannel
from seepage.designs.forms.question import Question
from seepage.mechanisms.subset_selection import best_mechanism
from seepage.plan.attributes import stored_attributes
from seepage.plan.left_out import left_out_sentence
from seepage.plan.provenance import Provenance
from seepage.tables.codebook_options import CodebookOptions
from seepage.tables.opened_table import merged_reading
from seepage.tables.table_options import TableKeywords, check_keywords
from seepage.workflow.plan import Plan

if TYPE_CHECKING:
    from seepage.designs.design import Design


def calibrate(
    data: Any,
    limit: Any,
    *,
    mechanism: Any = None,
    guarantee: str = "auto",
    audit: bool = True,
    scope: str | None = None,
    delta: Any = 0.0,
    view: Literal["report", "inferred"] = "report",
    uncertainty: Any = 0.0,
    public: Sequence[str] = (),
    left_out: Sequence[str] = (),
    keep: Sequence[str] = (),
    sample: int | None = None,
    target_delta: float = 0.01,
    confidence: float = 0.95,
    reports: int = 20_000,
    rng: Any = 0,
    **table: Unpack[TableKeywords],
) -> Plan:
    """Return the plan with the largest budgets whose totals stay within the limit.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  A sample of
        records raises, except for the guarantee `"worst"`, which needs no records (the
        plan's provenance states the sample), and for `scope="population"`.
    limit
        The maximum total of every attribute: a number of nats, or odds such as
        `"7.4x"`, which is ln 7.4 nats.  Or one for each: a sequence, or
        a mapping by name, with `"*"` for all others.
    mechanism
        A mechanism; by default any, and the one of least variance is planned.  By name,
        for all or by attribute: its own leakage is used, else the bound that holds for
        any mechanism.
    guarantee
        Guarantee of the totals: worst, exact, merged, sampled, independent, sum, or
        `"auto"`.  See `total_leakage`; `"auto"` is `"independent"` for pair counts, and
        for records `"exact"` if it fits, else `"sampled"`.
    audit
        Search for a witness against a guarantee that is an assumption; needs records.
    delta
        Delta of (epsilon, delta)-LDP; totals then have one too.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the
        inferred value.
    uncertainty
        The total variation distance from the table's within which the rows of every
        channel lie, for `"independent"` and `"sum"`: an assumption, which the plan
        states.  Or one for each target, or what `compare_tables` returned.
    scope
        For whom totals hold: the `"population"` that the records are a random sample of
        (the default for records and `"auto"`, `"exact"` or `"merged"`), or the people
        in the `"table"`. For the population they are upper confidence limits, and
        budgets the largest that pass, which costs no confidence [theory-certificate:
        Families].
    public
        Attributes whose values are public.
    left_out
        Attributes that are not collected.
    keep
        Columns that are used though their values or their name tell that they are no
        answers, and asked though all of their answers but one are rare.
    sample
        Number of records to draw at random, by the seed; all by default.
    target_delta
        The delta of sampled totals.
    confidence
        The confidence of all totals together, if they are sampled or for the
        population.
    reports
        Number of reports drawn for sampled totals.
    rng
        Seed of the sample, of sampled and witness totals, and of people drawn.
    **table
        How the data are read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> plan = sp.calibrate(adult, limit=1.0)
    >>> plan.guarantee, plan.kind
    ('independent', 'assumed')
    >>> round(plan["sex"].epsilon, 4), max(a.total for a in plan.attributes) <= 1.0
    (0.7297, True)

    If the rows of next year's table may be 0.02 away from this one's:

    >>> cautious = sp.calibrate(adult, limit=1.0, uncertainty=0.02)
    >>> round(cautious["sex"].epsilon, 4), cautious.notes[0]  # doctest: +ELLIPSIS
    (0.6824, "assumed: rows within 0.02 of the table's, in total variation, ...")
    """
    check_keywords(table, calibrate)
    data, table = merged_reading(data, table)
    options = CalibrationOptions(
        limit=limit,
        mechanism=mechanism,
        guarantee=guarantee,
        audit=audit,
        scope=scope,
        delta=delta,
        view=view,
        uncertainty=uncertainty,
        public=public,
        left_out=left_out,
        keep=keep,
        sample=sample,
        target_delta=target_delta,
        confidence=confidence,
        reports=reports,
        rng=rng,
        **table,
    )
    return plan_of(calibrated(data, options))


def plan_of(calibration: Calibration) -> Plan:
    """Return the plan of a calibration within limits: one form, which asks everyone for
    everything collected.
    """
    problem = calibration.problem
    totals = calibration.totals
    releases = totals.matrix.releases
    names = problem.domain.names
    questions = list[Question]()
    for index, epsilon in enumerate(calibration.epsilons.tolist()):
        if problem.collected[index]:
            mechanism = releases[index].mechanism
            if mechanism is None:
                mechanism = best_mechanism(problem.domain.sizes[index], epsilon)
            questions.append(Question.of(names[index], mechanism))
    form = Form.of(
        ProductChannel(questions=tuple(questions)),
        totals.guarantee,
        totals.values.tolist(),
        totals.deltas.tolist(),
    )
    settings: dict[str, Any] = {"guarantee": totals.guarantee}
    person = None
    if isinstance(problem.data, Records):
        origin = problem.data.origin
        person = origin.person
        settings |= origin.settings()
    basis: Literal["bound", "mechanism"] = "mechanism"
    if all(release.mechanism is None for release in releases):
        basis = "bound"
    return Plan(
        listed=stored_attributes(
            problem.pairs,
            problem.limits.tolist(),
            compress(names, problem.roles.public),
        ),
        forms=with_shares([form], [1.0]),
        basis=basis,
        view=totals.view,
        confidence=totals.confidence,
        scope=_scope(totals.scope),
        provenance=Provenance.of(problem.pairs, settings, person),
        notes=(*totals.notes, *calibration.notes),
    )


def _scope(name: str) -> Literal["table", "population"]:
    """Return whom totals within limits hold for, as a plan states it."""
    if name == "population":
        return "population"
    return "table"


def design(
    data: Any,
    limit: Any,
    *,
    known: Sequence[str] = (),
    public: Sequence[str] = (),
    left_out: Sequence[str] = (),
    keep: Sequence[str] = (),
    want: str | Sequence[Any] = (),
    importance: Any = 1.0,
    objective: Literal["mean", "largest"] = "mean",
    people: int | None = None,
    precision: float | None = None,
    record_limit: float | None = None,
    never: Sequence[Sequence[str]] = (),
    largest: int | None = None,
    scope: str = "population",
    confidence: float = 0.95,
    looks: int = 1,
    answers: str | None = None,
    order: str | os.PathLike[str] | Mapping[str, Sequence[str]] | None = None,
    codebook: str | os.PathLike[str] | None = None,
    shape: str = "forms",
    mechanism: str | None = None,
    title: str | None = None,
    sample: int | None = None,
    start: Any = None,
    effort: float = 1.0,
    rounds: int | None = None,
    seconds: float = 300.0,
    rng: Any = 0,
    **table: Unpack[TableKeywords],
) -> Plan:
    """Return the plan of forms with the least error that provably keeps every total in
    its limit.

    Everyone is given one form, some attributes with a budget each, drawn independently
    of the record.  Each form's totals are computed for every attribute of the table,
    asked or not.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`; for `scope="population"` a
        sample of records is enough.
    limit
        The maximum total of every attribute: a number of nats, or odds such as
        `"7.4x"`, which is ln 7.4 nats.  Or one for each: a sequence, or
        a mapping by name, with `"*"` for all others.
    public
        Attributes whose values are public.
    left_out
        Attributes that are not collected.
    keep
        Columns that are used though their values or their name tell that they are no
        answers, and asked though all of their answers but one are rare.
    sample
        Number of records to draw at random, by the seed; all by default.
    mechanism
        `"grr"` for GRR throughout; None: a form of one question may use another
        mechanism if that is more precise.
    known
        Attributes whose values everyone who sees reports knows of the person: totals
        are conditional on them, nothing is promised about them, and their budgets are
        at most the largest limit. For the population, every value needs records with
        every combination of known and public values.  If a combination of known values
        has none, the sum of a form's budgets is kept within the limit; if one of public
        values has none, it raises.  With public or known attributes reports are not
        shaped.
    importance
        Factor of each attribute's error in the mean that is minimised; by default 1 for
        all.
    objective
        The error that is minimised: the `"mean"` over attributes, of which a fiftieth
        is given up for a smaller largest error, or the `"largest"` of an answer, from
        which the number of people follows.  It takes up to half as much work more,
        since the search for the mean comes first: it needs at most as many people.
    people
        The number of people who will be asked, which errors are then for; by default as
        many as the table has records.
    precision
        The half-width that every share is to have, such as 0.03 (3 points in the
        command), from which the number to ask follows.  The plan's sentence states
        both; neither changes the design.
    title
        What is collected, for the plan's page.
    record_limit
        The maximum sum of budgets of a form, which bounds its leakage about the whole
        record.
    never
        Pairs of attributes that are never asked together.
    largest
        The maximum number of attributes of a form; by default 8.
    want
        A joint table to estimate beside all frequencies (`"ill x income"`), or a mean
        in place of those of a numeric answer (`"mean hours"`).  The error of a joint
        table, also given as a tuple of names, counts like that of an attribute; some
        form asks for all of them.  The mean is that of the values as numbers, of the
        means within intervals on the part that fixed them (open ones too), midpoints of
        bins, or of scores: `"mean hours = 10, 30, 50"`.
    scope
        For whom every limit holds: the `"population"` that the records are a random
        sample of, or the people in the `"table"` only.  For the population there must
        be one record per person (table option `person`), and it holds for a sample of
        the records too.
    confidence
        Confidence of all limits for the population at once.
    looks
        How many plans may be computed from these records before one of them is used:
        other seeds, limits, columns or options, each counted.  The error probability 1
        - `confidence` is divided by it, so that whichever is used, its limits hold with
        `confidence`; the plan states the confidence of one look.
    answers
        `"merged"` (the default for the population): answers that have people enough,
        chosen on a random part of the records; `"as-is"` (the default for the table):
        all values.  Merged are neighbouring intervals of a number, at most 6, and rare
        labels as "(other)"; columns in which all answers but one are rare are not
        asked, unless another option names them.
    order
        The scale of an attribute, labels in their order, whose neighbours are then
        merged.  Or the path of a codebook, a CSV file with the columns attribute,
        value, label and order: a number for each value of a scale.
    codebook
        The path of a codebook (see `seepage.tables.codebooks`), such as `sp.check` or
        `Plan.save_codebook` write: scales, intervals, values that mean missing, merged
        answers, and roles of attributes.  Options given here have priority.
    shape
        `"forms"`: a form may send one shaped report for all of its answers, if that is
        more precise and has at most 32 combinations of answers, or 48 where all
        questions together have no more.  A change of one answer then changes a
        report's log-likelihood by at most its limit, and the leakage about the whole
        record is at most that of the product of the same form.
        `"never"`: each answer has its own report.
    start
        A plan, or its path, to start from: its sets of questions are tried first, so
        that one change of the options costs a fifth of the work.  Questions that are
        not asked any more are left out of them, and budgets are computed anew.  Those
        that its search chose to shape are shaped first, for the population only if it
        chose them on the same part of the records.  Each plan is one more look at the
        records (`looks`).
    effort
        How much the search computes, as a multiple of the default: 4 may find a
        slightly better plan, 0.1 is a quick look.  The search ends by what it has
        computed, so the same call gives the same plan on a fast and on a busy machine.
    rounds
        End the search after this many rounds: a search that was interrupted states how
        many repeat it.
    seconds
        Cap on the time of the search, after which the best design so far is returned,
        certified like any other; the plan says so.  Ctrl-C ends the search too.
    rng
        Seed of the search and the sample.
    **table
        How the data are read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Notes
    -----
    Its provenance states the optimality gap over the forms considered, its alternatives
    the errors of other strategies within the limit.

    By default every limit holds for the population that the records are a random sample
    of, with confidence 0.95; use `scope="table"` if everybody is in the table.

    The totals are per attribute, against an adversary who knows the distribution and
    nothing else about the person.  The leakage of a form about the whole record is its
    `record`, the sum of its budgets.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    ... )
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> plan = sp.design(coins, 1.0, scope="table")
    >>> plan.guarantee, plan.kind, sorted(form.attributes for form in plan.forms)
    ('exact', 'certified', [('a', 'b', 'differ')])

    Four records certify little about a population, so each person is asked one
    question:

    >>> sp.design(coins, 1.0)  # doctest: +ELLIPSIS
    Plan(3 forms, ... odds change at most 2.8 times, epsilon 1, guarantee worst (...))
    """
    from seepage.designs.design_search import designed  # imports SciPy

    check_keywords(table, design)
    book = CodebookOptions.read(codebook)
    data, reading = merged_reading(data, book.reading(table))
    options = DesignOptions(
        limit=limit,
        known=book.with_named(known, "known"),
        public=book.with_named(public, "public"),
        left_out=book.with_named(left_out, "left_out"),
        keep=book.with_named(keep, "keep"),
        want=want,
        importance=importance,
        objective=objective,
        people=people,
        precision=precision,
        record_limit=record_limit,
        never=never,
        largest=largest,
        scope=scope,
        confidence=confidence,
        looks=looks,
        answers=answers,
        order=book.with_scales(order),
        codebook=book,
        shape=shape,
        mechanism=mechanism,
        title=title,
        sample=sample,
        start=warm_start(start),
        effort=effort,
        rounds=rounds,
        seconds=seconds,
        rng=rng,
        **reading,
    )
    with shown_progress(options.progress, "searching") as progress:
        shown = replace(options, progress=progress)
        plan = plan_of_design(designed(data, shown))
    if plan.provenance.settings.keys() & RARE_SETTINGS:
        warnings.warn(DataWarning(left_out_sentence(plan)), stacklevel=2)
    return plan


def warm_start(start: Any) -> WarmStart | None:
    """Return what a design within limits starts from: a plan, or the file of one; None
    for None.

    Its forms may be certified anew as products: for the population all sets of a size
    count. Which sets to shape its search chose before any record certified them.
    """
    if start is None:
        return None
    plan = start if isinstance(start, Plan) else Plan.load(start)
    searched: Any = plan.provenance.settings.get("design", {})
    sets = searched.get("sets") or [form.attributes for form in plan.forms]
    return WarmStart(
        sets=tuple(tuple(names) for names in sets),
        shaped=ShapedSets(
            sets=tuple(tuple(names) for names in searched.get("shaped sets", ())),
            part=searched.get("shaped on", ""),
        ),
    )


RARE_SETTINGS = {"protected", "too rare"}
"""Settings of a plan that does not ask for columns with rare answers: a warning says
so."""


def plan_of_design(design: "Design") -> Plan:
    """Return the plan of a design within limits, its evidence in the settings and
    notes.
    """
    pairs = design.records.pairs()
    certifier = design.certifier
    limits = design.problem.limits.tolist()
    return Plan(
        listed=stored_attributes(pairs, limits, design.public, with_frequencies=True),
        forms=design.forms,
        basis="mechanism",
        confidence=certifier.confidence,
        scope=_scope(certifier.scope),
        provenance=Provenance.of(pairs, design.settings, design.records.origin.person),
        notes=design.notes,
        alternatives=design.comparison[:-1],
        priced=design.changes,
    )
