"""What asking a rare answer costs against protecting it without asking."""

import pytest

import seepage as sp
from benchmarks.search import rare_illness
from seepage.designs.shaped.form_shaper import (
    MAX_SHAPED,
    MAX_SHAPED_ALL,
    most_cells,
)


class Asked:
    """The sizes of a problem, all of which are asked."""

    def __init__(self, *sizes):
        self.domain = self
        self.sizes = sizes
        self.everything = range(len(sizes))


@pytest.mark.parametrize(
    ("sizes", "cells"),
    [
        ((5, 2, 2, 2), MAX_SHAPED_ALL),
        ((4, 4, 3), MAX_SHAPED_ALL),
        ((7, 7), MAX_SHAPED),
        ((2,) * 6, MAX_SHAPED),
    ],
)
def test_larger_forms_are_shaped_where_they_ask_everything(sizes, cells):
    assert most_cells(Asked(*sizes)) == cells


def test_asking_a_rare_answer_costs_at_most_a_tenth_more_people():
    """At 20,000 people of whom 2 % have it, by the form of all four questions."""
    table = rare_illness()
    asked = sp.design(table, 2.0, effort=0.25)
    protected = sp.design(table, 2.0, left_out=["ill"], effort=0.25)
    assert asked.attributes[2].name == "ill"
    assert asked.people_for(0.03) <= 1.1 * protected.people_for(0.03)
