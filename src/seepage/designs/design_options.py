"""From limits to a collection: budgets, forms and shaped reports within limits, and an
audit.

Here are `DesignOptions` and `CalibrationOptions`: what may be asked for, checked
without any data.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from seepage._core import checks
from seepage._core.options import option
from seepage.calibration.calibration_options import (
    PlanningOptions,
    choice_of,
    positive_limit,
)
from seepage.tables.table_options import ANSWERS

MAX_SEED = 2**64 - 1
"""Maximum seed: the plan states it, as an integer in JSON."""


MIN_LIMIT = 1e-6
"""Minimum limit in nats: budgets are accurate to 1e-7, and the error grows as 1 /
limit^2."""


def design_limit(value: Any, what: str = "limit") -> float:
    """Return a limit of a design, checked to be large enough."""
    limit = positive_limit(value, what)
    if limit < MIN_LIMIT:
        raise checks.violation(what, f"at least {MIN_LIMIT:g} for a design", value)
    return limit


def time_limit(value: Any, what: str = "seconds") -> float:
    """Return a time limit in seconds, checked to be above 0."""
    limit = checks.real(value, what)
    if not limit > 0:
        raise checks.violation(what, "above 0", value)
    return limit


def wanted_statistics(value: Any, what: str = "want") -> list[Any]:
    """Return wanted statistics: texts, and lists of names."""
    given = [value] if isinstance(value, str) else checks.items(value, what)
    each = f"each of {what}"
    return [one if isinstance(one, str) else checks.texts(one, each) for one in given]


def _scales(value: Any, what: str) -> Mapping[str, Any]:
    """Return the labels of each scale in their order, those of a codebook if it is a
    path.
    """
    if isinstance(value, (str, os.PathLike)):
        from seepage.tables.codebooks import read_scales  # with NumPy

        value = read_scales(value)
    scales = checks.mapping(value, what)
    for name, labels in scales.items():
        checks.texts(labels, f"{what} of {name}")
    return scales


@dataclass(frozen=True, kw_only=True)
class DesignOptions(PlanningOptions):
    """Options of `design`; a limit may be None: not protected.

    Parameters
    ----------
    mechanism
        `"grr"` for GRR throughout; None: a form of one question may use another
        mechanism if that is more precise.
    known
        Attributes whose values the adversary knows of the person: totals are
        conditional on them. For the population, every value needs records with every
        combination of known and public values.  If a combination of known values has
        none, the sum of a form's budgets is kept within the limit; if one of public
        values has none, it raises.  With public or known attributes reports are not
        shaped.
    importance
        Factor of each attribute's error in the mean that is minimised; by default 1 for
        all.
    objective
        The error that is minimised: the `"mean"` over attributes, or the `"largest"`,
        per value.
    people
        The number of people who will be asked, which errors are then for; by default as
        many as the table has records.
    precision
        The half-width that every share is to have, such as 0.03 (3 points in the
        command), from which the number to ask follows.  The plan's sentence states
        both; neither changes the design.
    title
        What is collected, for the plan's page.
    author
        Who designed it, for the plan's page.
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
        midpoints of bins, or of scores: `"mean hours = 10, 30, 50"`.
    scope
        For whom every limit holds: the `"population"` that the records are a random
        sample of, or the people in the `"table"` only.  For the population there must
        be one record per person (table option `person`), and it holds for a sample of
        the records too.
    confidence
        Confidence of all limits for the population at once.
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
    shape
        `"forms"`: a form may send one shaped report for all of its answers, if that is
        more precise and has at most 32 combinations of answers.  A change of one answer
        then changes a report's log-likelihood by at most its limit, and the leakage
        about the whole record is at most that of the product of the same form.
        `"never"`: each answer has its own report.
    seconds
        Time limit of reading and search, half of it at least for the search; Ctrl-C
        ends it too. Either way the best design so far is returned, certified like any
        other.
    rng
        Seed of the search and the sample.  The same seed gives the same design unless
        the time limit ends the search.
    """

    mechanism: str | None = field(
        default=None, metadata={"check": partial(checks.choice, options=("grr",))}
    )
    known: Sequence[str] = option(())
    importance: Any = option(1.0, type=Mapping[str, float], metavar="NAME=FACTOR")
    objective: Literal["mean", "largest"] = option(
        "mean", **choice_of("mean", "largest")
    )
    people: int | None = option(
        None, metavar="N", check=partial(checks.integer, minimum=1, maximum=2**53)
    )
    precision: float | None = option(
        None, metavar="POINTS", check=checks.inner_probability
    )
    title: str | None = option(None, check=checks.text)
    author: str | None = option(None, check=checks.text)
    record_limit: float | None = option(None, check=design_limit)
    never: Sequence[Sequence[str]] = option((), metavar="A,B")
    want: Sequence[Any] = option((), metavar="STATISTIC", check=wanted_statistics)
    largest: int | None = option(None, check=partial(checks.integer, minimum=1))
    scope: str = option("population", **choice_of("population", "table"))
    confidence: float = option(0.95, check=checks.inner_probability)
    answers: str | None = option(None, **choice_of(*ANSWERS))
    order: Any = option(
        dict,
        type=Mapping[str, Sequence[str]],
        metavar="COLUMN=A,B,...|CODEBOOK",
        check=_scales,
    )
    shape: str = option("forms", **choice_of("never", "forms"))
    seconds: float = option(15.0, check=time_limit)
    rng: Any = option(
        0, name="seed", check=partial(checks.required_seed, maximum=MAX_SEED)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.people is not None and self.precision is not None:
            raise checks.exclusive("people", "precision", "one follows from the other")

    def records_options(self, rng: int | None, scope: str) -> dict[str, Any]:
        """Return the options of reading `data`, with how answers are chosen."""
        given = super().records_options(rng, scope)
        merging = scope == "population" or bool(self.order)
        chosen = self.answers or ("merged" if merging else "as-is")
        return {**given, "answers": chosen, "order": self.order, "keep": self._named()}

    def _named(self) -> frozenset[str]:
        """Return the attributes that an option names: they are asked whatever their
        answers.
        """
        fields_of = ("columns", "public", "left_out", "known", "never")
        found = set[str]()
        pending = [getattr(self, name) for name in fields_of]
        mappings = (self.limit, self.importance)
        pending += [one for one in mappings if isinstance(one, Mapping)]
        for text in self._want_texts:  # "mean hours = 10, 30" or "ill x income"
            names = text.partition("=")[0].removeprefix("mean ").split(" x ")
            pending.append([name.strip() for name in names])
        while pending:
            one = pending.pop()
            if isinstance(one, str):
                found.add(one)
            elif isinstance(one, (Sequence, Mapping)):
                pending += list(one)
        return frozenset(found)

    @property
    def stated(self) -> dict[str, Any]:
        """The options that a plan states: objective, people, title, seed, want and the
        like.
        """
        names = ("objective", "people", "precision", "title", "author")
        stated = {
            name: value for name in names if (value := getattr(self, name)) is not None
        }
        return {**stated, "seed": self.rng, "want": self._want_texts}

    @property
    def _want_texts(self) -> list[str]:
        return [one if isinstance(one, str) else " x ".join(one) for one in self.want]
