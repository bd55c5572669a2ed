"""`Plan`: which attribute is collected through which mechanism, and what that promises."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, SupportsIndex

import msgspec
import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import Result
from seepage._version import __version__
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.mechanisms.randomness import Seed
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.totals.result import GUARANTEES

if TYPE_CHECKING:
    import pyarrow as pa

    from seepage.collection.estimated_pairs import EstimatedPairs
    from seepage.collection.frequencies import Frequencies
    from seepage.collection.joint import Joint


EDITED = "edited by hand"
"""Key under which a plan notes that its file's digest does not match."""

CLAIMS = [name for name, kind in GUARANTEES.items() if kind != "lower bound"]
"""The guarantees that a plan can rest on: all but lower bounds."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan was computed from.

    Parameters
    ----------
    digest
        SHA-256 of the pair counts, `PairCounts.digest`.
    records
        How many records they count.
    population
        Where those are a sample, how many records it was drawn from; not set otherwise.
    seepage
        The version of this package.
    settings
        What the caller chose, as plain JSON.
    """

    digest: str
    records: Annotated[int, msgspec.Meta(ge=0)]
    seepage: str
    settings: dict[str, Any] = {}
    population: Annotated[int, msgspec.Meta(ge=0)] | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(cls, pairs: PairCounts, settings: dict[str, Any]) -> "Provenance":
        """Return the provenance of a plan that was computed from these counts."""
        return cls(
            digest=pairs.digest,
            records=pairs.records,
            population=msgspec.UNSET if pairs.population is None else pairs.population,
            seepage=__version__,
            settings=settings,
        )


class Plan(
    Result, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True
):
    """A collection that can be deployed: domain, mechanisms, budgets, and what they promise.

    Made by `calibrate` or `make_plan`; it is immutable.  `save` and `load` keep it as JSON with
    a digest of its content, so that a plan edited by hand is noticed (`certify` makes it valid
    again).  The digest guards against mistakes, not against forgery: whoever edits the file can
    also compute it.

    Attributes
    ----------
    attributes
        The attributes in the order of the domain, collected or not.
    guarantee, kind
        The name of what the totals rest on, and whether that is certified, statistical or
        assumed.
    basis
        `"bound"`: the totals hold for any mechanisms with these budgets; `"mechanism"`: for the
        ones in the plan.
    view
        What the adversary of the totals keeps: the whole `"report"` or a value `"inferred"`.
    confidence
        Of all totals together, where they are statistical.
    provenance
        What the plan was computed from.
    notes
        Further remarks for the reader.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> domain = sp.Domain([sp.Attribute("sex", ("F", "M")), sp.Attribute("ill", ("no", "yes"))])
    >>> pairs = sp.PairCounts(domain, [[50, 50], [70, 30]], [40, 10, 30, 20])
    >>> plan = make_plan(pairs, epsilon=2.0, limit=4.0, guarantee="worst", totals=[4.0, 4.0])
    >>> plan
    Plan(2 of 2 attributes collected, epsilon 2, largest total 4, guarantee worst (certified))
    >>> plan["ill"].mechanism, plan.epsilons.tolist()
    ('grr', [2.0, 2.0])
    >>> people = {"sex": ["F", "M"] * 500, "ill": ["no", "no", "yes", "no"] * 250}
    >>> import pyarrow as pa
    >>> reports = plan.perturb(pa.table(people))
    >>> found = plan.estimate(reports)["ill"]
    >>> bool(abs(found.frequencies[1] - 0.25) < 5 * found.standard_errors[1])
    True
    """

    attributes: tuple[PlannedAttribute, ...]
    guarantee: str
    kind: Literal["certified", "statistical", "assumed"]
    basis: Literal["bound", "mechanism"] = "bound"
    view: Literal["report", "inferred"] = "report"
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    provenance: Provenance
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _checks.choice(self.guarantee, "guarantee", CLAIMS)
        if self.kind != GUARANTEES[self.guarantee]:
            raise InputError(
                f"the kind of guarantee {self.guarantee!r} must be "
                f"{GUARANTEES[self.guarantee]!r}, got {self.kind!r}"
            )
        if len(self.domain) and not self.mechanisms:
            raise InputError("a plan must collect at least one attribute, got none")

    @cached_property
    def domain(self) -> Domain:
        """Every attribute, collected or not."""
        return Domain(planned.attribute for planned in self.attributes)

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanism of each attribute that is collected, in order."""
        made = {planned.name: planned.made for planned in self.attributes}
        return {name: mechanism for name, mechanism in made.items() if mechanism is not None}

    @property
    def collected(self) -> Domain:
        """The attributes that are collected: those of the reports."""
        return self.domain.select(self.mechanisms)

    @property
    def epsilons(self) -> Floats:
        """The stated budget of every attribute, 0 where it is not collected."""
        return np.array([planned.epsilon for planned in self.attributes])

    @property
    def totals(self) -> Floats:
        """The total of every attribute."""
        return np.array([float(planned.total) for planned in self.attributes])

    @property
    def edited(self) -> bool:
        """Whether the plan comes from a file that was edited, and has not been certified since."""
        return bool(self.__dict__.get(EDITED))

    def check_certified(self) -> None:
        """Raise where the plan was edited: it must not be used to collect or estimate."""
        if self.edited:
            raise InputError("the plan was edited, so its totals mean nothing: certify it first")

    def __getitem__(self, name: str | SupportsIndex) -> PlannedAttribute:
        """Return one attribute of the plan."""
        return self.attributes[self.domain.index(name)]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content in canonical JSON: sorted keys, no blanks."""
        content = msgspec.json.decode(msgspec.json.encode(self), type=Plan)
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()

    @cached_property
    def collection(self) -> str:
        """SHA-256 of what the meaning of reports depends on: values, bins and mechanisms.

        Reports carry it; plans that differ in limits, totals or notes alone share it.
        """
        described = [
            [name, self.domain[name].values, self[name].edges, mechanism.describe()]
            for name, mechanism in self.mechanisms.items()
        ]
        return hashlib.sha256(msgspec.json.encode(described, order="sorted")).hexdigest()

    # Display and files --------------------------------------------------------------------------

    def _headline(self) -> str:
        used = sorted({float(f"{made.epsilon:.4g}") for made in self.mechanisms.values()})
        budgets = " to ".join(f"{epsilon:g}" for epsilon in dict.fromkeys((used[0], used[-1])))
        return (
            f"Plan({len(self.mechanisms)} of {len(self.attributes)} attributes collected, "
            f"epsilon {budgets}, largest total {self.totals.max():.4g}, "
            f"guarantee {self.guarantee} ({self.kind}))"
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        fields = ("name", "mechanism", "epsilon", "delta", "limit", "total", "public")
        columns = {field: [getattr(a, field) for a in self.attributes] for field in fields}
        columns["total"] = self.totals.tolist()
        return {"attribute": columns.pop("name"), **columns}

    def chart(self) -> Any:
        """Return budgets, totals and limits as an Altair chart."""
        from seepage.charts.results import plan_chart

        rows = [
            {
                "attribute": planned.name,
                "mechanism": planned.mechanism or "not collected",
                "epsilon": planned.epsilon,
                "total": planned.total,
                "limit": planned.limit,
            }
            for planned in self.attributes
        ]
        return plan_chart(rows, f"{self.guarantee}, {self.kind}")

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as it is saved, as plain JSON with its digest."""
        from seepage.plan.plan_file import PlanFile

        return dict(msgspec.json.decode(msgspec.json.encode(PlanFile.of(self))))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a JSON file, which appears whole or not at all."""
        from seepage.plan.plan_file import save_plan

        save_plan(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, unchecked: bool = False) -> "Plan":
        """Return the plan of a file that `save` wrote.

        Parameters
        ----------
        path
            The file.
        unchecked
            Accept a plan whose digest does not match its content, in order to `certify` it.
        """
        from seepage.plan.plan_file import load_plan

        return load_plan(path, unchecked=unchecked)

    def certify(self, data: Any, **options: Any) -> "Plan":
        """Return the plan with its totals computed again; see `seepage.plan.certify`."""
        from seepage.plan.plan_file import certify

        return certify(self, data, **options)

    # The collection -----------------------------------------------------------------------------

    def perturb(
        self,
        data: Any,
        *,
        seed: Seed = None,
        other: str | Mapping[str, str] | None = None,
        **table_options: Any,
    ) -> "pa.Table":
        """Return the reports of a table's records: one column per attribute, one row per record.

        Parameters
        ----------
        data
            Records: a frame, the path of a file, folder or glob, or the name of a dataset.
        seed
            None draws from the operating system's generator.  For research only: a seed gives
            the same reports again, and whoever knows it can undo the noise.
        other
            The value that stands for values outside the domain, of all attributes that have it;
            or a mapping from attribute to value, `"*"` for all others.  Without it a record with
            such a value raises a DomainError with its row and column.
        table_options
            Table options of `count_pairs`, but for `domain` and `bins`, which the plan decides.

        See Also
        --------
        seepage.collection.perturb.perturb_file : from file to file, in constant memory.
        """
        from seepage.collection.perturb import perturb_table

        return perturb_table(self, data, seed=seed, other=other, **table_options)

    def estimate(self, reports: Any, *, consistent: bool = False) -> "Frequencies":
        """Return the estimated frequencies of every collected attribute.

        Parameters
        ----------
        reports
            What `perturb` returned, or the path of what `perturb_file` wrote.
        consistent
            Project the frequencies of each attribute to the nearest distribution.
        """
        from seepage.collection.frequencies import estimate_frequencies

        return estimate_frequencies(self, reports, consistent=consistent)

    def estimate_joint(
        self, reports: Any, first: str, second: str, *, method: str = "inversion"
    ) -> "Joint":
        """Return the estimated joint frequencies of two collected attributes.

        Parameters
        ----------
        reports
            What `perturb` returned, or the path of what `perturb_file` wrote.
        first, second
            The attributes of rows and columns.
        method
            `"inversion"`: unbiased; `"em"`: maximum likelihood.
        """
        from seepage.collection.joint import estimate_joint

        return estimate_joint(self, reports, first, second, method=method)

    def estimate_pairs(self, reports: Any, *, method: str = "inversion") -> "EstimatedPairs":
        """Return estimated joint frequencies of all pairs of attributes that agree with each other.

        Parameters
        ----------
        reports
            What `perturb` returned, or the path of what `perturb_file` wrote.
        method
            How each joint table is estimated, `"inversion"` or `"em"`.
        """
        from seepage.collection.estimated_pairs import estimate_pairs

        return estimate_pairs(self, reports, method=method)
