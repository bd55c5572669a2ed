"""Shaped forms of a design for the population: chosen on a fifth, certified on the rest.

Everything about a shaped form is chosen by looking: what is asked, and each column of its report.
So the whole search for shaped forms, product forms included, sees a random fifth of the records;
the other records certify the reports that it ends with, all of them together.
"""

from collections.abc import Mapping
from dataclasses import replace
from threading import Event

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.designs.form_problem import FittedForm, FormProblem
from seepage.designs.form_totals import ExactForms
from seepage.designs.population_certifier import PopulationCertifier
from seepage.designs.precision import Precisions
from seepage.designs.shape import certified_on, chosen_mechanism
from seepage.designs.shaped_designs import Effort, FormShaper, form_limits, protected
from seepage.designs.shaped_mechanism import ShapedMechanism
from seepage.designs.shaped_population import CHOSEN_ON, split_records
from seepage.errors import InputError

MOST_CHOSEN = 16
"""Combinations of answers of a form that is shaped for the population."""

SPARE = 0.98
"""The share of the record's limit that is used: the fifth tells it with an error."""


class PeopleShapes:
    """Shaped reports that the other records are expected to certify.

    Parameters
    ----------
    problem
        The conditions.
    fifth
        The records that may be looked at.
    rule
        Of `shape`.
    confidence
        Of all limits together.
    """

    def __init__(self, problem: FormProblem, fifth: Records, rule: str, confidence: float) -> None:
        self.problem, self.fifth, self.rule = problem, fifth, rule
        self.confidence = confidence

    def make(
        self,
        form: FittedForm,
        wanted: Mapping[tuple[int, ...], float],
        effort: Effort,
        stop: Event,
    ) -> tuple[ShapedMechanism, Floats]:
        """Return the mechanism, and the limits for its totals."""
        names = [self.problem.domain.names[j] for j in form.attributes]
        most = form_limits(self.problem, form, self.rule)
        most["record_limit"] *= SPARE if len(names) > 1 else 1.0
        options = {
            **most,
            "wanted": wanted,
            "gap": effort.gap,
            "starts": effort.starts,
            "stop": stop.is_set,
        }
        limits = protected(self.problem)
        made = chosen_mechanism(self.fifth, names, limits, options, self.confidence)
        return made, self.problem.limits


class SplitRecords:
    """The part of the records that is looked at, as a problem of its own, and the other part.

    Parameters
    ----------
    problem, records
        The conditions and all records.
    confidence
        Of all limits of shaped forms together.
    seed
        Of the split.
    """

    def __init__(
        self, problem: FormProblem, records: Records, confidence: float, seed: int
    ) -> None:
        self.all, self.confidence = records, confidence
        self.fifth, self.rest = split_records(records, seed)
        fifth = self.fifth
        self.grown = Records(fifth.domain, fifth.codes, fifth.weights * CHOSEN_ON)
        self.problem = replace(
            problem,
            scorer=ExactForms(self.grown, [], []),
            precisions=Precisions(self.grown, problem.precisions.joint),
            most_cells=MOST_CHOSEN,
        )

    def certifier(self) -> PopulationCertifier:
        """Return what the product forms would be certified with, by the records looked at."""
        return PopulationCertifier(self.problem, self.grown, self.confidence)

    def certified(self, forms: list[FittedForm], shaper: FormShaper) -> list[FittedForm]:
        """Return the shaped forms that the other records certify, each for the people.

        The confidence is shared by all forms given, which were chosen before looking.
        """
        each = 1 - (1 - self.confidence) / max(len(forms), 1)
        found = [self._certified(form, each, shaper) for form in forms]
        return [form for form in found if form is not None]

    def _certified(
        self, form: FittedForm, confidence: float, shaper: FormShaper
    ) -> FittedForm | None:
        limits = protected(self.problem)
        assert form.matrix is not None
        try:
            made = certified_on(self.rest, self.all, form.matrix, limits, confidence)
            told = made.realised()
            totals = np.array(
                [told.get(name, made.realised_epsilon) for name in self.problem.domain.names]
            )
            return shaper.with_matrix(form, made, totals)
        except InputError:
            return None
