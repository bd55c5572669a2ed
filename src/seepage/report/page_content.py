"""The content of the page as compact JSON: names, curves and tables."""

import base64
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._results import json_ready
from seepage.data.domain import MISSING, how_many, sample_caution
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.report.curve_envelope import Singles, profile_lines
from seepage.report.saved_result import pairs_of
from seepage.strongest_leaks import EstablishedLeak, same_attributes, support

if TYPE_CHECKING:
    from seepage.analysis import Analysis

AGREEMENT = 5e-4
"""How far a total on the page may lie above the exact sum of leakages, in nats."""

LARGEST_BUDGET = 10.0
"""The end of the page's sliders, if no analysed budget is larger."""

LARGEST_SUBSETS = 64
"""Attributes with more values have no curves for subset selection; the bound takes their place."""

MOST_CELLS = 1 << 19
"""Above so many pair cells the page has no tables, and so no distributions of a pair."""


def page_content(
    result: Mapping[str, Any], analysis: "Analysis", *, counts: bool = True
) -> dict[str, Any]:
    """Return everything the page shows or computes with, as plain JSON.

    Parameters
    ----------
    result
        A saved result, see `Analysis.to_dict`.
    analysis
        The analysis that it is of: the verdict and the leaks to show are never read from a file.
    counts
        Whether the page carries the pair counts, with which it shows single pairs.

    Notes
    -----
    The curves take O(m^2 t) per piece for each ordered pair with m and t values: a second for the
    210 ordered pairs of Adult.
    """
    pairs = pairs_of(result)
    epsilons = _each(result["epsilon"], len(pairs.domain))
    if "inf" in epsilons:
        name = pairs.domain.names[epsilons.index("inf")]
        raise InputError(f"epsilon must be finite for a page, and {name!r} is public")
    reach = max(LARGEST_BUDGET, 1.25 * max(epsilons))
    matrix = leakage_matrix(pairs, epsilons, **result.get("smoothing") or {})
    return {
        **{key: result.get(key) for key in _KEPT},
        "counted": how_many(pairs),
        "caution": sample_caution(pairs),
        "epsilon": epsilons,
        "mechanism": _each(result["mechanism"], len(pairs.domain)),
        "limit": _each(result.get("limit"), len(pairs.domain)),
        "reach": reach,
        "totals": [_total(name, total) for name, total in result["totals"].items()],
        "order": matrix.related_order(),
        "attributes": [_attribute(pairs, index) for index in range(len(pairs.domain))],
        "lines": _lines(matrix, reach),
        "tables": _tables(pairs) if counts else None,
        "withheld": not counts,
        "verdict": analysis.verdict.to_dict(),
        "leaks": [_leak(leak) for leak in analysis.leaks(LEAKS)],
        "same": same_attributes(analysis.matrix),
        "support": support(analysis.matrix),
        "sure": analysis.matrix.interval().confidence,
        "experienced": analysis.experienced and analysis.experienced.to_dict(),
    }


LEAKS = 5
"""How many leaks the page puts into words."""


def _leak(leak: EstablishedLeak) -> dict[str, Any]:
    """Return a leak with what attains it."""
    witness = leak.witness
    found: dict[str, Any] = json_ready(
        {
            "target": leak.target,
            "source": leak.source,
            "targets": leak.targets,
            "sources": leak.sources,
            "leakage": leak.leakage,
            "lower": leak.lower,
            "upper": leak.upper,
            "supported": leak.supported,
            "likelier": witness and str(witness.likelier),
            "other": witness and str(witness.other),
            "likely": witness and [str(value) for value in witness.likely],
        }
    )
    return found


_KEPT = (
    "seepage",
    "name",
    "command",
    "records",
    "digest",
    "view",
    "delta",
    "smoothing",
    "cpl",
    "tcpl",
    "strongest",
    "refused",
    "refuted",
)
NAMED_REPORTS = 5
"""How many reports of a joint witness the page names."""


def _total(name: str, total: Mapping[str, Any]) -> dict[str, Any]:
    """Return a total with its name, and of its evidence what a sentence can hold."""
    evidence = [found and _witness(found) for found in total.get("evidence") or []]
    kept = {key: total.get(key) for key in ("kind", "confidence", "totals", "deltas", "notes")}
    return {"guarantee": name, **kept, "evidence": evidence}


def _witness(found: Mapping[str, Any]) -> dict[str, Any]:
    reports = [(name, likely) for name, likely in found["reports"].items() if likely]
    return {
        **{key: found.get(key) for key in ("target", "likelier", "other", "value", "held_out")},
        "beyond_own": found.get("beyond_own", True),
        "reports": dict(reports[:NAMED_REPORTS]),
        "more": max(0, len(reports) - NAMED_REPORTS),
    }


def _each(setting: Any, count: int) -> list[Any]:
    return list(setting) if isinstance(setting, list) else [setting] * count


def _attribute(pairs: PairCounts, index: int) -> dict[str, Any]:
    """Return one attribute: its values and how often each occurs."""
    attribute, counts = pairs.domain[index], pairs.marginals[index]
    missing = attribute.values.index(MISSING) if MISSING in attribute.values else None
    return {
        "name": attribute.name,
        "values": list(attribute.values),
        "binned": len(attribute.edges) > 0,
        "marginal": counts.tolist(),
        "missing": 0 if missing is None else int(counts[missing]),
    }


def _lines(matrix: LeakageMatrix, reach: float) -> list[dict[str, Any]]:
    """Return the curves of every ordered pair, for each kind of likely set that sources need."""
    count = len(matrix.domain)
    tolerance = AGREEMENT / max(1, count - 1)
    stores: dict[tuple[str, int], dict[int, dict[int, Singles]]] = {}
    for targets, sources, stack in matrix.channel_stacks():
        for sets, least, most in _kinds(stack.shape[2], reach):
            found = profile_lines(stack, sets, tolerance, least, most)
            parts = np.split(found.values, np.cumsum(found.counts)[:-1])
            store = stores.setdefault((sets.kind, sets.size), {})
            for target, source, part in zip(targets.tolist(), sources.tolist(), parts, strict=True):
                store.setdefault(source, {})[target] = part
    return [_store(kind, size, store, count) for (kind, size), store in stores.items()]


def _kinds(values: int, reach: float) -> Iterator[tuple[LikelySets, float, float]]:
    """Yield the likely sets of a source with so many values, and the contrasts they need.

    With two values every set that tells anything is a singleton.  Subset selection takes sets of
    size w at budgets from ln(k/(w + 1) - 1) to ln(k/w - 1).
    """
    if values < 2:
        return
    yield LikelySets("singletons", reach), 0.0, reach
    if values == 2:
        return
    yield LikelySets("all", reach), 0.0, reach
    if values > LARGEST_SUBSETS:
        return
    for size in range(2, (values + 1) // 2):
        most = np.log(values / size - 1)
        least = np.log(max(1.0, values / (size + 1) - 1))
        yield LikelySets("subsets", reach, size), 0.999 * least, 1.001 * most


def _store(
    kind: str, size: int, store: dict[int, dict[int, Singles]], count: int
) -> dict[str, Any]:
    """Return the curves of one kind: for each of its sources, those about every target."""
    nothing = np.zeros((0, 2), dtype=np.float32)
    sources = sorted(store)
    parts = [store[source].get(target, nothing) for source in sources for target in range(count)]
    return {
        "kind": kind,
        "size": size,
        "sources": sources,
        "counts": _bytes(np.array([len(part) for part in parts]), "<u2"),
        "values": _bytes(np.concatenate(parts), "<f4"),
    }


def _tables(pairs: PairCounts) -> dict[str, str] | None:
    """Return all pair counts, in the narrowest type that holds them."""
    if len(pairs.counts) > MOST_CELLS:
        return None
    kind = "<u2" if pairs.records < 1 << 16 else "<u4" if pairs.records < 1 << 32 else "<f8"
    return {"type": kind, "values": _bytes(pairs.counts, kind)}


def _bytes(values: Any, kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
