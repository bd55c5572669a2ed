"""Threads of linear algebra, usable cores, and the address space that a process may
use.
"""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from seepage._core.errors import InputError


def address_space() -> float:
    """Return the address space that threads may use in GiB (`ulimit -v`); infinite if
    there is no limit.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return math.inf
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return math.inf
    return soft / 2**30


def need_address_space(least: float, purpose: str) -> None:
    """Raise an InputError if the limit of the address space is below a number of
    GiB.
    """
    limit = address_space()
    if limit < least:
        raise InputError(
            f"{purpose} needs an address space (ulimit -v) of at least {least} GiB, "
            f"got {limit:.2f} GiB"
        )


# Threads of linear algebra ------------------------------------------------------------

_threads_lock = Lock()


_one_thread: list[Any] = []
"""One entry per open context; the first holds the limiter that restores the threads."""


@cache
def _blas(has_scipy: bool) -> Any:
    """Return the BLAS libraries loaded, looked up anew once SciPy has loaded its
    own.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: faster for systems of up to some hundred unknowns.

    The threads of OpenBLAS wait for each other in busy loops, so that small systems
    take 5 to 30 times as long with two threads as with one.  The limit holds for the
    whole process while any such context is open.
    """
    with _threads_lock:
        loaded = _blas("scipy.linalg" in sys.modules)
        _one_thread.append(
            None if _one_thread else loaded.limit(limits=1, user_api="blas")
        )
    try:
        yield
    finally:
        with _threads_lock:
            if len(_one_thread) == 1:
                _one_thread[0].restore_original_limits()
            _one_thread.pop()


def usable_cores() -> int:
    """Return the number of cores that the threads of this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
