"""Survey weights of reports: checked, and raked to known shares."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError, SeepageWarning

SHARED = 5
"""A weight that fewer people share nearly identifies them."""


def checked_weights(weights: Any, records: int) -> Floats:
    """Return weights as numbers; warn where one is shared by so few people that it
    tells who.
    """
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
            "weights must be finite and at least 0, one of them above 0",
            parameter="weights",
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


MAX_ROUNDS = 1000
"""Maximum number of iterations of raking weights."""


# Weights ------------------------------------------------------------------------------


def rake_weights(
    data: Any, totals: Mapping[str, Mapping[Any, float]], *, weights: Any = None
) -> Floats:
    """Return weights with which public attributes have known totals (raking).

    With one attribute this is post-stratification.  The weights are multiplied for each
    attribute in turn by known over current share of its value, until all shares agree
    [Deming and Stephan 1940].  Standard errors that treat raked weights as given are on
    the safe side: they leave out what the known totals explain, which beside the noise
    of the reports is little.

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
    from seepage.collection.formula import clear_columns, given_weights

    shares = {
        name: dict(checks.mapping(known, f"totals of {name!r}"))
        for name, known in checks.mapping(totals, "totals").items()
    }
    if not shares:
        raise InputError(
            "totals must be given for at least one attribute", parameter="totals"
        )
    columns = clear_columns(data, shares)
    targets = []
    records = len(next(iter(columns.values())))
    raked = np.ones(records)
    if weights is not None:
        raked = checked_weights(given_weights(weights, data), records)
    for name, known in shares.items():
        found, codes = np.unique(columns[name].astype(str), return_inverse=True)
        label = f"totals of {name!r}"
        wanted = {
            str(value): checks.weight(total, label) for value, total in known.items()
        }
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
        "raking does not converge: no weights above 0 have all these totals",
        parameter="totals",
    )
