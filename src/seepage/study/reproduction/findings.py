"""What an item found beside what the paper prints or says, which `paper.toml` lists."""

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal

import msgspec

from seepage.errors import InputError

Verdict = Literal["agrees", "explained", "deviates", "no data", "ours"]

VERDICTS: dict[Verdict, str] = {
    "agrees": "within the tolerance",
    "explained": "outside the tolerance, for a reason that is found and stated",
    "deviates": "outside the tolerance, for no reason that we could establish",
    "no data": "not compared: the data are not at hand",
    "ours": "not in the paper",
}
"""What may be said of a comparison."""

Row = Mapping[str, str | float | int | None]


@dataclass(frozen=True)
class Comparison:
    """One number of ours beside what the paper prints or says.

    Parameters
    ----------
    what
        The quantity, unique within its item.
    paper
        The paper's number or claim, as it prints it.
    ours
        Our number; None where there are no data.
    deviation
        How far ours is from a printed number, in words.
    tolerance
        What was allowed, fixed before the verdict.
    verdict
        One of `VERDICTS`.
    group
        A heading that several comparisons share.
    """

    what: str
    paper: str
    ours: float | None
    deviation: str
    tolerance: str
    verdict: Verdict
    group: str = ""


@dataclass(frozen=True)
class Finding:
    """Everything that one item found.

    Parameters
    ----------
    rows
        The item's table; all rows have the same keys.
    comparisons
        Ours beside the paper's.
    charts
        The item's charts, Altair objects by the letter of their panel; `""` for a single one.
    words
        What the item's notes quote, by the name that they have for it.
    """

    rows: Sequence[Row]
    comparisons: Sequence[Comparison]
    charts: Mapping[str, Any] = field(default_factory=dict, compare=False)
    words: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [one.what for one in self.comparisons]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InputError(f"a comparison must have a name of its own, got {twice.pop()!r} twice")
        if len({tuple(row) for row in self.rows}) > 1:
            raise InputError("all rows of an item's table must have the same columns")


PICTURES = ("svg", "png")
"""The formats of an item's charts."""


class FinishedItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finished item, as its JSON file has it; its table and charts are files of their own."""

    item: str
    digest: str
    version: str
    seconds: float
    data: dict[str, str]
    shows: str
    comparisons: list[Comparison]
    notes: list[str]
    charts: list[str]
    rows: int

    @property
    def files(self) -> list[str]:
        """The names of the item's other files."""
        pictures = [f"{chart}.{kind}" for chart in self.charts for kind in PICTURES]
        return [*pictures, *([f"{self.item}.csv"] if self.rows else [])]

    @property
    def numbers(self) -> dict[str, float]:
        """Our numbers by name: what a later run is compared with."""
        return {one.what: one.ours for one in self.comparisons if one.ours is not None}


def absent(what: str, paper: str, why: str, group: str = "") -> Comparison:
    """Return a comparison that could not be made, and why."""
    return Comparison(what, paper, None, why, "", "no data", group)


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the paper prints or says of one quantity, and when our number counts as agreement.

    With neither a number nor words of the paper the quantity is ours alone.

    Parameters
    ----------
    what, group
        The quantity, unique within its item, and a heading that several share.
    printed, within, factor
        A number that the paper prints, and the relative deviation that counts as agreement; or,
        for noise and orders of magnitude, by which factor the two may differ.
    says, least, most
        What the paper says in words, and between which limits of our number it counts as true.
    explained
        Whether the item's notes give the reason, should it deviate.

    Examples
    --------
    >>> Claim("leakage", printed=0.3381, within=0.01).compare(0.3353).verdict
    'agrees'
    >>> Claim("share below {limit}", "most are small", least=0.5).compare(0.7, limit=0.2).what
    'share below 0.2'
    """

    what: str
    says: str = ""
    printed: float | None = None
    within: float = 0.0
    factor: float = 0.0
    least: float = -math.inf
    most: float = math.inf
    explained: bool = False
    group: str = ""

    def compare(self, found: float, **words: Any) -> Comparison:
        """Return our number beside the claim, with words in the places of its braces."""
        what, says, group = (text.format(**words) for text in (self.what, self.says, self.group))
        if self.printed is not None:
            ratio, says = found / self.printed, f"{self.printed:g}"
            if self.factor:
                fits, deviation = 1 / self.factor <= ratio <= self.factor, _times(ratio)
                tolerance = f"a factor {self.factor:g}"
            else:
                fits, deviation = abs(ratio - 1) <= self.within, _relative(ratio)
                tolerance = f"± {100 * self.within:.3g} %"
        elif says:
            fits, tolerance = self.least <= found <= self.most, _limits(self.least, self.most)
            deviation = "holds" if fits else "does not hold"
        else:
            return Comparison(what, "not in the paper", float(found), "", "", "ours", group)
        verdict: Verdict = "agrees" if fits else "explained" if self.explained else "deviates"
        return Comparison(what, says, float(found), deviation, tolerance, verdict, group)


class PaperItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table or figure as `paper.toml` describes it.

    Parameters
    ----------
    place, title, shows
        Where it is in the paper, what it shows in a few words, and in a sentence or two.
    data, needs
        The datasets that it uses where they are at hand, and those without which it shows nothing.
    notes
        Explanations: what we did, and why we deviate where we do.
    searched
        Whether the notes begin with those about the search for the paper's columns and bins.
    claims
        What the paper prints or says, by a name of our own.
    missing
        What is compared for each dataset, to say that it is not at hand.
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

    def claim(self, name: str, found: float, **words: Any) -> Comparison:
        """Return our number beside a claim of the paper."""
        return self.claims[name].compare(found, **words)

    def without(self, labels: Iterable[str]) -> list[Comparison]:
        """Return, for each dataset that is not at hand, that nothing was compared."""
        assert self.missing is not None
        texts = (self.missing.what, self.missing.says, "the data are not at hand")
        return [
            absent(*(text.format(label=label) for text in (*texts, self.missing.group)))
            for label in labels
        ]


def _limits(least: float, most: float) -> str:
    if math.isinf(most):
        return f"at least {least:g}"
    return f"at most {most:g}" if math.isinf(least) else f"{least:g} to {most:g}"


def _relative(ratio: float) -> str:
    """Return a relative deviation in words: percent where small, a factor where large."""
    return f"{100 * (ratio - 1):+.2g} %" if 0.5 < ratio < 2 else _times(ratio)


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 100 else f"{ratio:.2g} times"


class _Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `paper.toml`."""

    searched: tuple[str, ...]
    items: dict[str, PaperItem]


def _read() -> dict[str, PaperItem]:
    text = (resources.files("seepage.study.reproduction") / "paper.toml").read_text("utf-8")
    paper = msgspec.convert(tomllib.loads(text), _Paper)
    return {
        name: msgspec.structs.replace(item, notes=(*paper.searched, *item.notes))
        if item.searched
        else item
        for name, item in paper.items.items()
    }


PAPER = _read()
"""Every item of the paper by name, in its order."""
