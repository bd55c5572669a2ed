"""Counting by one kernel, whatever the size of the problem."""

from contextlib import contextmanager

import pytest

KERNELS = ["by size", "numpy", "numba"]


@contextmanager
def counted_by(kernel):
    """Count by NumPy or Numba inside the block; "by size" leaves the choice to the
    problem.
    """
    with pytest.MonkeyPatch.context() as patch:
        if kernel != "by size":
            pays = "seepage.counting.accumulate.compiled_pays"
            patch.setattr(pays, lambda rows, sizes: kernel == "numba")
        yield
