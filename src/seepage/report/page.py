"""The report as one HTML file: template, styles, scripts, and its content as compact JSON.

Scripts are ES modules on disk.  On the page they are concatenated to one inline script in one
scope, in the order of their imports, which are removed.  The content security policy allows that
script and the styles by their hashes and nothing else: no name from the data can run as a script,
and nothing is fetched.
"""

import base64
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from seepage import _checks
from seepage._pages import fill_template, read_styles, static_text
from seepage._results import json_ready
from seepage.analysis import Analysis, common_or_list
from seepage.data.domain import MISSING, how_many, sample_caution
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.report.curve_envelope import Singles, profile_lines
from seepage.strongest_leaks import EstablishedLeak, same_attributes, support
from seepage.totals import GUARANTEES, KINDS, TotalLeakage

STYLES = ("base", "controls", "figures", "print")

IMPORT = re.compile(r"""^import [^;]* from "\./(\w+)\.js";\n""", re.MULTILINE)
EXPORT = re.compile(r"^export ", re.MULTILINE)

AGREEMENT = 5e-4
"""Maximum excess of a total on the page over the exact sum of leakages, in nats."""

MAX_BUDGET = 10.0
"""Maximum of the page's sliders, unless an analysed budget is larger."""

MAX_SUBSETS = 64
"""Maximum alphabet size with curves for subset selection; above it, the bound is used."""

MAX_CELLS = 1 << 19
"""Maximum number of pair cells; above it the page has no tables and no distributions of a pair."""

LEAKS = 5
"""Number of leaks that the page explains."""

SHOWN_REPORTS = 5
"""Maximum number of reports of a joint witness on the page."""


def report_page(analysis: Analysis, *, counts: bool = True) -> str:
    """Return the report of an analysis as one HTML page.

    Parameters
    ----------
    analysis
        The analysis.
    counts
        Whether the page contains the pair counts.  Without them it shows no distributions of single
        pairs; counts of single values remain.

    Examples
    --------
    >>> import seepage as sp
    >>> page = report_page(sp.analyse("adult", 1.0, columns=["sex", "race"]))
    >>> page.startswith("<!doctype html>"), "https://" in page
    (True, False)
    """
    _checks.flag(counts, "counts")
    if analysis.matrix.radius:
        raise InputError(
            f"radius must be 0 for a page, which shows the table's own leakages, "
            f"got {analysis.matrix.radius:g}"
        )
    return render_page(page_content(analysis, counts=counts))


def render_page(content: Mapping[str, Any]) -> str:
    """Return the page that shows the content, see `page_content`.

    Examples
    --------
    >>> page = render_page({"name": "</script><script>alert(1)</script>"})
    >>> page.count("</script>"), "alert(1)" in page.split("<title>")[0]
    (2, False)
    """
    script = '"use strict";\n' + "\n".join(with_imports("main").values())
    title = str(content.get("name") or "Leakage report")
    return fill_template(static_text("page.html"), title, read_styles(STYLES), script, content)


def with_imports(name: str, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the scripts `before`, and a script by name after those that it imports."""
    scripts, text = dict(before or {}), static_text(f"js/{name}.js")
    for imported in IMPORT.findall(text):
        if imported not in scripts:
            scripts = with_imports(imported, scripts)
    return scripts | {name: EXPORT.sub("", IMPORT.sub("", text))}


# The content of the page -------------------------------------------------------------------------


def page_content(analysis: Analysis, *, counts: bool = True) -> dict[str, Any]:
    """Return the data of the page, JSON-compatible.

    Parameters
    ----------
    analysis
        The analysis.
    counts
        Whether the page contains the pair counts, for distributions of single pairs.

    Notes
    -----
    The curves take O(m^2 t) per piece for each ordered pair with m and t values: a second for the
    210 ordered pairs of Adult.
    """
    matrix, pairs, totals = analysis.matrix, analysis.matrix.pairs, analysis.totals
    epsilons = matrix.epsilons.tolist()
    if math.inf in epsilons:
        name = pairs.domain.names[epsilons.index(math.inf)]
        raise InputError(f"epsilon must be finite for a page, and {name!r} is public")
    reach = max(MAX_BUDGET, 1.25 * max(epsilons))
    bound = leakage_matrix(pairs, epsilons, **matrix.smoothing)
    return {
        "seepage": analysis.version,
        "name": analysis.name,
        "command": analysis.command,
        "digest": pairs.digest,
        "view": matrix.view,
        "delta": common_or_list([release.delta for release in matrix.releases]),
        "smoothing": matrix.smoothing,
        "refused": totals.unavailable,
        "refuted": totals.refuted,
        "counted": how_many(pairs),
        "caution": sample_caution(pairs),
        "epsilon": epsilons,
        "mechanism": [release.name for release in matrix.releases],
        "limit": analysis.limits,
        "reach": reach,
        "totals": [_total(total) for total in totals.totals],
        "guarantees": {name: asdict(guarantee) for name, guarantee in GUARANTEES.items()},
        "kinds": KINDS,
        "order": bound.related_order(),
        "attributes": [_attribute(pairs, index) for index in range(len(pairs.domain))],
        "lines": _lines(bound, reach),
        "tables": _tables(pairs) if counts else None,
        "withheld": not counts,
        "verdict": analysis.verdict.to_dict(),
        "leaks": [_leak(leak) for leak in analysis.leaks(LEAKS)],
        "same": same_attributes(matrix),
        "support": support(matrix),
        "sure": matrix.interval().confidence,
        "experienced": analysis.experienced and analysis.experienced.to_dict(),
    }


def _leak(leak: EstablishedLeak) -> dict[str, Any]:
    """Return the fields of a leak, and of its witness."""
    witness = leak.witness
    content: dict[str, Any] = json_ready(
        {
            **{key: value for key, value in vars(leak).items() if key != "witness"},
            "likelier": witness and str(witness.likelier),
            "other": witness and str(witness.other),
            "likely": witness and [str(value) for value in witness.likely],
        }
    )
    return content


def _total(total: TotalLeakage) -> dict[str, Any]:
    """Return a total with its guarantee and shortened witnesses."""
    saved = total.to_dict()
    kept = ("guarantee", "kind", "confidence", "totals", "deltas", "notes")
    evidence = [witness and _witness(witness) for witness in saved["evidence"]]
    return {**{key: saved[key] for key in kept}, "evidence": evidence}


def _witness(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a joint witness with at most `SHOWN_REPORTS` reports, and the number of the others."""
    reports = [(name, likely) for name, likely in saved["reports"].items() if likely]
    kept = ("target", "likelier", "other", "value", "held_out", "beyond_own")
    return {
        **{key: saved[key] for key in kept},
        "reports": dict(reports[:SHOWN_REPORTS]),
        "more": max(0, len(reports) - SHOWN_REPORTS),
    }


def _attribute(pairs: PairCounts, index: int) -> dict[str, Any]:
    """Return the values of one attribute and their counts."""
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
    """Return the curves of every ordered pair, for each kind and size of likely sets."""
    count = len(matrix.domain)
    tolerance = AGREEMENT / max(1, count - 1)
    stores: dict[tuple[str, int], dict[int, dict[int, Singles]]] = {}
    for targets, sources, channels in matrix.channel_stacks():
        for sets, minimum, maximum in _kinds(channels.shape[2], reach):
            lines = profile_lines(channels, sets, tolerance, minimum, maximum)
            store = stores.setdefault((sets.kind, sets.size), {})
            for target, source, part in zip(targets.tolist(), sources.tolist(), lines, strict=True):
                store.setdefault(source, {})[target] = part
    return [_store(kind, size, store, count) for (kind, size), store in stores.items()]


def _kinds(values: int, reach: float) -> Iterator[tuple[LikelySets, float, float]]:
    """Yield the likely sets of a source with k values, with their smallest and largest contrast.

    With two values every proper set is a singleton.  Subset selection uses sets of size w at
    budgets from ln(k/(w + 1) - 1) to ln(k/w - 1).
    """
    if values < 2:
        return
    yield LikelySets("singletons", reach), 0.0, reach
    if values == 2:
        return
    yield LikelySets("all", reach), 0.0, reach
    if values > MAX_SUBSETS:
        return
    for size in range(2, (values + 1) // 2):
        maximum = np.log(values / size - 1)
        minimum = np.log(max(1.0, values / (size + 1) - 1))
        yield LikelySets("subsets", reach, size), 0.999 * minimum, 1.001 * maximum


def _store(
    kind: str, size: int, store: dict[int, dict[int, Singles]], count: int
) -> dict[str, Any]:
    """Return the curves of one kind of likely sets: of each source, about every target."""
    empty = np.zeros((0, 2), dtype=np.float32)
    sources = sorted(store)
    parts = [store[source].get(target, empty) for source in sources for target in range(count)]
    return {
        "kind": kind,
        "size": size,
        "sources": sources,
        "counts": _bytes(np.array([len(part) for part in parts]), "<u2"),
        "values": _bytes(np.concatenate(parts), "<f4"),
    }


def _tables(pairs: PairCounts) -> dict[str, str] | None:
    """Return all pair counts, in the narrowest type that holds them; None if too many."""
    if len(pairs.counts) > MAX_CELLS:
        return None
    kind = "<u2" if pairs.records < 1 << 16 else "<u4" if pairs.records < 1 << 32 else "<f8"
    return {"type": kind, "values": _bytes(pairs.counts, kind)}


def _bytes(values: Any, kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
