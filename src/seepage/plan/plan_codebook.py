"""The codebook of a plan: its questions with their answers, as one CSV file."""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise

from seepage.channel.domain import ALL_OTHERS, MISSING
from seepage.designs.forms.question import rounded_frequencies
from seepage.plan.attributes import PlannedAttribute
from seepage.plan.plan_content import PlanContent
from seepage.tables.codebooks import CodebookRow, Role, write_codebook


def plan_codebook(plan: PlanContent) -> list[CodebookRow]:
    """Return the lines of a plan's codebook: of each attribute, asked or not.

    Shares are the plan's nominal frequencies, in whole percent.
    """
    rows = list[CodebookRow]()
    for planned in plan.attributes:
        role = _role(plan, planned)
        kind = "number" if planned.edges else "answer"
        rows.append(CodebookRow(attribute=planned.name, kind=kind, role=role))
        rows += _answers(planned)
        rows += _merged(planned)
    return rows


def _role(plan: PlanContent, planned: PlannedAttribute) -> Role:
    """Return the role of an attribute in a plan's codebook."""
    if planned.public:
        return "public"
    if planned.name in plan.provenance.known:
        return "known"
    return "ask" if planned.asking else "protect"


def _answers(planned: PlannedAttribute) -> Iterator[CodebookRow]:
    """Yield the lines of a plan's codebook for the answers of an attribute."""
    ends: Sequence[tuple[float, float]] = list(pairwise(map(float, planned.edges)))
    answers = [value for value in planned.values if value != MISSING]
    shares = list[float]()
    if len(planned.frequencies) == len(answers):
        shares = rounded_frequencies(planned.frequencies)
    for index, value in enumerate(answers):
        low, high = ends[index] if ends else (None, None)
        yield CodebookRow(
            attribute=planned.name,
            value=value,
            order=index + 1 if ends else None,
            lower=low,
            upper=high,
            share=round(100 * shares[index]) if shares else None,
        )


def _merged(planned: PlannedAttribute) -> Iterator[CodebookRow]:
    """Yield the lines of a plan's codebook for values that are coded as an answer, or
    as none.
    """
    for value, answer in planned.merged:
        is_marker = answer == MISSING and value != ALL_OTHERS
        yield CodebookRow(
            attribute=planned.name,
            value=value,
            missing=is_marker,
            merged_into=answer,
        )


def save_plan_codebook(plan: PlanContent, path: str | os.PathLike[str]) -> None:
    """Write the codebook of a plan."""
    write_codebook(path, plan_codebook(plan))
