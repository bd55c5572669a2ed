"""`Audit`: what a randomiser realises beside what is claimed, with verdict and witness."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from seepage import __version__, _checks
from seepage._files import write_text
from seepage._numerics import LARGE_EPSILON, ceiling_text, floor_text
from seepage._results import Result, json_ready
from seepage.errors import InputError, Setting, Text

if TYPE_CHECKING:
    from seepage.analysis import Analysis

State = Literal["holds", "refuted", "not decided"]
STATES: tuple[State, ...] = ("refuted", "not decided", "holds")
"""The verdicts, the gravest first."""

TOLERANCE = 1e-9
"""Amount by which an exact epsilon may exceed a claim: rows of a matrix sum to 1 within as much."""

RECORD = "(record)"
"""The name of the row about all attributes of a person."""


def factor(epsilon: float) -> str:
    """Return e^epsilon as text.

    Examples
    --------
    >>> factor(2.0), factor(4.944), factor(1000.0)
    ('7.4', '140', '1e434')
    """
    if epsilon > LARGE_EPSILON:
        return f"1e{epsilon / math.log(10):.0f}"
    value = math.exp(epsilon)
    return f"{value:.0f}" if 99.5 <= value < 1e6 else f"{value:.2g}"


@dataclass(frozen=True)
class AuditedClaim:
    """A claim about one attribute, or about the whole record, and what the audit found.

    Parameters
    ----------
    name
        The attribute, or "(record)".
    claim, claimed_delta
        The claim; None if there is none.
    interval
        Lower and upper limit of the realised epsilon at the claimed delta: equal where it is exact,
        infinite where there is no upper limit.
    delta
        The delta realised at the claimed epsilon: an upper bound from parameters, a lower limit
        from samples; 0 without a claim.
    witness
        The most telling report in words.
    needed
        Number of further samples per value that would decide, if frequencies stay; None if unknown.
    samples
        Number of samples; 0 for published parameters.
    """

    name: str
    claim: float | None
    claimed_delta: float
    interval: tuple[float, float]
    delta: float
    witness: str
    needed: int | None = None
    samples: int = 0

    @property
    def epsilon(self) -> float:
        """The realised epsilon: exact, or the lower limit that samples prove."""
        return self.interval[0] if self.samples else self.interval[1]

    @property
    def verdict(self) -> State:
        """Whether the claim holds, is refuted, or is not decided; "holds" without a claim."""
        lower, upper = self.interval
        allowed = math.inf if self.claim is None else self.claim + TOLERANCE * max(1.0, self.claim)
        return "holds" if upper <= allowed else "refuted" if lower > allowed else "not decided"

    @property
    def told(self) -> str:
        """The realised epsilon in words, rounded up: to the claim, where it holds."""
        lower, upper = self.interval
        most = ceiling_text(upper * (1 - TOLERANCE))
        if self.claim is not None and self.verdict == "holds" and float(most) > self.claim:
            most = f"{self.claim:g}"
        if lower == upper:
            return most
        return f"at least {floor_text(lower)}" + (f", at most {most}" if upper < math.inf else "")

    @property
    def delta_told(self) -> str:
        """The delta realised at the claim in words; empty where there is none."""
        told = self.claim is not None and self.delta > TOLERANCE
        return f", delta {self.delta:.2g} at the claim" if told else ""

    @property
    def sentence(self) -> str:
        """The witness, and what the claim allows."""
        if self.claim is None:
            return self.witness
        slack = f" and delta {self.claimed_delta:g}" if self.claimed_delta else ""
        return f"{self.witness}; the claim allows {factor(self.claim)}{slack}"

    @property
    def next_step(self) -> Text:
        """How many samples more would decide; empty if it is decided."""
        if self.verdict != "not decided":
            return Text()
        if self.needed is not None:
            return Text(f"about {self.needed:,} samples more for each value would decide")
        if math.isinf(self.interval[1]):
            told = "samples alone can refute a claim; to support it, list all possible reports ("
            return Text(told, Setting("reports"), ")")
        return Text("the estimate is at the claim, which no number of samples decides")

    @property
    def row(self) -> dict[str, Any]:
        """The claim as one row of a table."""
        return {
            "attribute": self.name,
            "claim": self.claim,
            "claimed_delta": self.claimed_delta,
            "epsilon": self.epsilon,
            "lower": self.interval[0],
            "upper": self.interval[1],
            "delta": self.delta,
            "verdict": self.verdict,
            "witness": self.sentence,
            "needed": self.needed,
            "samples": self.samples,
        }


class AuditedLeak(NamedTuple):
    """Leakage in nats of one source about one target: of the table, and of its population."""

    source: str
    target: str
    audited: float
    claimed: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """What a randomiser realises beside what is claimed, see `audit`.

    `audit["sex"]` is the claim about one attribute.  As a table in long form, one row for each
    attribute, and one for the record if there are several.

    Parameters
    ----------
    claims
        What was found about each attribute, and about the whole record if there are several.
    confidence
        With samples, each limit is right with this probability, for all attributes at once.
    analysis, claimed
        With data, the leakages and totals of the audited channels, and those of the claims.
    notes
        What else the reader must know.
    name, command
        Provenance.
    """

    claims: tuple[AuditedClaim, ...]
    confidence: float
    analysis: "Analysis | None" = None
    claimed: "Analysis | None" = None
    notes: tuple[str, ...] = ()
    name: str = ""
    version: str = __version__

    def __getitem__(self, name: str) -> AuditedClaim:
        named = {one.name: one for one in self.claims}
        return named[_checks.choice(name, "name", named)]

    @property
    def decisive(self) -> AuditedClaim:
        """The claim with the gravest verdict, and of these the one exceeded most."""

        def gravity(one: AuditedClaim) -> tuple[int, float]:
            return STATES.index(one.verdict), (one.claim or 0.0) - one.epsilon

        return min(self.claims, key=gravity)

    @property
    def verdict(self) -> State:
        """The gravest verdict: `"holds"` only if every claim does."""
        return self.decisive.verdict

    @property
    def epsilon(self) -> float:
        """The realised epsilon of the decisive claim: exact, or what samples prove."""
        return self.decisive.epsilon

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper limit of the realised epsilon of the decisive claim."""
        return self.decisive.interval

    @property
    def delta(self) -> float:
        """The delta that the decisive attribute realises at the claimed epsilon."""
        return self.decisive.delta

    @property
    def witness(self) -> str:
        """The most telling report of the decisive claim, in words."""
        return self.decisive.sentence

    def assert_holds(self) -> None:
        """Raise an AssertionError unless every claim holds; for tests."""
        if self.verdict != "holds":
            raise AssertionError("\n".join(self.sentences()))

    def sentences(self) -> list[str]:
        """Return the verdict on every claim in words."""
        lines = []
        for one in self.claims:
            claim = "no claim" if one.claim is None else f"claim {one.claim:g}: {one.verdict}"
            lines.append(f"{one.name}: {claim}, epsilon {one.told}{one.delta_told}")
            lines += [f"  {line}" for line in (one.sentence, one.next_step) if line]
        return [*lines, *self.notes]

    def leaks(self) -> list[AuditedLeak]:
        """Return what each audited source tells about every other attribute, the most first.

        Empty without data.
        """
        if self.analysis is None or self.claimed is None:
            return []
        matrix, limits = self.analysis.matrix, self.analysis.matrix.interval()
        upper = np.minimum(limits.upper, matrix.epsilons)  # by the source, a column
        tables = matrix.values, self.claimed.matrix.values, limits.lower, upper
        names, audited = matrix.domain.names, {one.name for one in self.claims}
        rows = [
            AuditedLeak(source, target, *(float(table[y, x]) for table in tables))
            for x, source in enumerate(names)
            for y, target in enumerate(names)
            if x != y and source in audited
        ]
        return sorted(rows, key=lambda leak: -leak.audited)

    def report(self, path: str | os.PathLike[str], *, counts: bool = True) -> None:
        """Write the page of the analysis, headed by the audit; needs `data`."""
        from seepage.report import report_page

        if self.analysis is None or self.claimed is None:
            raise InputError("data must be given for a page", parameter="data")
        finite = math.inf not in self.analysis.matrix.epsilons
        shown = self.analysis if finite else self.claimed
        write_text(path, report_page(shown, counts=counts, audit=self))

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON-compatible data."""
        ready: dict[str, Any] = json_ready(
            {
                "seepage": self.version,
                "name": self.name,
                "verdict": self.verdict,
                "confidence": self.confidence,
                "claims": [one.row for one in self.claims],
                "notes": self.notes,
                "leaks": [leak._asdict() for leak in self.leaks()],
            }
        )
        return ready

    def _headline(self) -> str:
        worst = self.decisive
        claim = "no claim" if worst.claim is None else f"claim {worst.claim:g}"
        return f"Audit({self.verdict}: {worst.name}, {claim}, epsilon {worst.told})"

    def _columns(self) -> Mapping[str, Any]:
        rows = [one.row for one in self.claims]
        return {name: [row[name] for row in rows] for name in rows[0]}
