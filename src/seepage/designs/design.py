"""`Design`: the forms, shares and totals that a search found."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from seepage._core.arrays import Floats
from seepage.channel.records import Records
from seepage.designs.changes import Change
from seepage.designs.design_options import DesignOptions, ShapedSets
from seepage.designs.forms.certifier import Certifier
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_problem import FormProblem
from seepage.designs.forms.search_work import SearchWork
from seepage.designs.strategies import Strategy


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """Forms with shares that keep every total within its limit, see `designed`.

    Parameters
    ----------
    certifier, work, options
        What certified the forms, the work that was done, and the options of the design.
    people
        The number of people that the errors are for.
    importance
        Weight of the error of each quantity in the objective.
    forms
        The forms, in descending order of their shares.
    sets
        The attributes of each form that the search chose, from which another one can
        start.
    shaped
        Those that it chose to shape, before any record certified them.
    errors
        The expected squared error of each attribute's frequencies, summed over its
        values, noise and sampling together; infinite if it is not asked, 0 if it is
        constant.
    wanted
        The same for the statistics of the option `want`, by their texts; means in their
        own units.
    gap
        Upper bound of the relative excess of the weighted error over its minimum, over
        the forms of the pool.
    changes
        What changes of the design cost in people, at most.
    comparison
        Other strategies within the same limit and their errors, the design last.
    notes
        Remarks for the reader.
    ended
        Why the search ended: `"no better form"`, `"work"`, `"time"` or `"interrupted"`.
    rounds, considered
        The number of complete rounds of the search, and of forms that it tried.
    history
        The work done and the objective after each round.
    """

    certifier: Certifier
    work: SearchWork
    options: DesignOptions
    people: int
    importance: Floats
    forms: tuple[Form, ...]
    sets: tuple[list[str], ...]
    shaped: ShapedSets
    errors: Floats
    wanted: dict[str, float]
    gap: float
    changes: tuple[Change, ...]
    comparison: tuple[Strategy, ...]
    notes: tuple[str, ...]
    ended: str
    rounds: int
    considered: int
    history: tuple[tuple[float, float], ...]

    @property
    def problem(self) -> FormProblem:
        """The constraints that a design was searched under."""
        return self.certifier.problem

    @property
    def records(self) -> Records:
        """The records that certify the design."""
        return self.certifier.records

    @property
    def public(self) -> list[str]:
        """Attributes that the design releases in the clear."""
        return names_of(self.problem, self.problem.public)

    @property
    def known(self) -> list[str]:
        """Attributes of the design that the adversary knows of the person."""
        return names_of(self.problem, self.problem.known)

    @property
    def error(self) -> float:
        """The mean error of the design's attributes, weighted by their importance."""
        importance = self.importance[: len(self.errors)]
        used = importance > 0
        return float(importance[used] @ self.errors[used] / importance.sum())

    @property
    def late_gain(self) -> float:
        """By how much the last quarter of the search lowered the design's error,
        relatively.

        What a longer search may bring: no bound over all forms is known that would say
        more.
        """
        if not self.history:
            return 0.0
        done, objective = self.history[-1]
        late = [before for work, before in self.history if work <= 0.75 * done]
        if not late or not math.isfinite(late[-1]):
            return 0.0
        return round(max(0.0, 1 - objective / late[-1]), 4)

    @property
    def settings(self) -> dict[str, Any]:
        """What a plan states of its design: the options, the records and the search."""
        return {
            "scope": self.certifier.scope,
            "confidence": self.certifier.confidence,
            "records": self.records.records,
            **self.options.stated,
            **self.records.origin.settings(),
            "known": self.known,
            "design": {
                "forms considered": self.considered,
                "gap": self.gap,
                "late gain": self.late_gain,
                "error": self.error,
                "ended": self.ended,
                "rounds": self.rounds,
                "sets": list(self.sets),
                "shaped sets": list(map(list, self.shaped.sets)),
                "shaped on": self.shaped.part,
                "wanted": self.wanted,
            },
        }


def names_of(problem: FormProblem, indices: Iterable[int]) -> list[str]:
    """Return the names of attributes of a design by index."""
    return [problem.domain.names[j] for j in indices]
