"""`Plan`: the forms of a collection, the mechanisms of each, and the totals they
guarantee.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import msgspec
import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.files import write_text
from seepage._core.options import method_takes
from seepage._core.results import Result
from seepage.channel.domain import Domain
from seepage.mechanisms.base import Mechanism
from seepage.plan.attributes import PlanKind, PlannedAttribute, weakest_kind
from seepage.plan.content import (
    BY_FORM,
    PerturbOptions,
    PlanContent,
    QuestionnaireOptions,
)
from seepage.plan.wire import Wire, described_collection, plan_wire, wire_digest
from seepage.tables.table_options import DataOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from seepage.collection.cross_table import Table
    from seepage.collection.frequencies import Frequencies
    from seepage.collection.regression import Regression
    from seepage.collection.report_leakage import ReportAnalysis
    from seepage.plan.plan_check import PlanCheck


class Plan(Result, PlanContent, frozen=True, kw_only=True):
    """A collection that can be deployed: domain, forms, mechanisms, and guaranteed
    totals.

    Everyone is given one form, drawn by the shares independently of the record.  The
    collection in which everyone is asked everything is the plan with one form.

    Made by `calibrate` or `design`; it is immutable.  `save` and `load` use JSON with a
    digest of the content, so that a plan edited by hand is detected and does not load.
    The digest guards against mistakes, not against forgery: whoever edits the file can
    also compute it.

    Attributes
    ----------
    listed
        The attributes in the order of the domain as the file has them; see
        `attributes`.
    forms
        The forms, each with its questions, share of people and totals.
    basis
        `"bound"`: the totals hold for any mechanisms with these budgets; `"mechanism"`:
        for the ones in the plan.
    view
        What the adversary of the totals observes: the whole `"report"` or a value
        `"inferred"`.
    confidence
        Confidence level of all totals at once, if they are statistical.
    scope
        For whom the totals hold: the `"table"` of the provenance, or with this
        confidence the `"population"` that it is a sample of.
    provenance
        The data and settings that the plan was computed from.
    notes
        Further remarks for the reader.
    alternatives
        Other strategies within the same limits, and the expected error of each.

    Examples
    --------
    >>> import pyarrow as pa, seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute("sex", ("F", "M")), sp.Attribute("ill", ("no", "yes"))]
    ... )
    >>> pairs = sp.PairCounts(domain, [[50, 50], [70, 30]], [40, 10, 30, 20])
    >>> plan = sp.calibrate(pairs, 4.0, guarantee="worst")
    >>> plan  # doctest: +NORMALIZE_WHITESPACE
    Plan(2 of 2 attributes collected, epsilon 2, largest total 4,
         guarantee worst (certified, for everybody))
    >>> plan["ill"].mechanism, plan.epsilons.tolist()
    ('grr', [2.0, 2.0])
    >>> people = {"sex": ["F", "M"] * 500, "ill": ["no", "no", "yes", "no"] * 250}
    >>> reports = plan.perturb(pa.table(people))
    >>> found = plan.estimate(reports)["ill"]
    >>> bool(abs(found.frequencies[1] - 0.25) < 5 * found.standard_errors[1])
    True
    """

    @cached_property
    def guarantee(self) -> str:
        """The guarantee of the totals; `"by form"` if forms differ."""
        names = {form.guarantee for form in self.forms}
        return names.pop() if len(names) == 1 else BY_FORM

    @cached_property
    def kind(self) -> PlanKind:
        """Whether the totals are certified, statistical or assumed: that of the weakest
        form.
        """
        return weakest_kind(self.forms, self.scope)

    @cached_property
    def form_mechanisms(self) -> tuple[dict[str, Mechanism], ...]:
        """The mechanisms of each form by the name of their report.

        The name is that of the attribute in a product, and "report" for a matrix.
        """
        return tuple(form.channel.mechanisms(self.domain) for form in self.forms)

    @property
    def is_single(self) -> bool:
        """Whether everyone is asked the same, with one report for each answer."""
        return len(self.forms) == 1 and self.forms[0].is_product

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanism of each collected attribute, in order; raises unless
        `is_single`.
        """
        if not self.is_single:
            raise InputError(
                "forms have mechanisms of their own; see `form_mechanisms`"
            )
        (mechanisms,) = self.form_mechanisms
        return {
            name: mechanisms[name] for name in self.domain.names if name in mechanisms
        }

    @property
    def collected(self) -> Domain:
        """The attributes that some form asks for."""
        return self.domain.select(
            planned.name for planned in self.attributes if planned.asking
        )

    @property
    def person(self) -> str | None:
        """The column that identifies a person, who sends one report; None if each
        record does.
        """
        return self.provenance.person or None

    @property
    def epsilons(self) -> Floats:
        """The largest stated budget of every attribute, 0 if it is not collected."""
        return np.array([planned.epsilon for planned in self.attributes])

    @property
    def totals(self) -> Floats:
        """The total leakage about every attribute, in nats."""
        return np.array([planned.total for planned in self.attributes])

    def __getitem__(self, name: str | SupportsIndex) -> PlannedAttribute:
        """Return one attribute of the plan."""
        return self.attributes[self.domain.index(name)]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content in canonical JSON: sorted keys, no blanks."""
        content = msgspec.json.decode(
            msgspec.json.encode(self, enc_hook=str), type=Plan
        )
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()

    @property
    def wire(self) -> Wire:
        """What a client needs to draw reports; see `plan.wire`.

        A mechanism that is not drawn by integer thresholds (SHE, Gaussian) raises an
        InputError.
        """
        return plan_wire(self)

    @cached_property
    def collection(self) -> str:
        """SHA-256 of the wire form, which determines the meaning of reports, and is
        stored in them.

        A mechanism without a wire form enters by its parameters.  Plans that differ in
        limits, totals or notes alone share it.
        """
        return wire_digest(described_collection(self))

    # Display and files ----------------------------------------------------------------

    def _headline(self) -> str:
        from seepage.plan.promises import headline

        return headline(self)

    @property
    def whom(self) -> str:
        """For whom the totals hold, in words; empty if they are an assumption."""
        if self.guarantee == "worst":
            return "for everybody"
        if self.scope == "population":
            return f"for the population at {self.confidence:g}"
        return "" if self.kind == "assumed" else "for this table only"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        fields = ["mechanism", "epsilon", "delta", "limit", "total", "public"]
        columns: dict[str, Sequence[Any]] = {"attribute": self.domain.names}
        if len(self.forms) > 1:
            columns["forms"] = [len(planned.asking) for planned in self.attributes]
            fields.append("form")
        return columns | {
            name: [getattr(a, name) for a in self.attributes] for name in fields
        }

    def chart(self) -> Any:
        """Return an Altair chart of forms with their budgets and shares, totals and
        limits.
        """
        from seepage.pages.plan_page import plan_picture

        return plan_picture(self)

    def people_for(self, width: float) -> int:
        """Return how many people give every share a half-width; see
        `plan.plan_precision`.
        """
        from seepage.plan.precision import people_for

        return people_for(self, width)

    def report(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        """Write the plan as one self-contained HTML page, whole or not at all; see
        `plan_page`.
        """
        from seepage.pages.plan_page import plan_page

        write_text(path, plan_page(self, name=name))

    def evidence(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        force: bool = False,
    ) -> list[Path]:
        """Write evidence for an impact assessment and a registry; see `plan.plan_page`."""
        from seepage.pages.evidence import write_evidence

        return write_evidence(self, folder, name=name, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the plan's file, as plain JSON with its digest."""
        from seepage.plan.plan_file import PlanFile

        return dict(
            msgspec.json.decode(msgspec.json.encode(PlanFile.of(self), enc_hook=str))
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a JSON file, which appears whole or not at all."""
        from seepage.plan.plan_file import save_plan

        save_plan(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Plan":
        """Return the plan of a file that `save` wrote; one that was edited raises an
        InputError.
        """
        from seepage.plan.plan_file import load_plan

        return load_plan(path)

    @method_takes(DataOptions)
    def check(self, data: Any, options: DataOptions) -> "PlanCheck":
        """Return the totals of the plan's forms on another table, such as next year's.

        Parameters
        ----------
        data
            Any table that can be read in the plan's domain, or `Records` or
            `PairCounts` of it; other columns are ignored.  Of a table with several
            records of a person the first of each is read, by the plan's `person` unless
            another is given.  Pair counts suffice for the guarantees `worst` and
            `independent`, a sample for `worst` only.

        See Also
        --------
        seepage.PlanCheck : the result, with an example.
        """
        from seepage.plan.plan_check import check_plan_on

        return check_plan_on(self, data, options)

    # The collection -------------------------------------------------------------------

    @method_takes(PerturbOptions)
    def perturb(self, data: Any, options: PerturbOptions) -> "pa.Table":
        """Return the reports of a table's records, one row per record, or one per
        `person`.

        One column per attribute; where there are several forms, a column `form` (from
        1) and one column for each report of each form, `"2:sex"`, empty for people with
        another form.

        Parameters
        ----------
        data
            Records: a frame, the path of a file, folder or glob, or the name of a
            dataset.

        See Also
        --------
        seepage.collection.perturb.perturb_file : from file to file, in constant memory.
        """
        from seepage.collection.perturb import perturb_table

        return perturb_table(self, data, options)

    def estimate(
        self, reports: Any, *, consistent: bool = False, weights: Any = None
    ) -> "Frequencies":
        """Return the estimated frequencies of every collected attribute.

        Unbiased; forms are combined by inverse variance at nominal frequencies.
        Standard errors are those for the population; `conditional_errors` those for the
        people who reported [`seepage.collection.frequencies`].

        Parameters
        ----------
        reports
            The table that `perturb` returned, or the path of a file of `perturb_file`.
        consistent
            Project the frequencies of each attribute to the nearest distribution.
        weights
            Survey weights: a column beside the reports, or one number per report.  They
            must be public and not depend on the answers; see `seepage.rake_weights` for
            known totals.
        """
        from seepage.collection.frequencies import estimate_frequencies

        return estimate_frequencies(
            self, reports, consistent=consistent, weights=weights
        )

    def table(
        self,
        reports: Any,
        names: str | Sequence[str],
        *,
        by: str | Sequence[str] = (),
        weights: Any = None,
    ) -> "Table":
        """Return a table with its covariance; see
        `collection.cross_table.estimate_table`.
        """
        from seepage.collection.cross_table import estimate_table

        return estimate_table(self, reports, names, by, weights)

    def regress(
        self,
        reports: Any,
        formula: str,
        *,
        family: Literal["logit", "linear"] = "logit",
        covariates: Any = None,
        weights: Any = None,
    ) -> "Regression":
        """Return a regression; see `collection.fit_regression.regress_reports`."""
        from seepage.collection.fit_regression import regress_reports

        return regress_reports(self, reports, formula, family, covariates, weights)

    def analyse(self, reports: Any, *, confidence: float = 0.95) -> "ReportAnalysis":
        """Return the leakages estimated from reports; see `collection.report_leakage`."""
        from seepage.collection.report_leakage import analyse_reports

        return analyse_reports(self, reports, confidence=confidence)

    def write_client(
        self, folder: str | os.PathLike[str], *, vectors: int = 100, force: bool = False
    ) -> list[Path]:
        """Write a client for browsers and Node; see
        `collection.client_files.write_client`.
        """
        from seepage.collection.client_files import write_client

        return write_client(self, folder, vectors=vectors, force=force)

    @method_takes(QuestionnaireOptions)
    def write_questionnaire(self, path: Any, options: QuestionnaireOptions) -> None:
        """Write the questionnaire as one page, whole or not at all; see
        `questionnaire_page`.

        Parameters
        ----------
        path
            The page.
        """
        from seepage.pages.questionnaire import write_questionnaire

        write_questionnaire(self, path, options)
