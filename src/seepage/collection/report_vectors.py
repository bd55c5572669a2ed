"""Unbiased vectors of single reports over the cells of some attributes, their mean and covariance.

A report of a form that asks for some attributes gives an unbiased vector a of the one-hot vector of
the person's cell: the product of (c - b) / a over the attributes of a product form, a row of A for
a matrix form [`report_sums`].  The estimated table is the weighted mean over people

    t = sum_i u_i a_i / sum_i u_i,   u_i = w_i / v(f_i),

w_i the weight of a person, 1 by default, and v(f) the variance of one report's vector at nominal
frequencies, summed over the cells.  v(f) is fixed before the collection, so t is unbiased, and
forms are combined by inverse variance.  It is a ratio of sums (Hajek), and linearised its
covariance is

    sum_i u_i^2 (a_i - t)(a_i - t)' / (sum_i u_i)^2,

for the population that people were drawn from, noise and sampling together [Sarndal, Swensson and
Wretman 1992, section 5.7]; it is divided by 1 - sum u^2 / (sum u)^2, so that equal weights give the
sample covariance over n.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.collection.report_source import ReportSource
from seepage.collection.report_sums import (
    CHUNK_ENTRIES,
    MatrixSums,
    informative_mechanisms,
    product_variance,
)
from seepage.designs.report_channels import MatrixChannel
from seepage.errors import InputError, SeepageWarning
from seepage.mechanisms.reports import ValueReports
from seepage.plan.plan import Plan

MAX_CELLS = 4096
"""Maximum number of cells of a table: its covariance has 128 MB."""

MAX_ROUNDS = 1000
"""Maximum number of iterations of raking."""

SHARED = 5
"""A weight that fewer people share nearly identifies them."""


class FormVectors:
    """The vectors of the reports of one form over the cells of some attributes it asks for.

    Parameters
    ----------
    plan, index
        The plan, and the index of the form.
    names
        The attributes; the last is the fastest in the order of the cells.
    """

    def __init__(self, plan: Plan, index: int, names: Sequence[str]) -> None:
        channel = plan.forms[index].channel
        self.columns, self._names = tuple(names), tuple(names)
        self._matrix = MatrixSums(plan, channel) if isinstance(channel, MatrixChannel) else None
        if self._matrix is not None:
            self.columns = self._matrix.columns
            self._coefficients = self._matrix.coefficients(*names)
            self.variance = self._matrix.unit_variance(*names)
        else:
            known = informative_mechanisms(plan, index)
            self._mechanisms = [known[name] for name in names if name in known]
            self.variance = product_variance(plan, known, names)

    def vectors(self, reports: Sequence[Any]) -> Floats:
        """Return the vector of each report, one row per report and one column per cell."""
        if self._matrix is not None:
            assert self._coefficients is not None
            return np.asarray(self._coefficients[reports[0].below(len(self._coefficients))])
        found = np.ones((len(reports[0]), 1))
        for mechanism, column in zip(self._mechanisms, reports, strict=True):
            scale, shift = mechanism.one_hot_map
            one_hot = (mechanism.contributions(column) - shift) / scale
            found = (found[:, :, None] * one_hot[:, None, :]).reshape(len(found), -1)
        return found

    def noise(self, code: int) -> tuple[float, float]:
        """Return the variance of one value's entry for people with another value, and with it.

        For one attribute; in a matrix form other answers have nominal frequencies.
        """
        if self._matrix is not None:
            return self._matrix.entry_noise(*self._names, code=code)
        (mechanism,) = self._mechanisms
        other, own = (float(np.mean(mechanism.variance(1, share))) for share in (0.0, 1.0))
        return other, own


def informative_forms(plan: Plan, names: Sequence[str]) -> dict[int, FormVectors]:
    """Return the vectors of each form whose reports determine the table of these attributes."""
    asking = (i for i, form in enumerate(plan.forms) if set(names) <= set(form.attributes))
    vectors = {index: FormVectors(plan, index, names) for index in asking}
    return {index: one for index, one in vectors.items() if np.isfinite(one.variance)}


def distinct_reports(reports: Sequence[Any], weights: Floats) -> tuple[list[Any], Floats, Floats]:
    """Return distinct reports with their sums of weights and of squared weights.

    Only reports of single values are compared; others are returned as they are.
    """
    if not all(isinstance(column, ValueReports) for column in reports):
        return list(reports), weights, weights**2
    codes = np.zeros(len(weights), dtype=np.int64)
    for column in reports:
        codes = codes * (int(column.values.max()) + 1) + column.values
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    once, twice = (np.bincount(inverse, power) for power in (weights, weights**2))
    return [column[first] for column in reports], np.asarray(once, float), np.asarray(twice, float)


class CellSums:
    """Weighted sums of the vectors of all forms that ask for attributes, and of their products.

    Parameters
    ----------
    plan
        The plan.
    names
        The attributes.
    full
        Whether to sum products of different cells, for the covariance; else squares alone.
    """

    def __init__(self, plan: Plan, names: Sequence[str], *, full: bool = True) -> None:
        cells = int(np.prod([plan.domain[name].size for name in names]))
        self.forms = informative_forms(plan, names)
        if cells > MAX_CELLS:
            raise InputError(
                f"a table must have at most {MAX_CELLS:,} cells, got {cells:,} of "
                f"{', '.join(names)}; choose fewer attributes"
            )
        self.people: dict[int, int] = dict.fromkeys(self.forms, 0)
        self._full, self._rows = full, max(1, CHUNK_ENTRIES // cells)
        self._weight = self._square = 0.0
        self._first, self._first_square = np.zeros(cells), np.zeros(cells)
        self._second = np.zeros((cells, cells) if full else cells)

    def add(self, index: int, reports: Sequence[Any], weights: Floats) -> None:
        """Add reports of one form, with the weights of their people."""
        vectors = self.forms[index]
        self.people[index] += len(weights)
        distinct, *powers = distinct_reports(reports, weights / (vectors.variance or 1.0))
        for start in range(0, len(powers[0]), self._rows):
            rows = slice(start, start + self._rows)
            once, twice = (power[rows] for power in powers)
            part = vectors.vectors([column[rows] for column in distinct])
            self._weight += float(once.sum())
            self._square += float(twice.sum())
            self._first += once @ part
            self._first_square += twice @ part
            self._second += (part * twice[:, None]).T @ part if self._full else twice @ part**2

    @cached_property
    def mean(self) -> Floats:
        """The estimated frequency of each cell."""
        return np.asarray(self._first / self._weight)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the estimates; their variances alone unless `full`."""
        product = np.multiply.outer if self._full else np.multiply
        cross = product(self._first_square, self.mean)
        centred = self._second - cross - cross.T + self._square * product(self.mean, self.mean)
        return np.asarray(centred / self._weight**2 / max(1.0 - 1.0 / self.effective, 1e-300))

    @property
    def squared(self) -> tuple[Floats, Floats]:
        """Means of a and of a a' with weights u^2: their difference for two cells is noise."""
        return self._first_square / self._square, self._second / self._square

    @property
    def effective(self) -> float:
        """The effective number of people, (sum u)^2 / sum u^2 [Kish 1965]."""
        return self._weight**2 / self._square


def read_vectors(
    source: ReportSource, wanted: Sequence[Mapping[int, FormVectors]]
) -> Iterator[tuple[int, int, list[Any], Integers]]:
    """Yield (index of the wanted, index of a form, its reports, their rows), in one pass."""
    columns: dict[int, dict[str, None]] = {}
    for forms in wanted:
        for form, vectors in forms.items():
            columns.setdefault(form, {}).update(dict.fromkeys(vectors.columns))
    names = {form: list(known) for form, known in columns.items()}
    for form, batch, rows in source.by_form(names):
        by_name = dict(zip(names[form], batch, strict=True))
        for index, forms in enumerate(wanted):
            if form in forms:
                yield index, form, [by_name[name] for name in forms[form].columns], rows


def sum_cells(
    plan: Plan,
    source: ReportSource,
    tables: Sequence[Sequence[str]],
    weights: Any,
    full: bool = True,
) -> list[CellSums]:
    """Return the sums of several tables, in one pass over the reports."""
    sums = [CellSums(plan, names, full=full) for names in tables]
    given = report_weights(source, weights)
    for index, form, reports, rows in read_vectors(source, [one.forms for one in sums]):
        sums[index].add(form, reports, np.ones(len(rows)) if given is None else given[rows])
    return sums


# Weights ----------------------------------------------------------------------------------------


def report_weights(source: ReportSource, weights: Any) -> Floats | None:
    """Return one weight per report, from a column beside the reports or an array; None for none."""
    if weights is None:
        return None
    if isinstance(weights, str):
        weights = source.column(weights)
    return checked_weights(weights, source.records)


def checked_weights(weights: Any, records: int, data: Any = None) -> Floats:
    """Return weights as numbers, 1 for None, or a column of the data by its name.

    Warn where one is shared by so few people that it tells who.
    """
    from seepage.collection.regression import clear_columns

    if weights is None:
        return np.ones(records)
    if isinstance(weights, str):
        weights = clear_columns(data, [weights])[weights]
    try:
        given: Floats = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("weights must be numbers", parameter="weights") from None
    if given.shape != (records,):
        raise InputError(
            f"weights must be one number for each of {records:,} reports, got {given.size:,}",
            parameter="weights",
        )
    if not (np.isfinite(given).all() and given.min() >= 0 and given.any()):
        raise InputError(
            "weights must be finite and at least 0, one of them above 0", parameter="weights"
        )
    _, inverse, counts = np.unique(given, return_inverse=True, return_counts=True)
    alone = int((counts[inverse] < SHARED).sum())
    if alone:
        warnings.warn(
            f"{alone:,} of {records:,} people have a weight that fewer than {SHARED} share: it "
            "nearly identifies them, and is published beside their reports; round the weights",
            SeepageWarning,
            stacklevel=4,
        )
    return given


def rake_weights(
    data: Any, totals: Mapping[str, Mapping[Any, float]], *, weights: Any = None
) -> Floats:
    """Return weights with which public attributes have known totals (raking).

    With one attribute this is post-stratification.  The weights are multiplied for each attribute
    in turn by known over current share of its value, until all shares agree [Deming and Stephan
    1940].  Standard errors that treat raked weights as given are on the safe side: they leave out
    what the known totals explain, which beside the noise of the reports is little.

    Parameters
    ----------
    data
        A frame or file with one row per report and a column for each attribute.
    totals
        By attribute, the known number or share of people with each value.
    weights
        Weights to start with: a column of the data, or numbers; 1 by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "f", "f", "m"]})
    >>> rake_weights(people, {"sex": {"f": 0.5, "m": 0.5}}).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    from seepage.collection.regression import clear_columns

    shares = {
        name: dict(_checks.mapping(known, f"totals of {name!r}"))
        for name, known in _checks.mapping(totals, "totals").items()
    }
    if not shares:
        raise InputError("totals must be given for at least one attribute", parameter="totals")
    columns, targets = clear_columns(data, shares), []
    records = len(next(iter(columns.values())))
    raked = checked_weights(weights, records, data)
    for name, known in shares.items():
        found, codes = np.unique(columns[name].astype(str), return_inverse=True)
        label = f"totals of {name!r}"
        wanted = {str(value): _checks.weight(total, label) for value, total in known.items()}
        if set(found.tolist()) != set(wanted):
            missing = sorted(set(found.tolist()) ^ set(wanted))[0]
            raise InputError(
                f"totals of {name!r} must be given for each value in the data, and no others; "
                f"{missing!r} is only in one of them",
                parameter="totals",
            )
        share = np.array([wanted[value] for value in found.tolist()])
        targets.append((codes, share / share.sum() * records))
    for _ in range(MAX_ROUNDS):
        largest = 0.0
        for codes, target in targets:
            factors = target / np.bincount(codes, raked)
            raked = raked * factors[codes]
            largest = max(largest, float(np.abs(factors - 1.0).max()))
        if largest < 1e-12:
            return raked
    raise InputError(
        "raking does not converge: no weights above 0 have all these totals", parameter="totals"
    )
