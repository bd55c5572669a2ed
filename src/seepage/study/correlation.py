"""Conventional measures of correlation, as matrices beside the leakage matrix.

They do not say what leaks: the paper's observation OB3, and `reproduce` shows it.
"""

from typing import Literal

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.data.pairs import PairCounts

__all__ = ["METRICS", "correlation_matrix"]

Metric = Literal["mi", "nmi", "pcc", "cramers_v"]

METRICS: dict[str, str] = {
    "mi": "mutual information in nats",
    "nmi": "mutual information over joint entropy, 0 to 1",
    "pcc": "Pearson correlation of the integer codes, -1 to 1",
    "cramers_v": "Cramer's V, 0 to 1",
}


def correlation_matrix(pairs: PairCounts, metric: Metric) -> Floats:
    """Return a measure of correlation between every two attributes, a symmetric matrix.

    Parameters
    ----------
    pairs
        The pair counts of a table.
    metric
        With p the joint distribution of X and Y, r and c its margins, N records:

        * `"mi"`: I = sum p ln(p / (r c)), in nats; the diagonal is the entropy;
        * `"nmi"`: I / H(X, Y), the paper's normalisation;
        * `"pcc"`: Pearson's coefficient of the integer codes 0, 1, 2, ...;
        * `"cramers_v"`: sqrt(chi2 / (N (min(a, b) - 1))), a and b the numbers of values seen.

    Notes
    -----
    An attribute with one value correlates with nothing: its entries are 0, the diagonal
    included.  Of a sample of records (`pairs.population`) this is the sample's own correlation,
    which a plain matrix cannot say.  Cost: linear in the number of pair cells.

    Examples
    --------
    >>> import seepage as sp
    >>> nmi = sp.correlation_matrix(sp.load_pairs("adult"), "nmi")
    >>> nmi.shape
    (15, 15)
    """
    _checks.choice(metric, "metric", METRICS)
    count = len(pairs.domain)
    result = np.zeros((count, count))
    for first, second, tables in pairs.tables_by_shape():
        found = _MEASURES[metric](tables)
        result[first, second] = result[second, first] = found
    for index, marginal in enumerate(pairs.marginals):
        result[index, index] = _MEASURES[metric](np.diag(marginal)[None])[0]
    return result


def _mutual_information(tables: Integers) -> Floats:
    """Return sum p ln(n N / (r c)) from the counts n: exactly 0 where n = r c / N throughout."""
    counts = tables.astype(np.float64)
    total = counts.sum(axis=(1, 2), keepdims=True)
    expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
    lifts = _divide(counts * total, expected)
    logarithms = np.log(lifts, out=np.zeros_like(lifts), where=lifts > 0)
    information = _divide(counts * logarithms, total).sum(axis=(1, 2))
    return np.asarray(np.maximum(information, 0.0))


def _normalised_information(tables: Integers) -> Floats:
    joint = _entropy(tables.reshape(len(tables), -1))
    return np.minimum(_divide(_mutual_information(tables), joint), 1.0)


def _pearson(tables: Integers) -> Floats:
    total = np.maximum(tables.sum(axis=(1, 2)), 1)[:, None]
    rows, columns = tables.sum(axis=2) / total, tables.sum(axis=1) / total
    left = np.arange(tables.shape[1]) - (rows @ np.arange(tables.shape[1]))[:, None]
    right = np.arange(tables.shape[2]) - (columns @ np.arange(tables.shape[2]))[:, None]
    covariance = np.einsum("pab,pa,pb->p", tables / total[:, None], left, right)
    variances = (rows * left**2).sum(axis=1) * (columns * right**2).sum(axis=1)
    return np.clip(_divide(covariance, np.sqrt(variances)), -1.0, 1.0)


def _cramers_v(tables: Integers) -> Floats:
    total = np.maximum(tables.sum(axis=(1, 2)), 1)
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    expected = rows[:, :, None] * (columns / total[:, None])[:, None, :]
    chi_squared = _divide((tables - expected) ** 2, expected).sum(axis=(1, 2))
    seen = np.minimum((rows > 0).sum(axis=1), (columns > 0).sum(axis=1))
    return np.minimum(np.sqrt(_divide(chi_squared, total * (seen - 1.0))), 1.0)


def _entropy(counts: Integers) -> Floats:
    """Return the entropy in nats of the distribution in each row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logarithms).sum(axis=1))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, 0 where the denominator is not positive."""
    quotient = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


_MEASURES = {
    "mi": _mutual_information,
    "nmi": _normalised_information,
    "pcc": _pearson,
    "cramers_v": _cramers_v,
}
