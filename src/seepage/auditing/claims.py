"""Audits of randomisers that somebody else wrote: realised epsilon, verdict and
witness.

Here is `Audit`: what a randomiser realises beside what is claimed, with verdict and
witness.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec

from seepage import __version__
from seepage._core import checks
from seepage._core.errors import InputError, Setting, Text
from seepage._core.files import read_small, write_text
from seepage._core.log_ratios import LARGE_EPSILON
from seepage._core.results import Result, json_ready, json_text
from seepage._core.text import ceiling_text, delta_text, floor_text

State = Literal["holds", "refuted", "not decided"]


STATES: tuple[State, ...] = ("refuted", "not decided", "holds")
"""The verdicts, the gravest first."""


TOLERANCE = 1e-9
"""Amount by which an exact epsilon may exceed a claim: rows of a matrix sum to 1 within
as much."""


RECORD = "(record)"
"""The name of the row about all attributes of a person."""


def factor(epsilon: float, *, down: bool = False) -> str:
    """Return e^epsilon as text, to nearest; or two digits rounded down, for a lower
    limit.

    Examples
    --------
    >>> factor(2.0), factor(4.944), factor(1000.0), factor(1.674, down=True)
    ('7.4', '140', '1e434', '5.3')
    """
    if epsilon > LARGE_EPSILON:
        return f"1e{epsilon / math.log(10):.0f}"
    value = math.exp(epsilon)
    if down:
        step = 10.0 ** (math.floor(math.log10(value)) - 1)
        value = math.floor(value / step) * step
    return f"{value:.0f}" if 99.5 <= value < 1e6 else f"{value:.2g}"


@dataclass(frozen=True)
class AuditedClaim:
    """A claim about one attribute, or about the whole record, and what the audit found.

    Parameters
    ----------
    attribute
        The attribute, or "(record)".
    claim, claimed_delta
        The claim; None if there is none.
    lower, upper
        Limits of the realised epsilon at the claimed delta: equal where it is exact,
        the upper one infinite where there is none.
    delta
        The delta realised at the claimed epsilon: an upper bound from parameters, a
        lower limit from samples; 0 without a claim.
    witness
        The most telling report in words.
    needed
        Number of further samples per value that would decide, if frequencies stay; None
        if unknown.
    samples
        Number of samples; 0 for published parameters.
    """

    attribute: str
    claim: float | None
    claimed_delta: float
    lower: float
    upper: float
    delta: float
    witness: str
    needed: int | None = None
    samples: int = 0

    @property
    def epsilon(self) -> float:
        """The realised epsilon: exact, or the lower limit that samples prove."""
        return self.lower if self.samples else self.upper

    @property
    def verdict(self) -> State:
        """Whether the claim holds, is refuted, or is not decided; "holds" without a
        claim.
        """
        allowed = (
            math.inf
            if self.claim is None
            else self.claim + TOLERANCE * max(1.0, self.claim)
        )
        if self.upper <= allowed:
            return "holds"
        return "refuted" if self.lower > allowed else "not decided"

    @property
    def told(self) -> str:
        """The realised epsilon in words, rounded up: to the claim, where it holds."""
        most = ceiling_text(self.upper * (1 - TOLERANCE))
        if (
            self.claim is not None
            and self.verdict == "holds"
            and float(most) > self.claim
        ):
            most = f"{self.claim:g}"
        if self.lower == self.upper:
            return most
        at_most = f", at most {most}" if self.upper < math.inf else ""
        return f"at least {floor_text(self.lower)}{at_most}"

    @property
    def delta_told(self) -> str:
        """The delta realised at the claim in words; empty where there is none."""
        if self.claim is None or self.delta <= TOLERANCE:
            return ""
        told = f", delta {self.delta:.2g}" if self.samples else delta_text(self.delta)
        return f"{told} at the claim"

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
            return Text(
                f"about {self.needed:,} samples more for each value would decide"
            )
        if math.isinf(self.upper):
            told = "samples alone can refute a claim; to support it, list all possible reports ("
            return Text(told, Setting("reports"), ")")
        return Text("the estimate is at the claim, which no number of samples decides")

    @property
    def row(self) -> dict[str, Any]:
        """The claim as one row of a table."""
        return {**asdict(self), "epsilon": self.epsilon, "verdict": self.verdict}


@dataclass(frozen=True)
class AuditedLeak:
    """Leakage in nats of one source about one target: of the table, and of its
    population.
    """

    source: str
    target: str
    audited: float
    claimed: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """What a randomiser realises beside what is claimed, see `audit`.

    `audit["sex"]` is the claim about one attribute.  As a table in long form, one row
    for each attribute, and one for the record if there are several.

    Parameters
    ----------
    claims
        What was found about each attribute, and about the whole record if there are
        several.
    confidence
        With samples, each limit is right with this probability, for all attributes at
        once.
    leaks
        With data, what each audited source tells about every other attribute, the most
        first.
    analysis, claimed
        With data, the `Analysis` of the audited channels, and that of the claims.
    notes
        What else the reader must know.
    name, version
        Provenance.
    """

    claims: Annotated[tuple[AuditedClaim, ...], msgspec.Meta(min_length=1)]
    confidence: float
    leaks: tuple[AuditedLeak, ...] = ()
    analysis: Any = None
    claimed: Any = None
    notes: tuple[str, ...] = ()
    name: str = ""
    version: str = __version__

    def __getitem__(self, name: str) -> AuditedClaim:
        named = {one.attribute: one for one in self.claims}
        return named[checks.choice(name, "name", named)]

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
        return self.decisive.lower, self.decisive.upper

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
            claim = (
                "no claim"
                if one.claim is None
                else f"claim {one.claim:g}: {one.verdict}"
            )
            lines.append(
                f"{one.attribute}: {claim}, epsilon {one.told}{one.delta_told}"
            )
            lines += [f"  {line}" for line in (one.sentence, one.next_step) if line]
        return [*lines, *self.notes]

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the page of the analysis, headed by the audit; needs `data`."""
        from seepage.pages.analysis_page import report_page

        if self.analysis is None or self.claimed is None:
            raise InputError("data must be given for a page", parameter="data")
        finite = math.inf not in self.analysis.matrix.epsilons
        shown = self.analysis if finite else self.claimed
        write_text(path, report_page(shown, audit=self))

    def chart(self) -> Any:
        """Return realised epsilons and claims as an Altair chart."""
        from seepage.charts.result_charts import audit_chart

        return audit_chart([one.row for one in self.claims], self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON-compatible data; the analyses of the data are left
        out.
        """
        content = {
            "seepage": self.version,
            "name": self.name,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "claims": [one.row for one in self.claims],
            "notes": self.notes,
            "leaks": [asdict(leak) for leak in self.leaks],
        }
        return dict(json_ready(content))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the audit as JSON, see `to_dict`; `load` reads it."""
        write_text(path, json_text(self.to_dict()) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Audit":
        """Return a saved audit: claims, verdicts, witnesses and leakages, without the
        analyses.

        Examples
        --------
        >>> import tempfile, seepage as sp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sp.audit({"k": 20, "keep": 0.5}, claim=2.0).save(folder + "/audit.json")
        ...     sp.Audit.load(folder + "/audit.json")
        Audit(refuted: value, claim 2, epsilon 2.9445)
        """
        file = checks.input_path(path)
        content = read_small(file)
        try:
            saved = msgspec.json.decode(content, type=dict[str, Any])
            return msgspec.convert(
                {**saved, "version": saved.get("seepage")}, cls, strict=False
            )
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            raise InputError(f"{str(file)!r} is no saved audit: {problem}") from None

    def _headline(self) -> str:
        worst = self.decisive
        claim = "no claim" if worst.claim is None else f"claim {worst.claim:g}"
        return (
            f"Audit({self.verdict}: {worst.attribute}, {claim}, epsilon {worst.told})"
        )

    def _columns(self) -> Mapping[str, Any]:
        rows = [one.row for one in self.claims]
        return {name: [row[name] for row in rows] for name in rows[0]}
