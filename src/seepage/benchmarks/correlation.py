"""Conventional measures of correlation between attributes, as symmetric matrices.

They do not determine the leakage: the paper's observation OB3, which `reproduce`
confirms.
"""

from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import DomainError
from seepage._core.results import Result
from seepage._core.text import sample_caution
from seepage.channel.domain import Domain
from seepage.channel.pairs import PairCounts
from seepage.tables.read import as_pairs
from seepage.tables.table_options import DataOptions, TableKeywords

Metric = Literal["mi", "nmi", "pcc"]


@dataclass(frozen=True, eq=False, repr=False)
class CorrelationMatrix(Result):
    """A measure of correlation between every two attributes; `matrix[a, b]` by names.

    Parameters
    ----------
    pairs
        The counts it was computed from.
    metric
        One of `METRICS`.
    values
        The symmetric matrix, in the order of the attributes.
    """

    pairs: PairCounts
    metric: Metric
    values: Floats

    @property
    def domain(self) -> Domain:
        """The attributes of a correlation matrix, in the order of rows and columns."""
        return self.pairs.domain

    @property
    def cautions(self) -> tuple[str, ...]:
        """Caveats of a correlation matrix: whether the counts are those of a sample."""
        caution = sample_caution(self.pairs)
        if caution is None:
            return ()
        return (caution,)

    def __getitem__(
        self, pair: tuple[str | SupportsIndex, str | SupportsIndex]
    ) -> float:
        """Return the correlation of one pair of attributes."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DomainError(
                f"a correlation is chosen by two attributes, got {checks.shown(pair)}"
            )
        first, second = (self.domain.index(name) for name in pair)
        return float(self.values[first, second])

    def _headline(self) -> str:
        """Return a matrix of correlations in one line."""
        sample = ", of a sample" if self.cautions else ""
        name = METRICS[self.metric][0]
        return f"CorrelationMatrix({name}, {len(self.domain)} attributes{sample})"

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of a matrix of correlations in long form."""
        names = self.domain.names
        first, second = np.triu_indices(len(names), 1)
        return {
            "attribute": [names[index] for index in first],
            "other": [names[index] for index in second],
            self.metric: self.values[first, second].tolist(),
        }


def correlation_matrix(
    data: Any, metric: Metric, **table: Unpack[TableKeywords]
) -> CorrelationMatrix:
    """Return a measure of correlation between every two attributes, a symmetric matrix.

    Parameters
    ----------
    data
        A frame, the path of a table, the name of a dataset, `PairCounts` or `Records`.
    metric
        With p the joint distribution of X and Y, r and c its margins:

        * `"mi"`: I = sum p ln(p / (r c)), in nats; the diagonal is the entropy;
        * `"nmi"`: I / H(X, Y), the paper's normalisation;
        * `"pcc"`: Pearson's coefficient of the integer codes 0, 1, 2 and so on.
    **table
        How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Notes
    -----
    The entries of an attribute with one value are 0, the diagonal included.  For a
    sample of records this is the correlation in the sample, which `cautions` say.
    Cost: linear in the number of pair cells.

    Examples
    --------
    >>> import seepage as sp
    >>> nmi = sp.correlation_matrix("adult", "nmi")
    >>> nmi.values.shape, round(nmi["sex", "relationship"], 3)
    ((15, 15), 0.146)
    """
    reading = DataOptions.from_keywords(table, correlation_matrix)
    _, measure = METRICS[checks.choice(metric, "metric", METRICS)]
    pairs = as_pairs(data, **reading.keywords)
    count = len(pairs.domain)
    result = np.zeros((count, count))
    for first, second, tables in pairs.tables_by_shape():
        measured = measure(tables)
        result[first, second] = measured
        result[second, first] = measured
    for index, marginal in enumerate(pairs.marginals):
        result[index, index] = measure(np.diag(marginal)[None])[0]
    return CorrelationMatrix(pairs, metric, checks.read_only(result, "values"))


def _mutual_information(tables: Integers) -> Floats:
    """Return the mutual information sum p ln(n N / (r c)) from the counts n: exactly 0
    where n = r c / N throughout.
    """
    counts = tables.astype(np.float64)
    total = counts.sum(axis=(1, 2), keepdims=True)
    expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
    lifts = _divide(counts * total, expected)
    logarithms = np.log(lifts, out=np.zeros_like(lifts), where=lifts > 0)
    information = _divide(counts * logarithms, total).sum(axis=(1, 2))
    return np.asarray(np.maximum(information, 0.0))


def _normalised_information(tables: Integers) -> Floats:
    """Return the mutual information over the joint entropy, a correlation from 0 to
    1.
    """
    joint = _entropy(tables.reshape(len(tables), -1))
    return np.minimum(_divide(_mutual_information(tables), joint), 1.0)


def _pearson(tables: Integers) -> Floats:
    """Return the Pearson correlation of the codes of two attributes."""
    total = np.maximum(tables.sum(axis=(1, 2)), 1)[:, None]
    rows = tables.sum(axis=2) / total
    columns = tables.sum(axis=1) / total
    left = np.arange(tables.shape[1]) - (rows @ np.arange(tables.shape[1]))[:, None]
    right = np.arange(tables.shape[2]) - (columns @ np.arange(tables.shape[2]))[:, None]
    covariance = np.einsum("pab,pa,pb->p", tables / total[:, None], left, right)
    variances = (rows * left**2).sum(axis=1) * (columns * right**2).sum(axis=1)
    return np.clip(_divide(covariance, np.sqrt(variances)), -1.0, 1.0)


def _entropy(counts: Integers) -> Floats:
    """Return the entropy in nats of the distribution in each row, for a correlation."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logarithms).sum(axis=1))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient that is a correlation, 0 where the denominator is not
    positive.
    """
    quotient = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


METRICS = {
    "mi": ("mutual information in nats", _mutual_information),
    "nmi": ("mutual information over joint entropy, 0 to 1", _normalised_information),
    "pcc": ("Pearson correlation of the integer codes, -1 to 1", _pearson),
}
"""What each measure is, and its function from a stack of tables, by name."""
