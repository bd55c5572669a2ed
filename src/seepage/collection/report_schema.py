"""The columns of a plan's reports: names, Arrow schema, and which reports fit it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from seepage._core.arrays import Integers
from seepage._core.errors import InputError
from seepage.mechanisms.arrow_reports import described_reports
from seepage.plan.plan_content import PlanContent

COLLECTION = b"seepage.collection"
"""The key of the collection's digest in the metadata of a file of reports."""


FORM = "form"
"""The column of the number of each person's form, from 1; absent if all have the
same."""


def report_column(plan: PlanContent, index: int, name: str) -> str:
    """Return the name of a column of reports, from the index of its form and the
    report's name.

    The attribute's name if everyone is asked the same; else `"<form>:<attribute>"`, or
    `"<form>:report"` for one report of all answers.
    """
    if plan.is_single:
        return name
    return f"{index + 1}:{name}"


def report_columns(plan: PlanContent) -> list[tuple[str, int, str]]:
    """Return (column, index of the form, name of the report) for each column of
    reports.

    If everyone is asked the same, they are in the order of the plan's attributes.
    """
    if plan.is_single:
        return [(report_column(plan, 0, name), 0, name) for name in plan.mechanisms]
    columns = []
    for index, mechanisms in enumerate(plan.form_mechanisms):
        columns += [
            (report_column(plan, index, name), index, name) for name in mechanisms
        ]
    return columns


def reports_schema(plan: PlanContent) -> pa.Schema:
    """Return the Arrow schema of a plan's reports; metadata: the mechanisms and the
    collection.
    """
    nobody = np.zeros(0, dtype=np.int64)
    fields = []
    if not plan.is_single:
        fields.append(pa.field(FORM, pa.uint16(), nullable=False))
    for column, index, name in report_columns(plan):
        reports = plan.form_mechanisms[index][name].perturb(nobody)
        fields.append(reports.field(column).with_nullable(not plan.is_single))
    return pa.schema(fields, metadata={COLLECTION: plan.collection})


def spread_reports(
    plan: PlanContent, forms: Integers, reports_of: Callable[[int, str, Any], pa.Array]
) -> list[pa.Array]:
    """Return the reports of some people as Arrow columns, in the order of the schema
    `reports_schema`.

    A column of one form is null for people with another form.

    Parameters
    ----------
    plan
        The plan.
    forms
        The index of each person's form.
    reports_of
        Function from (index of a form, name of a report, rows of its people) to their
        reports.
    """
    if plan.is_single:
        return [
            reports_of(form, name, slice(None))
            for _, form, name in report_columns(plan)
        ]
    columns = [pa.array((forms + 1).astype(np.uint16))]
    for form, mechanisms in enumerate(plan.form_mechanisms):
        rows = np.flatnonzero(forms == form)
        positions = np.full(len(forms), -1, dtype=np.int64)
        positions[rows] = np.arange(len(rows))
        indices = pa.array(positions, mask=positions < 0)
        columns += [reports_of(form, name, rows).take(indices) for name in mechanisms]
    return columns


def check_schema(plan: PlanContent, schema: pa.Schema, where: str) -> None:
    """Raise an InputError if a schema is not that of the plan's reports."""
    stated = (schema.metadata or {}).get(COLLECTION)
    if stated is not None and stated.decode(errors="replace") != plan.collection:
        raise InputError(
            f"{where} holds reports of another plan: its attributes, values or "
            "mechanisms differ"
        )
    for expected in reports_schema(plan):
        if schema.get_field_index(expected.name) < 0:
            raise InputError(
                f"{where} must have one column of reports {expected.name!r}"
            )
        field = schema.field(expected.name)
        if expected.name == FORM and not plan.is_single:
            _check_form_column(field, where)
        else:
            _check_report_column(field, expected, where)


def _check_form_column(field: pa.Field, where: str) -> None:
    """Raise an InputError if the schema's column of the numbers of forms has no
    integers.
    """
    if not pa.types.is_integer(field.type):
        raise InputError(
            f"column {FORM!r} of {where} must hold integers, got {field.type}"
        )


def _check_report_column(field: pa.Field, expected: pa.Field, where: str) -> None:
    """Raise an InputError if a column of the schema does not hold reports of its
    mechanism.
    """
    stated = described_reports(field)
    required = described_reports(expected)
    if stated != required or field.type != expected.type:
        raise InputError(
            f"column {field.name!r} of {where} must hold reports of {required}, "
            f"got {stated or field.type}"
        )
