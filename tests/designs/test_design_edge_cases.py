"""Designs of odd tables and odd options: one clear line each, in little time and
memory.
"""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import seepage as sp
from searches import find_design, totals


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _domain(*sizes: int) -> sp.Domain:
    return sp.Domain(
        [
            sp.Attribute(f"a{i}", tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        ]
    )


@pytest.fixture
def coins() -> sp.Records:
    return sp.Records(
        _domain(2, 2, 2), [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], [3, 4, 5, 6]
    )


def test_a_joint_distribution_that_no_form_may_ask_for_raises(
    coins: sp.Records,
) -> None:
    with pytest.raises(sp.InputError, match="no form within the limits"):
        find_design(coins, 1.0, want=[("a0", "a1")], largest=1, effort=0.02)


@pytest.mark.parametrize("limit", [1e-300, 1e-12, {"a0": 1e-9, "a1": 20.0, "a2": None}])
def test_limits_too_small_to_compute_with_raise(
    coins: sp.Records, limit: object
) -> None:
    with pytest.raises(sp.InputError, match="limit must be at least 1e-06"):
        find_design(coins, limit, effort=0.02)


@pytest.mark.parametrize("scope", ["table", "population"])
def test_the_smallest_limit_is_kept(coins: sp.Records, scope: str) -> None:
    limits = {"a0": 1e-6, "a1": 20.0, "a2": None}
    found = find_design(coins, limits, scope=scope, effort=0.02)
    assert 0 < totals(found)[0] <= 1e-6


@pytest.mark.parametrize("above", [0.0, 1e-12, 1e-9])
def test_a_limit_that_public_attributes_use_up_raises(
    coins: sp.Records, above: float
) -> None:
    limits = {
        "a0": None,
        "a1": None,
        "a2": np.log(4 / 3) * (1 + above) + 1e-13,
    }  # a0 tells ln 4/3
    with pytest.raises(
        sp.InputError,
        match=r"can have no budget|cannot be certified|public attributes alone",
    ):
        find_design(coins, limits, public=["a0"], scope="table", effort=0.02)


@pytest.mark.parametrize("scope", ["table", "population"])
def test_a_table_too_large_for_exact_totals_is_not_counted(scope: str) -> None:
    values = 3000
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, values, 4000), rng.integers(0, 2, 4000)], axis=1)
    wide = sp.Records(_domain(values, 2), codes)
    from seepage.designs.forms import form_counter, form_totals

    made = list[int]()
    before = form_counter.FormCounter.table

    def watched(
        self: form_counter.FormCounter, attributes: list[int]
    ) -> form_counter.FormTable:
        made.append(self.cells(attributes))
        return before(self, attributes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form_counter.FormCounter, "table", watched)
        found = find_design(wide, 1.0, scope=scope, effort=0.02)
    assert max(made) <= form_totals.MAX_FORM_CELLS
    assert totals(found).max() <= 1.0


def test_a_question_too_large_for_exact_totals_rests_on_its_budget():
    codes = np.random.default_rng(0).integers(0, (3000, 2, 2), (4000, 3))
    records = sp.Records(_domain(3000, 2, 2), codes)
    limits = {"a0": None, "*": 12.0}
    options = {"scope": "table", "effort": 0.02}
    found = find_design(records, limits, known=["a2"], **options)
    assert all(
        form.guarantee == "worst" for form in found.forms if "a0" in form.attributes
    )
    assert totals(found)[1] <= 12.0
    with pytest.raises(
        sp.InputError, match=r"'a0' cannot be certified beside what is public"
    ):
        find_design(records, limits, public=["a2"], **options)


def _coded(rng: np.random.Generator, n: int, *sizes: int) -> sp.Records:
    return sp.Records(
        _domain(*sizes), np.stack([rng.integers(0, s, n) for s in sizes], axis=1)
    )


def test_a_pair_with_more_cells_than_are_shaped_is_estimated_by_products() -> None:
    people = _coded(np.random.default_rng(0), 10_000, 2, 8, 13, 2, 5, 5, 2, 2, 4)
    found = find_design(people, 2.0, want=["a0 x a2"], effort=0.02)
    assert np.isfinite(found.wanted["a0 x a2"])
    assert totals(found).max() <= 2.0


def _blamed(people: sp.Records) -> str:
    return " ".join(find_design(people, 2.0, effort=0.02).notes)


def test_a_rare_value_is_blamed_only_where_there_is_one() -> None:
    one = sp.Records(_domain(3), [[0], [1], [2]], [5, 1000, 1000])
    assert "no form of several questions" not in _blamed(one)
    rng = np.random.default_rng(0)
    few = _coded(rng, 12, 2, 2)
    assert "12 records are too few; give more, or merge answers" in _blamed(few)
    codes = np.column_stack(
        [rng.permutation([0] * 2079 + [1] * 921), rng.integers(0, 2, 3000)]
    )
    assert "921 of 3,000" not in _blamed(sp.Records(_domain(2, 2), codes))
    rare = sp.Records(_domain(3, 2), [[0, 0], [1, 0], [1, 1], [2, 1]], [3, 40, 40, 40])
    assert "'a0' has the value '0' in 3 of 123 records; pool rare values" in _blamed(
        rare
    )


def test_what_is_not_protected_is_named_where_it_is_sent_nearly_as_answered() -> None:
    people = _coded(np.random.default_rng(0), 4000, 2, 2, 3)
    limits = {"a1": 1.0, "a2": 1.0}
    plan = sp.design(people, limits, importance={"a0": 50.0}, effort=0.02)
    notes = [note for note in plan.notes if "no limit protects" in note]
    assert notes == [
        "sent nearly as answered, since no limit protects them: a0 at epsilon 16 "
        "(left_out)"
    ]
    silent = sp.design(people, limits, left_out=["a0"], effort=0.02)
    assert not any("no limit protects" in note for note in silent.notes)


@pytest.mark.parametrize("scope", ["table", "population"])
def test_what_everyone_knows_is_sent_at_most_at_the_largest_limit(scope: str) -> None:
    people = _coded(np.random.default_rng(0), 4000, 2, 2, 3)
    limits = {"a1": 1.5, "a2": 1.0}
    plan = sp.design(people, limits, known=["a0"], scope=scope, effort=0.02)
    assert 1.0 < plan["a0"].epsilon <= 1.5
    assert not any("no limit protects" in note for note in plan.notes)


def test_pairs_of_names_are_shown_in_their_right_form(coins: sp.Records) -> None:
    with pytest.raises(sp.InputError) as caught:
        sp.design(coins, 1.0, never=("a0", "a1"))
    assert str(caught.value) == (
        "never must be a list of pairs, as in never=[('a', 'b')], got 'a0'"
    )


def test_a_cause_is_not_guessed() -> None:
    """One question each was asked for; or the search ended before it tried more."""
    codes = np.random.default_rng(1).integers(0, (3, 2, 2, 2, 2, 2), (3_000, 6))
    codes[:2990, 0] = np.minimum(codes[:2990, 0], 1)
    people = sp.Records(_domain(3, 2, 2, 2, 2, 2), codes)
    single = find_design(people, 2.0, effort=0.02, largest=1)
    assert not [note for note in single.notes if note.startswith("no form of several")]
    short = find_design(people, 2.0, effort=0.001)
    assert short.ended == "work"
    [note] = [note for note in short.notes if note.startswith("no form of several")]
    assert note.endswith("a longer search, with more effort")
