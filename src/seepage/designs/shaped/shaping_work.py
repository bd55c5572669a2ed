"""The work of shaping a form, counted in the steps of its linear programs."""

from threading import Event

WORK_PER_START = 0.1


WORK_PER_START_CELL = 0.03


WORK_PER_START_CUBE = 4e-6
"""Work of the linear programs from one start: at least, per cell, and per cube of the
cells."""


CERTIFIED_WORK = 3.0


CERTIFIED_WORK_PER_VALUE = 0.04
"""Factor of this work for the population, where each program is solved with new cuts:
at least, and per value about which something is promised."""


class ShapingMeter:
    """Counts the work of shaping one form, in a thread of its own.

    Parameters
    ----------
    cells
        The combinations of answers of the form.
    stopped
        Set when the search ends early.
    factor
        The programs of one start, as a multiple of those for the table.

    Attributes
    ----------
    work, price
        The work so far, and that of one step.
    """

    def __init__(self, cells: int, stopped: Event, factor: float = 1.0) -> None:
        """Begin to count the work of shaping one form."""
        self.work = 0.0
        self.price = factor * (
            WORK_PER_START
            + WORK_PER_START_CELL * cells
            + WORK_PER_START_CUBE * cells**3
        )
        self._stopped = stopped

    def step(self) -> bool:
        """Count one start of shaping a form; return whether it is to end."""
        self.work += self.price
        return self._stopped.is_set()


def certified_factor(values: int) -> float:
    """Return the work of shaping a form for the population, relative to that for the
    table, with promises about this many values.
    """
    return CERTIFIED_WORK + CERTIFIED_WORK_PER_VALUE * values
