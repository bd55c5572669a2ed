"""Reading a saved analysis: what `Analysis.save` wrote, checked first."""

import base64
import binascii
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seepage import _checks
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.errors import InputError

NEEDED = ("attributes", "epsilon", "mechanism", "view", "cpl", "totals", "domain", "counts")
HINT = "write it with `seepage analyse DATA --format json --output result.json`"


def read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the saved result of a file; what is none raises an InputError.

    Parameters
    ----------
    path
        A file that `Analysis.save` or `seepage analyse --format json` wrote.
    """
    place = str(_checks.path(path))
    try:
        return as_result(msgspec.json.decode(Path(place).read_bytes()), place)
    except OSError as problem:
        raise InputError(f"{place} cannot be read: {problem.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"{place} is no JSON: {problem}; {HINT}") from None


def as_result(result: Any, place: str = "the result") -> dict[str, Any]:
    """Return a result as plain JSON, from an `Analysis` or from what its `to_dict` gave."""
    from seepage.analysis import Analysis

    if isinstance(result, Analysis):
        return result.to_dict()
    missing = [name for name in NEEDED if not isinstance(result, Mapping) or name not in result]
    if missing:
        raise InputError(f"{place} is no saved result, it has no {missing[0]!r}; {HINT}")
    return dict(result)


def pairs_of(result: Mapping[str, Any]) -> PairCounts:
    """Return the pair counts that a result carries; their digest must be the stated one."""
    try:
        domain = Domain.from_dicts(result["domain"])
        numbers = np.frombuffer(zlib.decompress(base64.b64decode(result["counts"])), dtype="<i8")
        ends = np.cumsum(domain.sizes)
        if len(numbers) != ends[-1] + pair_offsets(domain.sizes)[-1]:
            raise InputError("the result's counts do not fit its domain")
        pairs = PairCounts(
            domain,
            np.split(numbers[: ends[-1]], ends[:-1]),
            numbers[ends[-1] :],
            population=result.get("population"),
        )
    except (KeyError, TypeError, binascii.Error, zlib.error) as problem:
        raise InputError(f"the result's pair counts cannot be read: {problem}") from None
    if pairs.digest != result.get("digest"):
        raise InputError("the result was edited: its counts do not match its digest")
    return pairs
