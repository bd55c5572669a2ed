"""A search that starts from a plan, and one that was stopped and is repeated."""

import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seepage as sp
from command import run
from searches import find_design
from seepage.designs import design_search as design_module
from seepage.designs.design_options import ShapedSets, WarmStart
from seepage.designs.design_search import WARM_WORK
from seepage.designs.forms.form_search import FormSearch
from seepage.designs.forms.search_work import DEFAULT_WORK
from seepage.designs.shaped.form_shaper import FormShaper
from seepage.workflow.within_limits import warm_start

OPTIONS = {"scope": "table", "shape": "never", "effort": 0.05}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    sick = rng.integers(0, 2, 3_000)
    columns = {
        f"q{index}": np.where(rng.random(3_000) < 0.6, sick, rng.integers(0, 2, 3_000))
        for index in range(8)
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def plan(people):
    return sp.design(people, 2.0, **OPTIONS)


def test_a_warm_start_is_as_good_with_a_fifth_of_the_work(people, plan):
    cold = find_design(people, 2.0, **OPTIONS)
    warm = find_design(people, 2.0, start=warm_start(plan), **OPTIONS)
    assert warm.error <= cold.error * 1.01
    assert warm.work.limit == pytest.approx(WARM_WORK * 0.05 * DEFAULT_WORK)


@pytest.fixture(scope="module")
def alike():
    """Seven answers with one cause, whose forms gain by being shaped."""
    rng = np.random.default_rng(9)
    cause = rng.normal(size=6_000)
    columns = {}
    for index in range(7):
        columns[f"q{index}"] = (cause + rng.normal(size=6_000) > 0).astype(int)
    return pa.table(columns)


@pytest.fixture(scope="module")
def cold(alike):
    return find_design(alike, 2.0, effort=0.3)


def start_of(design, part=None):
    """Return the start from a design, whose shaped sets were chosen on this part."""
    sets = tuple(tuple(form.attributes) for form in design.forms)
    shaped = design.shaped if part is None else ShapedSets(design.shaped.sets, part)
    return WarmStart(sets=sets, shaped=shaped)


def shaped_first(monkeypatch, table, start):
    """Return the sets that a search from this start shapes first."""
    sets = []
    original = FormShaper.shape_all

    def recorded(self, pool, forms):
        sets.extend(tuple(form.attributes) for form in forms)
        return original(self, pool, forms)

    monkeypatch.setattr(FormShaper, "shape_all", recorded)
    find_design(table, 2.0, effort=0.05, start=start)
    return sets


def test_a_warm_start_for_the_population_shapes_the_forms_of_the_plan(alike, cold):
    warm = find_design(alike, 2.0, effort=0.3, start=start_of(cold))
    assert warm.work.done < cold.work.done
    assert any(not form.is_product for form in warm.forms)
    assert warm.error <= cold.error * 1.02


def test_what_the_certifying_records_chose_is_not_shaped_first(
    monkeypatch, alike, cold
):
    """Only sets that a search chose on the same part: other records certify them."""
    assert cold.shaped.part
    assert shaped_first(monkeypatch, alike, start_of(cold)) == list(cold.shaped.sets)
    for part in ("", "0" * 64):
        assert shaped_first(monkeypatch, alike, start_of(cold, part)) == []
    other_seed = find_design(alike, 2.0, effort=0.05, rng=1)
    assert other_seed.shaped.part != cold.shaped.part


def test_a_search_from_a_plan_that_was_not_shaped_shapes_forms(alike):
    plan = sp.design(alike, 2.0, shape="never", effort=0.1)
    changed = sp.design(alike, 2.0, start=plan)
    assert any(not form.is_product for form in changed.forms)


def test_questions_that_are_not_asked_any_more_are_left_out_of_the_forms(people, plan):
    changed = sp.design(
        people,
        2.0,
        start=plan,
        left_out=["q0"],
        never=[("q1", "q2")],
        largest=3,
        **OPTIONS,
    )
    for form in changed.forms:
        assert "q0" not in form.attributes
        assert not {"q1", "q2"} <= {*form.attributes}
        assert len(form.attributes) <= 3
    assert max(changed.totals) <= 2.0


def test_a_plan_of_other_columns_is_no_obstacle(plan):
    survey = sp.make_survey(500).select(["coffee", "sleep"])
    changed = sp.design(survey, 2.0, start=plan, **OPTIONS)
    assert changed.digest != plan.digest
    assert {*changed.collected.names} == {"coffee", "sleep"}


def test_the_file_of_a_plan_is_a_start_and_gives_the_same(people, plan, tmp_path):
    plan.save(tmp_path / "plan.json")
    changes = {"largest": 2, **OPTIONS}
    by_object = sp.design(people, 2.0, start=plan, **changes)
    by_path = sp.design(people, 2.0, start=tmp_path / "plan.json", **changes)
    assert by_object.digest == by_path.digest


def test_what_is_no_plan_raises(people, tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(sp.InputError):
        sp.design(people, 2.0, start=tmp_path / "plan.json", **OPTIONS)
    with pytest.raises((sp.InputError, OSError)):
        sp.design(people, 2.0, start=tmp_path / "missing.json", **OPTIONS)


def test_the_command_starts_from_a_plan(people, plan, tmp_path):
    pa.csv.write_csv(people, tmp_path / "people.csv")
    plan.save(tmp_path / "plan.json")
    words = ("design", tmp_path / "people.csv", "--limit", 2, "--effort", 0.05)
    done = run(*words, "--scope", "table", "--from", tmp_path / "plan.json")
    assert done.returncode == 0, done.stderr
    assert "people" in done.stdout


def test_an_interrupted_search_is_repeated_by_its_rounds(people, monkeypatch):
    shown = []

    def interrupt(*arguments):
        shown.append(arguments)
        if len(shown) == 3:
            raise KeyboardInterrupt
        return "best so far"

    class Progress:
        def __call__(self, done, total):
            assert 0 <= done <= total

        def describe(self, text):
            self.text = text

    with monkeypatch.context() as patch:
        patch.setattr(design_module, "best_so_far", interrupt)
        stopped = sp.design(people, 2.0, progress=Progress(), **OPTIONS)
    rounds = stopped.provenance.settings["design"]["rounds"]
    assert stopped.provenance.settings["design"]["ended"] == "interrupted"
    assert any(f"rounds {rounds} gives it again" in note for note in stopped.notes)
    again = sp.design(people, 2.0, rounds=rounds, **OPTIONS)
    assert again.digest == stopped.digest


def test_progress_is_in_words(people):
    texts = []

    class Progress:
        def __call__(self, done, total):
            assert math.isfinite(total)

        def describe(self, text):
            texts.append(text)

    sp.design(people, 2.0, progress=Progress(), **OPTIONS)
    sp.design(people, 2.0, progress=Progress(), people=500, **OPTIONS)
    texts = [text for text in texts if text.startswith("best so far")]
    assert any(" people; stops after " in text for text in texts)
    assert any(" points; stops after " in text for text in texts)


def test_the_first_plan_is_told_before_the_first_round(people, monkeypatch):
    """Many questions have many pairs, which are fitted before the first round."""
    texts = []

    class Progress:
        def __call__(self, done, total):
            pass

        def describe(self, text):
            texts.append(text)

    def fit_pairs(search):
        texts.append("pairs")

    monkeypatch.setattr(FormSearch, "fit_pairs", fit_pairs)
    sp.design(people, 2.0, progress=Progress())
    assert texts[0].startswith("best so far: about ")
    assert all(text.startswith("best so far: ") for text in texts if text != "pairs")


def test_the_groups_of_the_best_so_far_are_told(people):
    sketches = []

    class Progress:
        def __call__(self, done, total):
            pass

        def sketch(self, groups):
            sketches.append(groups)

    sp.design(people, 2.0, progress=Progress(), **OPTIONS)
    assert sketches
    for groups in sketches:
        assert math.fsum(share for share, _ in groups) == pytest.approx(1)
        asked = {name for _, names in groups for name in names}
        assert asked == set(people.column_names)


def test_progress_of_the_best_so_far_gets_no_worse(people):
    texts = []

    class Progress:
        def __call__(self, done, total):
            pass

        def describe(self, text):
            texts.append(text)

    sp.design(people, 2.0, progress=Progress())
    found = [re.match("best so far: about ([0-9,]+) people", text) for text in texts]
    numbers = [int(match[1].replace(",", "")) for match in found if match]
    assert numbers == sorted(numbers, reverse=True)


def test_progress_towards_the_largest_error_never_falls(people):
    seen = list[tuple[int, int]]()
    options = OPTIONS | {"objective": "largest", "effort": 0.02}
    sp.design(people, 2.0, progress=lambda *step: seen.append(step), **options)
    done = [step for step, _ in seen]
    assert done == sorted(done)
    assert len({whole for _, whole in seen}) == 1
    assert done[-1] <= seen[-1][1]
