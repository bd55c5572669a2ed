"""What people read: texts of questions and answers, and the questionnaires that show
them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import seepage as sp
from seepage.app.plan_files import plan_file
from seepage.pages.questionnaire import questionnaire_page
from seepage.tables.codebooks import (
    CodebookRow,
    Texts,
    read_codebook,
    write_codebook,
)
from seepage.workflow.plan import Plan

TEXTS_FILE = "texts.csv"
"""The codebook of the texts in the folder of a study."""

QUESTIONNAIRE = "questionnaire.html"
"""The questionnaire that is given out."""

PREVIEW = "preview.html"
"""The questionnaire to try, which keeps and sends nothing."""


def with_texts(rows: Iterable[CodebookRow], texts: Texts) -> list[CodebookRow]:
    """Return the lines of a codebook with the texts of questions and answers, in
    further lines where none has them.

    Examples
    --------
    >>> row = CodebookRow(attribute="ill", kind="answer")
    >>> [line] = with_texts([row], {"ill": {"": "Are you ill?"}})
    >>> line.question, line.kind
    ('Are you ill?', 'answer')
    """
    waiting = {name: dict(of_column) for name, of_column in texts.items()}
    lines = list[CodebookRow]()
    for row in rows:
        text = waiting.get(row.attribute, {}).pop(row.value, "")
        lines.append(_with_text(row, text) if text else row)
    for name, of_column in waiting.items():
        for value, text in of_column.items():
            lines.append(_with_text(CodebookRow(attribute=name, value=value), text))
    return lines


def _with_text(row: CodebookRow, text: str) -> CodebookRow:
    """Return a line of a codebook with a text: of the question, or of the answer."""
    if row.is_attribute:
        return replace(row, question=text)
    return replace(row, label=text)


def save_texts(texts: Texts, folder: Path) -> None:
    """Write the texts of a study, none as well."""
    write_codebook(folder / TEXTS_FILE, with_texts([], texts))


def labels_of(plan: Plan, folder: Path) -> Path | None:
    """Return the file of the texts of a study; None if it has none of a plan."""
    path = folder / TEXTS_FILE
    if path.exists() and set(read_codebook(path)) & set(plan.domain.names):
        return path
    return None


def write_questionnaires(plan: Plan, number: int, folder: Path) -> None:
    """Write the questionnaire of a plan, and the one to try, with the texts of its
    study.
    """
    labels = labels_of(plan, folder)
    for name in (QUESTIONNAIRE, PREVIEW):
        page = questionnaire_page(plan, labels=labels, preview=name == PREVIEW)
        plan_file(folder, number, name).write_text(page, encoding="utf-8")


def refresh_questionnaires(number: int, folder: Path) -> None:
    """Write the questionnaires of a plan again if texts were entered after them."""
    texts = folder / TEXTS_FILE
    written = plan_file(folder, number, PREVIEW)
    if not texts.exists() or not written.exists():
        return
    if texts.stat().st_mtime_ns > written.stat().st_mtime_ns:
        plan = sp.Plan.load(plan_file(folder, number, "plan.json"))
        write_questionnaires(plan, number, folder)


def without_text(
    names: Iterable[str], texts: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Return the questions of which people would read the name of the column.

    Examples
    --------
    >>> without_text(["ill", "age"], {"ill": {"": "Are you ill?"}, "age": {"1": "one"}})
    ['age']
    """
    return [name for name in names if "" not in texts.get(name, {})]
