"""Results of an item compared with what the paper prints or states, which `paper.toml`
lists.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import msgspec

from reproduction.paper_data import standing

Verdict = Literal[
    "confirmed",
    "as in the authors' code",
    "consistent",
    "follows from the definition",
    "not testable",
    "input unknown",
    "deviates",
    "refutes the paper",
    "ours",
]


VERDICTS: dict[Verdict, tuple[str, str]] = {
    "confirmed": (
        "✓ confirmed",
        "within a tolerance of simulation noise and rounding, on known data, and "
        "nothing was chosen to match",
    ),
    "as in the authors' code": (
        "✓ as in the authors' code",
        "within the tolerance as the published code has it, where the text says "
        "otherwise",
    ),
    "consistent": (
        "○ consistent",
        "within the tolerance for one of several readings that the text allows, chosen "
        "by us",
    ),
    "follows from the definition": (
        "= follows from the definition",
        "it could not have come out otherwise, whatever the data",
    ),
    "not testable": (
        "– not testable",
        "no evidence for or against: data not at hand or stand-ins, our reconstruction",
    ),
    "input unknown": (
        "? input unknown",
        "outside the tolerance, where the paper does not list its columns or bins",
    ),
    "deviates": (
        "✗ deviates",
        "outside the tolerance on known data, by the size and for the reason given",
    ),
    "refutes the paper": (
        "✗ refutes the paper",
        "a statement of the paper that known data, or a proof, show to be wrong",
    ),
    "ours": ("ours", "not in the paper"),
}
"""The possible verdicts of a comparison: the label of each on the page, and its
meaning.

The headline counts what is evidence: `HEADLINE`.
"""


HEADLINE: tuple[Verdict, ...] = (
    "confirmed",
    "as in the authors' code",
    "deviates",
    "refutes the paper",
)
"""The verdicts that the headline counts."""


SIGMAS = 3.0
"""Standard deviations of simulation noise in a tolerance."""


Row = dict[str, Any]
"""A row of an item's table: a text, a number or None by column."""


@dataclass(frozen=True)
class Comparison:
    """One number of ours compared with what the paper prints or states.

    Parameters
    ----------
    what
        The name of the quantity, unique within its item.
    paper
        The paper's number or statement, as printed.
    ours
        Our number; None if the data are missing.
    deviation
        The deviation from a printed number, as text.
    tolerance
        The allowed deviation, fixed before the verdict, as text.
    verdict
        One of `VERDICTS`.
    group
        Heading of a group of comparisons.
    reason
        The reading that was chosen, why nothing is tested, or why our number deviates.
    unrelated
        How many unrelated tables are within the same tolerance, "2 of 5"; "" if none
        was tried.
    """

    what: str
    paper: str
    ours: float | None
    deviation: str
    tolerance: str
    verdict: Verdict
    group: str = ""
    reason: str = ""
    unrelated: str = ""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the paper prints or states about one quantity, and our criterion of
    agreement.

    Without `printed` and `says` the quantity is ours and not in the paper.

    Parameters
    ----------
    what, group
        The name of the quantity, unique within its item, and the heading of its group.
    printed, digits, within
        A number that the paper prints, the significant digits that it is printed with,
        and a relative deviation that counts as agreement beside its rounding and the
        noise of the simulation.
    says, minimum, maximum
        The paper's statement, and the range of our number in which it counts as true.
    chosen, coded, by_definition, untestable
        The reading that we chose among several, if one was, or that of the authors'
        code; why agreement could not fail; why it would be no evidence.
    refutes, unknown, reason
        Whether a number outside the range refutes the paper; what input is unknown; and
        why our number deviates, if it does.

    Examples
    --------
    >>> Claim("leakage", printed=0.34, digits=2).compare(0.3353).verdict
    'confirmed'
    >>> Claim("leakage", printed=0.3381, digits=4).compare(0.335, noise=0.002).verdict
    'confirmed'
    >>> Claim("share below {limit}", "most are small", minimum=0.5).compare(
    ...     0.7, limit=0.2
    ... ).what
    'share below 0.2'
    """

    what: str
    says: str = ""
    printed: float | None = None
    digits: int = 0
    within: float = 0.0
    minimum: float = -math.inf
    maximum: float = math.inf
    chosen: str = ""
    coded: str = ""
    by_definition: str = ""
    untestable: str = ""
    refutes: bool = False
    unknown: str = ""
    reason: str = ""
    group: str = ""

    def compare(
        self,
        ours: float,
        *,
        noise: float = 0.0,
        unrelated: Sequence[float] = (),
        **words: Any,
    ) -> Comparison:
        """Return our number compared with the claim.

        Parameters
        ----------
        ours
            Our number.
        noise
            The standard deviation of the difference of two simulations.
        unrelated
            The same number of tables that have nothing to do with the paper's.
        words
            Replace the braces in the texts.
        """
        what = self.what.format(**words)
        group = self.group.format(**words)
        if self.printed is None and not self.says:
            return Comparison(
                what, "not in the paper", float(ours), "", "", "ours", group
            )
        allowed = self._allowed(noise)
        agrees = self._agrees(ours, allowed)
        verdict, reason = self._verdict(agrees)
        met = ""
        if len(unrelated):
            hits = sum(self._agrees(other, allowed) for other in unrelated)
            met = f"{hits} of {len(unrelated)}"
        return Comparison(
            what=what,
            paper=self._statement(words),
            ours=float(ours),
            deviation=self._deviation(ours, agrees),
            tolerance=self._tolerance(allowed),
            verdict=verdict,
            group=group,
            reason=reason.format(**words),
            unrelated=met,
        )

    def _allowed(self, noise: float) -> float:
        """Return the absolute deviation from a printed number that counts as agreement:
        its rounding, a stated share, and the noise of the simulation.
        """
        if self.printed is None:
            return 0.0
        rounding = 0.0
        if self.digits and self.printed:
            exponent = math.floor(math.log10(abs(self.printed)))
            rounding = 10.0 ** (exponent - self.digits + 1) / 2
        return rounding + self.within * abs(self.printed) + SIGMAS * noise

    def _agrees(self, ours: float, allowed: float) -> bool:
        """Return whether a number is within the tolerance, or in the range."""
        if self.printed is not None:
            return abs(ours - self.printed) <= allowed * (1 + 1e-9)
        return self.minimum <= ours <= self.maximum

    def _verdict(self, agrees: bool) -> tuple[Verdict, str]:
        """Return the verdict and its reason."""
        if self.untestable:
            return "not testable", self.untestable
        if agrees and self.by_definition:
            return "follows from the definition", self.by_definition
        if agrees and self.coded:
            return "as in the authors' code", self.coded
        if agrees and self.chosen:
            return "consistent", self.chosen
        if agrees:
            return "confirmed", ""
        if self.unknown:
            return "input unknown", self.reason or self.unknown
        if self.refutes:
            return "refutes the paper", self.reason
        return "deviates", self.reason

    def _statement(self, words: Mapping[str, Any]) -> str:
        """Return what the paper prints or states."""
        if self.printed is not None:
            return f"{self.printed:g}"
        return self.says.format(**words)

    def _deviation(self, ours: float, agrees: bool) -> str:
        """Return how far our number is from a printed one, or whether it holds."""
        if self.printed:
            return _relative(ours / self.printed)
        return "holds" if agrees else "does not hold"

    def _tolerance(self, allowed: float) -> str:
        """Return the tolerance as text."""
        if self.printed is None:
            return _range(self.minimum, self.maximum)
        return f"± {100 * allowed / abs(self.printed):.2g} %"


class PaperItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table or figure as `paper.toml` describes it.

    Parameters
    ----------
    place, title, shows
        Its number in the paper, a title, and a description of one or two sentences.
    data, needs
        The datasets that it uses if present, and those that it requires.
    notes
        Explanations of our method and of deviations.
    searched
        Whether the notes begin with those on the search for the paper's columns and
        bins.
    claims
        What the paper prints or states, by a name of our own.
    missing
        The texts of the entry for each dataset that is missing.
    table, regions
        A table's printed numbers by row, and a figure's regions of analysers by panel.
    """

    place: str
    title: str
    shows: str
    data: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    searched: bool = False
    claims: dict[str, Claim] = {}
    missing: Claim | None = None
    table: dict[str, tuple[float, ...]] = {}
    regions: dict[str, dict[str, str]] = {}


def _range(minimum: float, maximum: float) -> str:
    if math.isinf(maximum):
        return f"at least {minimum:g}"
    return (
        f"at most {maximum:g}" if math.isinf(minimum) else f"{minimum:g} to {maximum:g}"
    )


def _relative(ratio: float) -> str:
    """Return a relative deviation as text: percent if small, a factor if large."""
    return f"{100 * (ratio - 1):+.2g} %" if 0.5 < ratio < 2 else _times(ratio)


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 100 else f"{ratio:.2g} times"


class _Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `paper.toml`."""

    contradictions: tuple[str, ...]
    searched: tuple[str, ...]
    items: dict[str, PaperItem]


_PAPER = msgspec.toml.decode(
    (resources.files("reproduction") / "paper.toml").read_bytes(),
    type=_Paper,
)


CONTRADICTIONS = _PAPER.contradictions


SEARCHED = _PAPER.searched


PAPER = _PAPER.items
"""Where the paper contradicts itself, how its columns were searched, its items by
name."""


class Finding:
    """The results of one item, collected by the function that computes it.

    Parameters
    ----------
    item, paper
        The name of the item, and what the paper shows.

    Attributes
    ----------
    rows
        The item's table; all rows have the same keys.
    comparisons
        Our numbers compared with the paper's.
    charts
        The item's charts, Altair objects by panel letter; `""` for a single one.
    words
        Values of the placeholders in the item's notes, by name.
    seconds
        The time that the item took.
    """

    def __init__(self, item: str, paper: PaperItem) -> None:
        self.item = item
        self.paper = paper
        self.rows: list[Row] = []
        self.comparisons: list[Comparison] = []
        self.charts: dict[str, Any] = {}
        self.words: dict[str, Any] = {}
        self.seconds = 0.0

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """The number of comparisons with each verdict, positive numbers only."""
        return verdict_counts(self.comparisons)

    @property
    def notes(self) -> list[str]:
        """The item's notes, their placeholders replaced."""
        notes = (*(SEARCHED if self.paper.searched else ()), *self.paper.notes)
        return [note.format(**self.words) for note in notes] if self.rows else []

    @property
    def numbers(self) -> dict[str, float]:
        """Our numbers by name."""
        return {one.what: one.ours for one in self.comparisons if one.ours is not None}

    @property
    def pictures(self) -> dict[str, Any]:
        """The item's charts by the name of their files."""
        return {
            f"{self.item}-{key}" if key else self.item: self.charts[key]
            for key in self.charts
        }

    def claim(
        self,
        name: str,
        ours: float,
        status: Mapping[str, str] | None = None,
        **words: Any,
    ) -> None:
        """Compare our number with a claim of the paper, on the dataset `label` if that
        is given.

        `status` replaces fields of the claim; by default by the `standing` of the
        dataset, unless the claim itself names a reading that was chosen.  `noise` and
        `unrelated` among the words are those of `Claim.compare`.
        """
        claim = self.paper.claims[name]
        if status is None:
            status = {} if claim.chosen else standing(words.get("label", ""))
        self.comparisons.append(
            msgspec.structs.replace(claim, **status).compare(ours, **words)
        )

    def not_compared(self, what: str, paper: str, reason: str, group: str = "") -> None:
        """Add the entry of a comparison for which the data are missing."""
        entry = Comparison(what, paper, None, "", "", "not testable", group, reason)
        self.comparisons.append(entry)

    def not_compared_on(self, labels: Iterable[str]) -> None:
        """Add the entries of datasets that are missing, if the item has a text for
        them.
        """
        if missing := self.paper.missing:
            texts = (
                missing.what,
                missing.says,
                "the data are not at hand",
                missing.group,
            )
            for label in labels:
                self.not_compared(*(text.format(label=label) for text in texts))


def verdict_counts(comparisons: Iterable[Comparison]) -> dict[Verdict, int]:
    """Return the number of comparisons with each verdict, positive numbers only."""
    counts = Counter(comparison.verdict for comparison in comparisons)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}
