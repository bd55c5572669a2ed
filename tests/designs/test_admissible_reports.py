"""Linear programs started from the last solution, against programs solved from
scratch.
"""

import numpy as np
import pytest
from scipy.optimize import linprog
from threadpoolctl import threadpool_info

from seepage._core.threads import one_blas_thread
from seepage.designs.shaped.admissible_reports import (
    SHRINKING,
    AdmissibleReports,
    LinearPrograms,
    RatioLimit,
)

SIDES = 1 - 3 * np.eye(5)
"""No unknown is above a third of their sum."""

EQUAL = np.array([[0.1, 0.2, 0.2, 0.2, 0.3]])
DRAWS = np.random.default_rng(2)


def from_scratch(gain, sides):
    """Return the largest gain . x."""
    found = linprog(
        -gain, A_ub=-sides, b_ub=np.zeros(len(sides)), A_eq=EQUAL, b_eq=[1.0]
    )
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


def test_reports_reach_their_tightest_limit_and_shrink_into_all_of_them():
    draws = np.random.default_rng(5)
    counts = {
        "own": np.diag(draws.integers(20, 90, 5)),
        "other": draws.integers(1, 50, (3, 5)),
    }
    limits = [
        RatioLimit("own", counts["own"], 1.5),
        RatioLimit("other", counts["other"], 0.4),
    ]
    cone = AdmissibleReports(limits, counts["own"].sum(axis=1) / counts["own"].sum())

    def excesses(reports):
        """ln of the largest ratio of means minus its limit, by limit and report."""
        means = [
            reports @ (c / c.sum(axis=1, keepdims=True)).T for c in counts.values()
        ]
        logs = [np.log(m.max(axis=1) / m.min(axis=1)) for m in means]
        return np.array(
            [log - one.limit for log, one in zip(logs, limits, strict=True)]
        )

    reports = np.exp(draws.normal(scale=2, size=(200, 5)))
    assert (excesses(reports).max(axis=0) > 0).any()
    at_limit = 1 + cone.reach(reports - 1)[:, None] * (reports - 1)
    assert np.allclose(excesses(at_limit).max(axis=0), 0, atol=1e-6)
    assert (excesses(cone.shrunk(reports)) < 0).all()
    within = cone.initial_reports()
    assert np.allclose(cone.shrunk(within) - 1, SHRINKING * (within - 1))


def test_linear_algebra_uses_one_thread_and_is_restored():
    def counts():
        return [
            one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"
        ]

    before = counts()
    assert before
    with one_blas_thread():
        with one_blas_thread():
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert counts() == before
