"""Texts of questions and answers, there and back, and in the questionnaires."""

import os

from report_examples import PLAN
from seepage.app.plan_files import plan_file
from seepage.app.question_texts import (
    PREVIEW,
    QUESTIONNAIRE,
    TEXTS_FILE,
    labels_of,
    refresh_questionnaires,
    save_texts,
    with_texts,
    write_questionnaires,
)
from seepage.tables.codebooks import CodebookRow, read_codebook, texts_of

NAME = PLAN.collected.names[0]
TEXTS = {NAME: {"": "=What, exactly?", "a": "the first"}, "other": {"b": "second"}}


def test_there_and_back(tmp_path):
    save_texts(TEXTS, tmp_path)
    assert read_codebook(tmp_path / TEXTS_FILE) == TEXTS


def test_lines_keep_what_else_they_say():
    rows = [
        CodebookRow(attribute=NAME, kind="answer", role="ask"),
        CodebookRow(attribute=NAME, value="a", order=1.0),
        CodebookRow(attribute=NAME, value="c"),
    ]
    lines = with_texts(rows, TEXTS)
    assert [line.attribute for line in lines] == [NAME, NAME, NAME, "other"]
    assert (lines[0].role, lines[0].question) == ("ask", "=What, exactly?")
    assert (lines[1].order, lines[1].label) == (1.0, "the first")
    assert lines[2] == rows[2]
    assert texts_of(lines) == TEXTS


def test_texts_of_another_table_are_none(tmp_path):
    assert labels_of(PLAN, tmp_path) is None
    save_texts({"unknown": {"": "Who?"}}, tmp_path)
    assert labels_of(PLAN, tmp_path) is None
    save_texts(TEXTS, tmp_path)
    assert labels_of(PLAN, tmp_path) == tmp_path / TEXTS_FILE


def test_questionnaires_are_written_again_after_their_texts(tmp_path):
    PLAN.save(plan_file(tmp_path, 1, "plan.json"))
    write_questionnaires(PLAN, 1, tmp_path)
    pages = [plan_file(tmp_path, 1, name) for name in (QUESTIONNAIRE, PREVIEW)]
    assert all("What, exactly?" not in page.read_text() for page in pages)
    save_texts(TEXTS, tmp_path)
    later = pages[1].stat().st_mtime_ns + 1_000_000
    os.utime(tmp_path / TEXTS_FILE, ns=(later, later))
    refresh_questionnaires(1, tmp_path)
    assert all("What, exactly?" in page.read_text() for page in pages)
    before = pages[0].stat().st_mtime_ns
    refresh_questionnaires(1, tmp_path)
    assert pages[0].stat().st_mtime_ns == before
