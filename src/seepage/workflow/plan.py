"""`Plan`: the forms of a collection, the mechanisms of each, and the totals they
guarantee.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

import msgspec
import pyarrow as pa

from seepage._core.files import write_text
from seepage._core.progress import Progress
from seepage._core.results import Result
from seepage.collection.client_files import write_client
from seepage.collection.estimated_table import Table, estimate_table
from seepage.collection.frequencies import Frequencies, estimate_frequencies
from seepage.collection.perturb_table import perturb_table
from seepage.collection.regress import regress_reports
from seepage.collection.regression_result import Regression
from seepage.collection.report_leakage import ReportAnalysis, analyse_reports
from seepage.mechanisms.randomness import Seed
from seepage.plan.plan_check import PlanCheck, check_plan_on
from seepage.plan.plan_codebook import save_plan_codebook
from seepage.plan.plan_content import PerturbOptions, PlanContent
from seepage.plan.plan_file import PlanFile, load_plan, save_plan
from seepage.plan.plan_precision import people_for
from seepage.plan.promises import headline
from seepage.tables.table_options import (
    CodingKeywords,
    DataOptions,
    TableKeywords,
    TableOptions,
)


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
    priced
        What changes of the plan cost or save in people, at most; see `changes`.

    Examples
    --------
    >>> import pyarrow as pa, seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute("sex", ("F", "M")), sp.Attribute("ill", ("no", "yes"))]
    ... )
    >>> pairs = sp.PairCounts(domain, [[50, 50], [70, 30]], [40, 10, 30, 20])
    >>> plan = sp.calibrate(pairs, 4.0, guarantee="worst")
    >>> plan  # doctest: +NORMALIZE_WHITESPACE
    Plan(2 of 2 attributes collected, odds change at most 55 times, epsilon 2,
         guarantee worst (certified, for everybody))
    >>> plan["ill"].mechanism, plan.epsilons.tolist()
    ('grr', [2.0, 2.0])
    >>> people = {"sex": ["F", "M"] * 500, "ill": ["no", "no", "yes", "no"] * 250}
    >>> reports = plan.perturb(pa.table(people))
    >>> found = plan.estimate(reports)["ill"]
    >>> bool(abs(found.frequencies[1] - 0.25) < 5 * found.standard_errors[1])
    True
    """

    # Display and files ----------------------------------------------------------------

    def _headline(self) -> str:
        """Return a plan in one line."""
        return headline(self)

    UPPER_NATS = ("limit", "total")

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a plan in long form."""
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
        from seepage.pages.plan_picture import plan_picture

        return plan_picture(self)

    def people_for(self, width: float) -> int:
        """Return how many people give every share a half-width; see
        `plan.plan_precision.people_for`.
        """
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
        """Write evidence for an impact assessment and a registry; see
        `pages.evidence`.
        """
        from seepage.pages.evidence import write_evidence

        return write_evidence(self, folder, name=name, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return a plan as plain JSON, the content of its file with the digest."""
        return dict(
            msgspec.json.decode(msgspec.json.encode(PlanFile.of(self), enc_hook=str))
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a JSON file, which appears whole or not at all."""
        save_plan(self, path)

    def save_codebook(self, path: str | os.PathLike[str]) -> None:
        """Write questions, answers and what is merged as a CSV file to edit; see
        `seepage.tables.codebooks`.
        """
        save_plan_codebook(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Plan":
        """Return the plan of a file that `save` wrote; one that was edited raises an
        InputError.
        """
        content = load_plan(path)
        fields = {name: getattr(content, name) for name in cls.__struct_fields__}
        return cls(**fields)

    def check(self, data: Any, **table: Unpack[TableKeywords]) -> PlanCheck:
        """Return the totals of the plan's forms on another table, such as next year's.

        Parameters
        ----------
        data
            Any table that can be read in the plan's domain, or `Records` or
            `PairCounts` of it; other columns are ignored.  Of a table with several
            records of a person the first of each is read, by the plan's `person` unless
            another is given.  Pair counts suffice for the guarantees `worst` and
            `independent`, a sample for `worst` only.
        **table
            How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
            `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`,
            `pool`, `person`, `engine`, `progress`; see `TableKeywords`.

        See Also
        --------
        seepage.PlanCheck : the result, with an example.
        """
        return check_plan_on(self, data, DataOptions.from_keywords(table, Plan.check))

    # The collection -------------------------------------------------------------------

    def perturb(
        self,
        data: Any,
        *,
        rng: Seed = None,
        identifier: str | None = None,
        key: bytes | str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        **table: Unpack[CodingKeywords],
    ) -> pa.Table:
        """Return the reports of a table's records, one row per record, or one per
        `person`.

        One column per attribute; where there are several forms, a column `form` (from
        1) and one column for each report of each form, `"2:sex"`, empty for people with
        another form.

        A record with a value outside the domain raises a DomainError with its row and
        column, unless its attribute has a catch-all value.  A report is always sent: a
        missing answer is a value like any other if the domain has it.

        Parameters
        ----------
        data
            Records: a frame, the path of a file, folder or glob, or the name of a
            dataset.
        rng
            None draws from the operating system's generator.  For research only: a seed
            or NumPy generator gives the same reports again, and whoever knows it can
            remove the noise.
        identifier, key
            A column of stable identifiers from which forms and noise are derived, so
            that a person who is asked again gets the same form, and sends the same
            report for the same answers, but another one for a changed answer, which
            proves the change; and the secret key, bytes or the path of its file (see
            `seepage.collection.perturb_table.IdentifiedPeople`).
        progress
            Called with the number of records done and their total, None if unknown.
        **table
            How the table is read: `columns`, `drop`, `max_values`,
            `missing_markers`, `delimiter`, `column_names`, `encoding`, `person`; see
            `TableKeywords`.  `person` is by default that of the plan: each person sends
            one report, of the first record.  The plan fixes `domain`, `bins`, `pool`
            and `missing`.

        See Also
        --------
        seepage.collection.perturb_table.perturb_file : from file to file, in constant
        memory.
        """
        reading = TableOptions.from_keywords(table, Plan.perturb)
        options = PerturbOptions(
            rng=rng,
            identifier=identifier,
            key=key,
            progress=progress,
            reading=reading,
        )
        return perturb_table(self, data, options)

    def estimate(
        self, reports: Any, *, consistent: bool = False, weights: Any = None
    ) -> Frequencies:
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
    ) -> Table:
        """Return a table with its covariance; see
        `collection.estimated_table.estimate_table`.
        """
        return estimate_table(self, reports, names, by, weights)

    def regress(
        self,
        reports: Any,
        formula: str,
        *,
        family: Literal["logit", "linear"] = "logit",
        covariates: Any = None,
        weights: Any = None,
    ) -> Regression:
        """Return a regression; see `collection.regress.regress_reports`."""
        return regress_reports(
            self,
            reports,
            formula,
            family=family,
            covariates=covariates,
            weights=weights,
        )

    def analyse(self, reports: Any, *, confidence: float = 0.95) -> ReportAnalysis:
        """Return the leakages estimated from reports; see
        `collection.report_leakage`.
        """
        return analyse_reports(self, reports, confidence=confidence)

    def write_client(
        self, folder: str | os.PathLike[str], *, vectors: int = 100, force: bool = False
    ) -> list[Path]:
        """Write a client for browsers and Node; see
        `collection.client_files.write_client`.
        """
        return write_client(self, folder, vectors=vectors, force=force)

    def write_questionnaire(
        self,
        path: str | os.PathLike[str],
        *,
        labels: str | os.PathLike[str] | None = None,
        endpoint: str | None = None,
        title: str | None = None,
        texts: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write the questionnaire as one page, whole or not at all; see
        `questionnaire_page`.

        Parameters
        ----------
        path
            The page.
        labels
            A codebook with the texts to show for attributes and values, see
            `seepage.collection.client_files.read_labels`.  A missing value is the
            answer "Prefer not to say", where the plan has it.
        endpoint
            The address that reports are sent to.  Without one the page makes no
            request, and offers the report as a file.
        title
            The heading; by default the plan's.
        texts
            A file of the page's other texts: introduction, consent, contact, another
            language; see `seepage.pages.questionnaire.read_texts`.
        """
        from seepage.pages.questionnaire import write_questionnaire

        write_questionnaire(
            self, path, labels=labels, endpoint=endpoint, title=title, texts=texts
        )
