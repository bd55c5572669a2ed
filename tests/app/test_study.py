"""What was decided in the app, as keywords of the design; results that are taken."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from seepage._core.errors import InputError
from seepage.app import plan_step
from seepage.app.column_choices import ColumnChoice
from seepage.app.leaks_step import verdict_at
from seepage.app.looks import LOOKS
from seepage.app.plan_wish import QuestionPair
from seepage.app.step_pages import step_findings
from seepage.app.study import MAX_COMPARED, DataSource, Study
from seepage.app.summaries import (
    AnalysisSummary,
    AnswerShares,
    CheckedColumn,
    CheckSummary,
    PlanSummary,
    TotalRange,
)
from seepage.app.tasks import Fault
from seepage.designs.changes import Change


def column(name, role="ask"):
    return CheckedColumn(
        name=name,
        kind="answer",
        reason="",
        role=role,
        missing=0.0,
        codes=(),
        beside=(),
        values=(("yes", 0.5), ("no", 0.5)),
        others=0,
        asked=AnswerShares(answers=(("yes", 0.5), ("no", 0.5)), number=2),
    )


def check(*columns, people=()):
    return CheckSummary(
        columns=columns, records=100, checked=100, part=20, people=people
    )


def plan(number, digest="d", **values):
    """A plan as far as a study looks at it."""
    fields = dict.fromkeys(PlanSummary.__dataclass_fields__)
    known = {"number": number, "digest": digest, "keywords": {"limit": "2x"}}
    return PlanSummary(**{**fields, **known, **values})


def ended(result=None, fault=None):
    """A task that has ended."""
    state = "done" if fault is None else "failed"
    return SimpleNamespace(state=state, result=result, fault=fault, kill=lambda: None)


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    study = Study(tmp_path)
    study.open_data(DataSource("people.csv", "people.csv", "people.csv", "0f"))
    study.take_check(
        check(column("ill"), column("age"), column("sex"), column("id", "never"))
    )
    return study


def test_what_is_proposed_is_decided_unless_somebody_does(study):
    assert study.asked == ["ill", "age", "sex"]
    assert study.names("never") == ["id"]


def test_decisions_become_keywords(study):
    study.choose("age", ColumnChoice("protect", "numbers", bins=(0, 18, 120)))
    study.choose("sex", ColumnChoice("public"))
    study.choose("id", ColumnChoice("person"))
    study.choose("ill", ColumnChoice("known", missing=("refused",)))
    study.entries |= {"largest": "2", "title": "Health", "limit": "4"}
    assert study.design_keywords() == {
        "person": "id",
        "bins": {"age": [0, 18, 120]},
        "missing_markers": {"ill": ("refused",)},
        "left_out": ("age",),
        "known": ("ill",),
        "public": ("sex",),
        "limit": "7.4x",
        "precision": 0.03,
        "largest": 2,
        "title": "Health",
        "looks": LOOKS,
    }


def test_changes_that_are_switched_on_are_made_by_the_next_search(study):
    changes = (
        Change(kind="drop", attributes=("ill",), people=0.8),
        Change(kind="drop", attributes=("sex",), people=0.9),
        Change(kind="never", attributes=("age", "sex"), people=1.1),
        Change(kind="largest", questions=2, people=1.3),
    )
    study.add_plan(plan(1, changes=changes))
    assert [position for position, _ in study.plan.offered] == [0, 2, 3]
    plan_step._keep(study, {"limit": "4", "change2": "on", "change3": "on"})
    assert study.wished == {2, 3}
    plan_step._make_wished_changes(study)
    keywords = study.design_keywords()
    assert keywords["never"] == (("age", "sex"),)
    assert keywords["largest"] == 2
    assert "left_out" not in keywords
    assert not study.wished
    plan_step._keep(study, {"limit": "4", "change1": "on"})
    assert not study.wished
    study.wished = {0}
    study.add_plan(plan(2, digest="e", changes=()))
    assert not study.wished


def test_one_column_identifies_a_person(study):
    study.choose("id", ColumnChoice("person"))
    study.choose("sex", ColumnChoice("person"))
    assert study.names("person") == ["sex"]
    assert study.names("never") == ["id"]


def test_pairs_of_what_is_not_asked_any_more_go(study):
    study.pairs.append(QuestionPair("never", "ill", "age"))
    study.choose("sex", ColumnChoice("protect"))
    assert study.pairs
    study.choose("age", ColumnChoice("protect"))
    assert not study.pairs


def test_nothing_asked_is_one_line(study):
    for name in study.asked:
        study.choose(name, ColumnChoice("never"))
    with pytest.raises(InputError, match="no column is asked"):
        study.design_keywords()


def test_who_is_a_person_must_be_said_where_rows_repeat(study):
    people = (("id", "several records have the same"),)
    study.take_check(check(column("ill"), column("id", "never"), people=people))
    with pytest.raises(InputError, match="who is a person"):
        study.design_keywords()
    study.is_each_row_a_person = True
    assert study.design_keywords()["person"] == "none"
    study.choose("id", ColumnChoice("person"))
    assert study.design_keywords()["person"] == "id"


def test_texts_beside_numbers_are_missing_in_the_part_too(study):
    numbers = replace(column("age"), beside=("refused",))
    study.take_check(check(column("ill"), numbers))
    assert study.exploring["missing_markers"] == {"age": ("refused",)}
    assert "missing_markers" not in study.reading  # a design does so by itself


def test_a_check_keeps_what_was_decided(study):
    study.choose("age", ColumnChoice("never"))
    study.take_check(check(column("age"), column("ill"), column("new")))
    roles = {name: choice.role for name, choice in study.choices.items()}
    assert roles == {"age": "never", "ill": "ask", "new": "ask"}


def test_a_plan_is_counted_before_it_is_shown(study):
    study.tasks["plan"] = ended(plan(1))
    study.take_results()
    assert (study.looks.left, study.plan.number) == (LOOKS - 1, 1)
    study.tasks["plan"] = ended(plan(2))  # the same plan again
    study.take_results()
    assert study.looks.left == LOOKS - 1


def test_a_plan_too_many_is_not_shown(study):
    for number in range(LOOKS):
        study.looks.add(f"d{number}")
    study.tasks["plan"] = ended(plan(1, "another"))
    study.take_results()
    assert study.plan is None
    assert "20 plans were tried" in study.faults["plan"].text


def test_an_opened_plan_is_no_try(study):
    study.tasks["plan"] = ended(plan(1, keywords={}))
    study.take_results()
    assert study.looks.left == LOOKS


def test_tries_are_those_of_the_data_not_of_the_window(study, tmp_path):
    study.looks.add("d")
    other = Study(tmp_path)
    other.open_data(DataSource("copy.csv", "copy.csv", "copy.csv", "0f"))
    assert other.looks.left == LOOKS - 1
    other.open_data(DataSource("more.csv", "more.csv", "more.csv", "1f"))
    assert other.looks.left == LOOKS


def test_few_plans_are_compared(study):
    for number in range(1, 6):
        study.add_plan(plan(number, f"plan {number}"))
    assert [kept.number for kept in study.plans] == [3, 4, 5]
    assert len(study.plans) == MAX_COMPARED
    study.remove_plan(5)
    assert study.plan.number == 4


def test_a_task_that_failed_leaves_its_fault(study):
    study.tasks["leaks"] = ended(fault=Fault("there is not enough memory", ""))
    study.take_results()
    assert study.faults["leaks"].text == "there is not enough memory"
    assert "leaks" not in study.tasks


def test_results_of_other_columns_are_forgotten(study):
    total = TotalRange("ill", 3.0, 3.5)
    analysis = AnalysisSummary(totals=(total,), leaks=(), records=20, questions=1)
    study.tasks["leaks"] = ended(analysis)
    study.take_results()
    assert study.analysis.number_over(7.4) == 1
    assert step_findings(study)["leaks"] == "1 over the limit"
    study.choose("age", ColumnChoice("never"))
    assert study.analysis is None


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0001, "as many people"),
        (0.876, "1,200 people fewer"),
        (1.2, "2,000 people more"),
        (3.0, "20,000 people more"),
    ],
)
def test_a_change_is_priced_in_people(factor, words):
    """Of people fewer at most so many, of people more at least."""
    change = Change(kind="drop", attributes=("ill",), people=factor)
    assert plan(1, size=10_000).price_of(change) == words


def test_the_same_plan_found_again_is_compared_once(study):
    study.add_plan(plan(1, "same"))
    study.add_plan(plan(2, "other"))
    study.add_plan(plan(3, "same"))
    assert [kept.number for kept in study.plans] == [2, 3]
    assert study.plan.number == 3


def test_what_is_not_known_is_no_finding_of_none(study):
    total = TotalRange("ill", 1.02, 3.5)
    study.analysis = AnalysisSummary(totals=(total,), leaks=(), records=20, questions=1)
    assert step_findings(study)["leaks"] == "1 not known"
    within = replace(study.analysis, totals=(TotalRange("ill", 1.0, 1.5),))
    study.analysis = within
    assert step_findings(study)["leaks"] == "0 over the limit"


def test_what_is_told_at_least_is_rounded_down():
    totals = (TotalRange("ill", 9.27, 12.0), TotalRange("age", 1.02, 3.5))
    analysis = AnalysisSummary(totals=totals, leaks=(), records=20, questions=2)
    told, unknown = verdict_at(analysis, 7.4).rows
    assert (told.state, told.odds) == ("over", "10,600")
    assert (unknown.state, unknown.odds) == ("open", "2.7")
