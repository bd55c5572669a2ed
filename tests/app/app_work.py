"""Work that tests give to tasks; child processes import it by its name."""

import tempfile
import time

from seepage._core.errors import InputError


def double(number, *, progress):
    progress(1, 2)
    progress(2, 2)
    return 2 * number


def refuse(*, progress):
    raise InputError("bins must be edges, got 'x'", parameter="bins")


def break_down(*, progress):
    raise ZeroDivisionError("of ours")


def search_until_stopped(*, progress):
    """Return the best so far when interrupted, as searches do."""
    best = 0
    try:
        while True:
            best += 1
            progress(best, None)
            progress.describe(f"best so far: {best}")
            time.sleep(0.01)
    except KeyboardInterrupt:
        return best


def sketch_and_wait(*, progress):
    progress.sketch([(0.6, ("coffee", "sleep")), (0.4, ("sleep",))])
    while True:
        time.sleep(0.05)


def print_much(*, progress):
    print("libraries print" * 10_000)
    return "whole"


def temporary_folder(*, progress):
    return tempfile.gettempdir()
