"""Changes of a plan with their prices: in words, as a table, and in the plan's file."""

import msgspec
import pytest

import seepage as sp
from seepage.designs.changes import Change, Changes, people_change

CHANGES = (
    Change(kind="drop", attributes=("coffee",), people=0.8),
    Change(kind="never", attributes=("coffee", "sleep"), people=1.2),
    Change(kind="largest", questions=1, people=2.0),
)


@pytest.fixture(scope="module")
def plan():
    survey = sp.make_survey(500).select(["coffee", "sleep"])
    designed = sp.design(survey, 2.0, shape="never", looks=4)
    return msgspec.structs.replace(designed, priced=CHANGES)


def test_the_changes_of_a_plan_are_in_its_file(plan, tmp_path):
    plan.save(tmp_path / "plan.json")
    loaded = sp.Plan.load(tmp_path / "plan.json")
    assert loaded.priced == CHANGES
    assert loaded.changes[1] == CHANGES[1]
    assert loaded.digest == plan.digest


def test_a_change_of_no_attribute_of_the_plan_raises(plan):
    unknown = Change(kind="drop", attributes=("tea",), people=1.1)
    with pytest.raises(sp.InputError, match="about 'tea', which is no attribute"):
        msgspec.structs.replace(plan, priced=(unknown,))


def test_changes_are_a_sequence_and_a_table():
    changes = Changes(CHANGES)
    assert len(changes) == 3
    assert list(changes)[2] is CHANGES[2]
    assert changes.of("never") == CHANGES[1:2]
    table = changes.to_arrow().to_pydict()
    assert table["attributes"] == ["coffee", "coffee x sleep", ""]
    assert table["questions"] == [None, None, 1]
    assert table["people"] == [0.8, 1.2, 2.0]
    assert str(changes[1]) == "never ask coffee and sleep together: 20 % more people"


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0, "as many people"),
        (1.0011, "0.2 % more people"),
        (1.5, "50 % more people"),
        (0.955, "4.5 % fewer people"),
        (2.0, "2 times as many people"),
        (2.01, "2.1 times as many people"),
    ],
)
def test_prices_are_rounded_up(factor, words):
    assert people_change(factor) == words


def test_each_of_several_looks_has_a_share_of_the_error_probability(plan):
    assert plan.confidence == 0.9875
    assert plan.provenance.settings["looks"] == 4
    assert any(
        note.startswith("one of 4 looks at these records") for note in plan.notes
    )
