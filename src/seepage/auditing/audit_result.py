"""`Audit`: what a randomiser realises beside what is claimed, as a result."""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec

from seepage import __version__
from seepage._core import checks
from seepage._core.errors import InputError, Text, escaped
from seepage._core.files import read_small, write_text
from seepage._core.results import Result, json_ready, json_text
from seepage.auditing.claims import STATES, AuditedClaim, State


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


FORMAT: Literal["seepage audit"] = "seepage audit"
"""How the JSON of an audit says what it is."""


FORMAT_VERSION: Literal[1] = 1
"""The version of this format."""


class _AuditHeader(msgspec.Struct):
    """What every saved audit begins with."""

    format: Literal["seepage audit"]
    version: Literal[1]
    seepage: str


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
        """Return the claim about one attribute in an audit's result, by name."""
        by_attribute = {claim.attribute: claim for claim in self.claims}
        return by_attribute[checks.choice(name, "name", by_attribute)]

    @property
    def decisive(self) -> AuditedClaim:
        """The claim with the gravest verdict in an audit's result, and of these the one
        exceeded most.
        """

        def gravity(claim: AuditedClaim) -> tuple[int, float]:
            """Return the place of a claim of an audit's result in the order of
            gravity.
            """
            unspent = (claim.claim or 0.0) - claim.epsilon
            return STATES.index(claim.verdict), unspent

        return min(self.claims, key=gravity)

    @property
    def verdict(self) -> State:
        """The gravest verdict of an audit's result: `"holds"` only if every claim
        does.
        """
        return self.decisive.verdict

    @property
    def epsilon(self) -> float:
        """The realised epsilon of the decisive claim in an audit's result: exact, or
        what samples prove.
        """
        return self.decisive.epsilon

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper limit of the realised epsilon of the decisive claim in an
        audit's result.
        """
        return self.decisive.lower, self.decisive.upper

    @property
    def delta(self) -> float:
        """The delta that the decisive attribute in an audit's result realises at the
        claimed epsilon.
        """
        return self.decisive.delta

    @property
    def witness(self) -> str:
        """The most telling report of the decisive claim in an audit's result, in
        words.
        """
        return self.decisive.sentence

    def assert_holds(self) -> None:
        """Raise an AssertionError unless every claim in the audit's result holds; for
        tests.
        """
        if self.verdict != "holds":
            raise AssertionError("\n".join(self.sentences()))

    def sentences(self) -> list[str]:
        """Return the audit's result on every claim in words."""
        lines = []
        for claim in self.claims:
            verdict = claim.claim_words
            if claim.claim is not None:
                verdict += f": {claim.verdict}"
            epsilon = f"epsilon {claim.epsilon_words}{claim.delta_words}"
            lines.append(f"{escaped(claim.attribute)}: {verdict}, {epsilon}")
            lines.append(f"  {claim.sentence}")
            if claim.next_step:
                lines.append(Text("  ", claim.next_step))
        return [*lines, *self.notes]

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the page of the analysis, headed by the audit's result; needs
        `data`.
        """
        from seepage.pages.analysis_page import report_page

        if self.analysis is None or self.claimed is None:
            raise InputError("data must be given for a page", parameter="data")
        analysis = self.analysis
        if math.inf in analysis.matrix.epsilons:
            analysis = self.claimed
        write_text(path, report_page(analysis, audit=self))

    def chart(self) -> Any:
        """Return the realised epsilons of an audit's result and its claims as an Altair
        chart.
        """
        from seepage.charts.result_charts import audit_chart

        return audit_chart([claim.row for claim in self.claims], self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit's result as JSON-compatible data; the analyses of the data
        are left out.
        """
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "seepage": self.version,
            "name": self.name,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "claims": [claim.row for claim in self.claims],
            "notes": self.notes,
            "leaks": [asdict(leak) for leak in self.leaks],
        }
        return dict(json_ready(content))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the audit's result as JSON, see `to_dict`; `load` reads it."""
        write_text(path, json_text(self.to_dict()) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Audit":
        """Return the saved result of an audit: claims, verdicts, witnesses and
        leakages, without the analyses.

        Examples
        --------
        >>> import tempfile, seepage as sp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sp.audit({"k": 20, "keep": 0.5}, claim=2.0).save(folder + "/audit.json")
        ...     sp.Audit.load(folder + "/audit.json")
        Audit(refuted: value, odds change 19 times, claimed 7.4; claim 2, ...)
        """
        file = checks.input_path(path)
        content = read_small(file)
        try:
            msgspec.json.decode(content, type=_AuditHeader)
            saved = msgspec.json.decode(content, type=dict[str, Any])
            return msgspec.convert(
                {**saved, "version": saved.get("seepage")}, cls, strict=False
            )
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            raise InputError(f"{str(file)!r} is no saved audit: {problem}") from None

    def _headline(self) -> str:
        """Return the result of an audit in one line."""
        worst = self.decisive
        name = escaped(worst.attribute)
        budgets = f"{worst.claim_words}, epsilon {worst.epsilon_words}"
        return (
            f"Audit({self.verdict}: {name}, odds change {worst.odds_words}; {budgets})"
        )

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of an audit's result in long form."""
        rows = [claim.row for claim in self.claims]
        return {name: [row[name] for row in rows] for name in rows[0]}
