"""Linear programs started from the last solution, against programs solved from scratch."""

import numpy as np
import pytest
from scipy.optimize import linprog
from threadpoolctl import threadpool_info

from seepage._numerics import one_blas_thread
from seepage.designs.admissible_reports import LinearPrograms

SIDES = 1 - 3 * np.eye(5)
"""No unknown is above a third of their sum."""

EQUAL = np.array([[0.1, 0.2, 0.2, 0.2, 0.3]])
DRAWS = np.random.default_rng(2)


def from_scratch(gain, sides):
    """Return the largest gain . x."""
    found = linprog(-gain, A_ub=-sides, b_ub=np.zeros(len(sides)), A_eq=EQUAL, b_eq=[1.0])
    return -found.fun


def test_each_program_has_its_own_optimum():
    programs = LinearPrograms(-SIDES, EQUAL)
    more = np.array([[1.0, 1.0, -1.0], [2.0, -1.0, 0.0]])  # shorter than the others
    wide = np.pad(more, ((0, 0), (0, 2)))
    for rows, act in (
        ([], lambda: None),
        (wide, lambda: programs.add(-more)),
    ):
        act()
        sides = np.vstack([SIDES, *rows])
        for gain in DRAWS.normal(size=(20, 5)):
            x = programs.maximise(gain)
            assert gain @ x == pytest.approx(from_scratch(gain, sides), abs=1e-9)
            assert (sides @ x > -1e-9).all()
            assert EQUAL[0] @ x == pytest.approx(1.0)


def test_a_program_without_solution_gives_none():
    none = np.eye(5)  # x <= 0, and e . x = 1
    assert LinearPrograms(none, EQUAL).maximise(np.ones(5)) is None
    programs = LinearPrograms(-SIDES, EQUAL)
    programs.add(none)
    assert programs.maximise(np.ones(5)) is None


def test_linear_algebra_uses_one_thread_and_is_restored():
    def counts():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = counts()
    assert before
    with one_blas_thread():
        with one_blas_thread():
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert counts() == before
