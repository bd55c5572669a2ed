"""Options of `design` as one object, checked without any data."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from seepage._core import checks
from seepage._core.nested_texts import MAX_NESTING, nested_texts
from seepage._core.wanted_text import TIMES, names_in
from seepage.calibration.calibration_options import PlanningOptions, positive_limit
from seepage.confidence.union_bound import divided
from seepage.tables.table_options import ANSWERS, TableKeywords

MAX_SEED = 2**64 - 1
"""Maximum seed: the plan states it, as an integer in JSON."""


DEFAULT_WIDTH = 0.03
"""Half-width that every share is to have, unless the plan states another or a number of
people."""


MAX_LOOKS = 1000
"""Maximum number of looks at the same records: each has a share of the error
probability."""


MIN_LIMIT = 1e-6
"""Minimum limit in nats: budgets are accurate to 1e-7, and the error grows as 1 /
limit^2."""


def design_limit(value: Any, what: str = "limit") -> float:
    """Return the option `limit` of a design, checked to be large enough."""
    limit = positive_limit(value, what)
    if limit < MIN_LIMIT:
        raise checks.violation(what, f"at least {MIN_LIMIT:g} for a design", value)
    return limit


def wanted_statistics(value: Any, what: str = "want") -> list[Any]:
    """Return the option `want` of a design: texts, and lists of names."""
    if isinstance(value, str):
        return [value]
    statistics = list[Any]()
    for statistic in checks.items(value, what):
        if isinstance(statistic, str):
            statistics.append(statistic)
        else:
            statistics.append(checks.texts(statistic, f"each of {what}"))
    return statistics


def _scales(value: Any, what: str) -> Mapping[str, Any]:
    """Return the option `order` of a design: the labels of each scale in their order,
    those of a codebook if it is a path.
    """
    if isinstance(value, (str, os.PathLike)):
        from seepage.tables.codebooks import read_scales  # with NumPy

        value = read_scales(value)
    scales = checks.mapping(value, what)
    for name, labels in scales.items():
        checks.texts(labels, f"{what} of {name}")
    return scales


def _codebook(value: Any, what: str) -> Any:
    """Return the option `codebook` of a design, read from its file if it is a path."""
    from seepage.tables.codebook_options import CodebookOptions  # with NumPy

    if isinstance(value, CodebookOptions):
        return value
    return CodebookOptions.read(checks.path(value, what))


class DesignKeywords(TableKeywords, total=False):
    """Keywords of `design` but the limit, which describes them."""

    known: Sequence[str]
    public: Sequence[str]
    left_out: Sequence[str]
    keep: Sequence[str]
    want: str | Sequence[Any]
    importance: Any
    objective: Literal["mean", "largest"]
    people: int | None
    precision: float | None
    record_limit: float | None
    never: Sequence[Sequence[str]]
    largest: int | None
    scope: str
    confidence: float
    looks: int
    answers: str | None
    order: str | os.PathLike[str] | Mapping[str, Sequence[str]]
    codebook: str | os.PathLike[str] | None
    shape: str
    mechanism: str | None
    title: str | None
    sample: int | None
    start: Any
    effort: float
    rounds: int | None
    seconds: float
    rng: Any


CONSTRAINTS: dict[str, checks.Check] = {
    "mechanism": partial(checks.choice, options=("grr",)),
    "objective": partial(checks.choice, options=("mean", "largest")),
    "people": partial(checks.integer, minimum=1, maximum=checks.MAX_RECORDS),
    "precision": checks.inner_probability,
    "title": checks.text,
    "record_limit": design_limit,
    "want": wanted_statistics,
    "largest": partial(checks.integer, minimum=1),
    "scope": partial(checks.choice, options=("population", "table")),
    "confidence": checks.inner_probability,
    "looks": partial(checks.integer, minimum=1, maximum=MAX_LOOKS),
    "answers": partial(checks.choice, options=ANSWERS),
    "order": _scales,
    "codebook": _codebook,
    "shape": partial(checks.choice, options=("never", "forms")),
    "effort": checks.positive,
    "rounds": partial(checks.integer, minimum=0),
    "seconds": checks.positive,
    "rng": partial(checks.required_seed, maximum=MAX_SEED),
}
"""What each option of `design` alone must be; limits are checked by attribute."""


@dataclass(frozen=True)
class ShapedSets:
    """Sets of questions whose forms a search of a design chose to shape.

    Attributes
    ----------
    sets
        The sets, by name.
    part
        The digest of the part of the records that they were chosen on; empty for all
        records. Reports for the population are certified on the records beside the
        part, so that what other records have chosen is not tried first there.
    """

    sets: tuple[tuple[str, ...], ...] = ()
    part: str = ""


@dataclass(frozen=True)
class WarmStart:
    """Forms that a search of a design starts from: those of another plan's search.

    Attributes
    ----------
    sets
        The sets of questions, by name.
    shaped
        Those that the other search chose to shape.
    """

    sets: tuple[tuple[str, ...], ...]
    shaped: "ShapedSets"


@dataclass(frozen=True, kw_only=True)
class DesignOptions(PlanningOptions):
    """Options of `design`, which describes them; a limit may be None: not protected.

    In a search `start` is a `WarmStart`.
    """

    mechanism: str | None = None
    known: Sequence[str] = ()
    importance: Any = 1.0
    objective: Literal["mean", "largest"] = "mean"
    people: int | None = None
    precision: float | None = None
    title: str | None = None
    record_limit: float | None = None
    never: Sequence[Sequence[str]] = ()
    want: Sequence[Any] = ()
    largest: int | None = None
    scope: str = "population"
    confidence: float = 0.95
    looks: int = 1
    answers: str | None = None
    order: Any = field(default_factory=dict)
    codebook: Any = None
    shape: str = "forms"
    start: Any = None
    effort: float = 1.0
    rounds: int | None = None
    seconds: float = 300.0
    rng: Any = 0

    def __post_init__(self) -> None:
        """Check the options of a design."""
        super().__post_init__()
        checks.constrain(self, CONSTRAINTS)
        if self.people is not None and self.precision is not None:
            raise checks.exclusive("people", "precision", "one follows from the other")

    def records_options(self, rng: int | None, scope: str) -> dict[str, Any]:
        """Return the options of a design for reading `data`, with how answers are
        chosen.
        """
        merges = {} if self.codebook is None else self.codebook.merges
        answers = self.answers
        if answers is None:
            intervals = {} if self.codebook is None else self.codebook.bins
            merged = merges.keys() - intervals.keys()
            merging = scope == "population" or bool(self.order) or bool(merged)
            answers = "merged" if merging else "as-is"
        return {
            **super().records_options(rng, scope),
            "answers": answers,
            "order": self.order,
            "keep": self._named(),
            "may_decline": scope == "population",
            "merges": merges,
        }

    def _named(self) -> frozenset[str]:
        """Return the attributes that an option of a design names: they are asked
        whatever their answers.
        """
        fields_of = ("columns", "keep", "public", "left_out", "known", "never")
        naming = [getattr(self, name) for name in fields_of]
        mappings = (self.limit, self.importance)
        naming += [each for each in mappings if isinstance(each, Mapping)]
        for text in self._want_texts:  # "mean hours = 10, 30" or "ill x income"
            naming.append(list(names_in(text)))
        return frozenset(nested_texts(naming, MAX_NESTING + 1))

    @property
    def look_confidence(self) -> float:
        """The confidence of one look of a design: those of all looks together hold with
        `confidence`.
        """
        if self.looks == 1:
            return self.confidence
        return divided(self.confidence, self.looks)

    @property
    def stated(self) -> dict[str, Any]:
        """The options of a design that a plan states: objective, people, title, seed,
        want and the like.
        """
        names = ("objective", "people", "precision", "title")
        stated = {
            name: value for name in names if (value := getattr(self, name)) is not None
        }
        if self.looks > 1:
            stated["looks"] = self.looks
        return {**stated, "seed": self.rng, "want": self._want_texts}

    @property
    def _want_texts(self) -> list[str]:
        """Return the option `want` of a design as texts."""
        texts = list[str]()
        for statistic in self.want:
            is_text = isinstance(statistic, str)
            texts.append(statistic if is_text else TIMES.join(statistic))
        return texts
