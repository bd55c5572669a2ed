"""The page of an analysis as one self-contained HTML file: the verdict, the strongest
leaks with a picture each, the map with a panel of one pair, totals to scale.

Python computes every number; the page's script shows the pair that is chosen.
"""

import math
import shlex
from typing import Any

from markupsafe import Markup

from seepage._core.errors import InputError
from seepage._core.odds import limit_as_typed
from seepage._core.text import (
    delta_text,
    how_many,
    lower_text,
    sample_caution,
    short_list,
    upper_text,
)
from seepage.analysis.analysis import Analysis
from seepage.analysis.verdict import total_text
from seepage.channel.domain import MISSING
from seepage.channel.pairs import PairCounts
from seepage.charts.chart_files import inline_svg
from seepage.leakage.equivalent_attributes import same_attributes
from seepage.leakage.skip_patterns import skip_patterns
from seepage.leakage.strongest_leaks import witness_records
from seepage.pages.analysis_view import (
    about_picture,
    by_urgency,
    finding_of,
    is_told_by_totals,
    leak_pictures,
    total_bars,
)
from seepage.pages.audit_heading import audit_heading
from seepage.pages.pair_map import pair_map
from seepage.pages.render import render_page, template_text
from seepage.totals.guarantees import GUARANTEES, KINDS
from seepage.totals.joint_witness import JointWitness

STYLES = ("design", "analysis")

SCRIPT = "js/pair_map.js"
"""The script of the page."""

RANKED_LEAKS = 20
"""Number of leaks in the folded ranking."""

SHOWN_WITNESSES = 3
"""Maximum number of joint witnesses under Details."""

SHOWN_SKIPS = 3
"""Maximum number of skip patterns below the strongest leaks."""

MAX_TABLE = 40
"""Maximum number of attributes of which all leakages stand in a table."""


def report_page(analysis: Analysis, *, audit: Any = None) -> str:
    """Return the page of an analysis.

    Parameters
    ----------
    analysis
        The analysis.
    audit
        The `Audit` whose channels were analysed, which heads the page.

    Examples
    --------
    >>> import seepage as sp
    >>> page = report_page(sp.analyse("adult", 1.0, columns=["sex", "race"]))
    >>> page.startswith("<!doctype html>"), "https://" in page
    (True, False)
    """
    matrix = analysis.matrix
    if math.inf in matrix.epsilons:
        name = matrix.domain.names[matrix.epsilons.tolist().index(math.inf)]
        raise InputError(
            f"epsilon must be finite for a page, and {name!r} is public",
            parameter="epsilon",
        )
    shown_map = pair_map(matrix, analysis.leaks(1))
    finding = finding_of(analysis)
    return render_page(
        "report.html",
        f"{analysis.name or 'What leaks'}: {finding.sentence}",
        styles=STYLES,
        script=template_text(SCRIPT),
        content={
            "map": shown_map and {**shown_map.content, "pair": shown_map.pair},
            "csv": {
                "limits": analysis.verdict.to_csv(),
                "totals": analysis.totals.to_csv(),
                "people": analysis.experienced and analysis.experienced.to_csv(),
            },
        },
        analysis=analysis,
        finding=finding,
        map=shown_map,
        table=shlex.join(analysis.table),
        audit=audit,
        audit_view=audit and audit_heading(audit),
        counted=how_many(matrix.pairs),
        caution=sample_caution(matrix.pairs),
        delta_text=delta_text,
        total_text=total_text,
        limit_as_typed=limit_as_typed,
        lower=lower_text,
        upper=upper_text,
        listed=short_list,
        limits=any(limit is not None for limit in analysis.limits),
        judgements=by_urgency(analysis.verdict),
        leaks=leak_pictures(analysis),
        strongest=analysis.leaks(RANKED_LEAKS),
        confidence=None if matrix.pairs.pooled else matrix.interval().confidence,
        budgets=dict(zip(matrix.domain.names, matrix.epsilons.tolist(), strict=True)),
        same=same_attributes(matrix.pairs),
        remarks=_remarks(matrix.pairs),
        support=witness_records(matrix.pairs),
        all_pairs=1 < len(matrix.domain) <= MAX_TABLE,
        first_is_totals=is_told_by_totals(analysis),
        totals_picture=total_bars(analysis),
        about=about_picture(analysis),
        people_picture=_people_picture(analysis),
        uncertainty=_uncertainty(analysis),
        guarantees=GUARANTEES,
        kinds=KINDS,
        witnessed=next(
            (t for t in analysis.totals.totals if t.guarantee == "witness"), None
        ),
        evidence=_evidence(analysis),
        notes=_notes(analysis),
        missing=_missing(matrix.pairs),
    )


def _remarks(pairs: PairCounts) -> list[str]:
    """Return what the page of an analysis says to read the leaks: copies and skip
    patterns.
    """
    same = [" and ".join(names) for names in same_attributes(pairs)]
    remarks = list[str]()
    if same:
        remarks.append(
            f"Determine each other and count as one finding: {'; '.join(same)}. "
            "Each spends a budget of its own."
        )
    remarks += [f"{skip}." for skip in skip_patterns(pairs)[:SHOWN_SKIPS]]
    return remarks


def _people_picture(analysis: Analysis) -> Markup | None:
    """Return the picture of promised epsilons and realised losses on an analysis's
    page, None where none was measured.
    """
    experience = analysis.experienced
    if experience is None or not experience.measured:
        return None
    return inline_svg(
        experience.chart(analysis.name), "Promised epsilon and realised loss, in nats"
    )


def _uncertainty(analysis: Analysis) -> dict[str, Any] | None:
    """Return the curve over distances on the page of an analysis and its picture; None
    without uncertainty.
    """
    within = analysis.within
    if within is None or within.uncertainty is None:
        return None
    curve = analysis.uncertainty_curve()
    numbers = (curve.distances, curve.totals, curve.largest, curve.mean)
    return {
        "words": within.uncertainty.words,
        "rows": list(zip(*(column.tolist() for column in numbers), strict=True)),
        "picture": inline_svg(curve.chart(), "Totals and leakages by distance, nats"),
    }


def _evidence(analysis: Analysis) -> tuple[str, list[JointWitness]] | None:
    """Return the evidence on the page of an analysis: the first guarantee with
    witnesses beyond the own report, and its strongest ones.
    """
    for total in analysis.totals.totals:
        pairs = zip(total.values.tolist(), total.evidence, strict=False)
        known = [
            (value, witness)
            for value, witness in pairs
            if witness and witness.beyond_own
        ]
        if known:
            known.sort(key=lambda pair: -pair[0])
            return total.guarantee, [witness for _, witness in known[:SHOWN_WITNESSES]]
    return None


def _notes(analysis: Analysis) -> dict[str, list[str]]:
    """Return each distinct note on totals for the page of an analysis, with the
    guarantees that it applies to.
    """
    totals = analysis.totals.totals
    notes = dict.fromkeys(note for total in totals for note in total.notes)
    return {note: [t.guarantee for t in totals if note in t.notes] for note in notes}


def _missing(pairs: PairCounts) -> dict[str, int]:
    """Return for the page of an analysis the number of missing values of each attribute
    that has a category of them.
    """
    counted = zip(pairs.domain, pairs.marginals, strict=True)
    return {a.name: int(n[a.code(MISSING)]) for a, n in counted if MISSING in a.values}
