"""The report as one HTML file: a view of an analysis, and leakages at a grid of other
budgets.

Python computes every number; the page's script looks leakages up and draws the map and
the pair.
"""

import math
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.log_ratios import quotient
from seepage._core.text import delta_text, how_many, lower_text, short_list, upper_text
from seepage.analysis.analysis import Analysis
from seepage.analysis.budget_grid import MAX_ATTRIBUTES, grid_note, leakage_grid
from seepage.analysis.verdict import STATES, Judgement, Verdict, total_text
from seepage.channel.domain import MISSING, sample_caution
from seepage.channel.pairs import PairCounts
from seepage.charts.chart_files import inline_svg
from seepage.charts.result_charts import about_chart, totals_chart
from seepage.leakage.equivalent_attributes import same_attributes
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.skip_patterns import skip_patterns
from seepage.leakage.strongest_leaks import witness_records
from seepage.pages.render import render_page, template_text
from seepage.totals.guarantees import GUARANTEES, KINDS
from seepage.totals.joint_witness import JointWitness

STYLES = ("base", "controls", "figures", "print")


SCRIPTS = ("dom", "heatmap", "pair", "main")
"""In one scope, in this order."""


UNIT = 1e-6
"""Leakages of the grid are integer multiples of this many nats, rounded up."""


LEAKS = 5


SHOWN_WITNESSES = 3


SHOWN_LIMITS = 20
"""Maximum number of leaks, of joint witnesses, and of limits that are kept."""


SHOWN_SOURCES = 12


ABOUT_WIDTH = 280
"""Maximum number of sources in the picture of one target, and the width of its bars'
axis."""


SHOWN_LIKELY = 4


SHOWN_VALUES = 10
"""Maximum number of likely values, and of shares of source values, of a pair."""


def report_page(analysis: Analysis, *, audit: Any = None) -> str:
    """Return the report of an analysis as one HTML page.

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
    grid = leakage_grid(matrix)
    return render_page(
        "report.html",
        f"{analysis.name or 'Leakage report'}: what attributes give away",
        styles=STYLES,
        script="\n".join(template_text(f"js/{name}.js") for name in SCRIPTS),
        content=_content(analysis, grid),
        analysis=analysis,
        table=shlex.join(analysis.table),
        audit=audit,
        counted=how_many(matrix.pairs),
        caution=sample_caution(matrix.pairs),
        grid_note=grid_note(grid),
        delta_text=delta_text,
        total_text=total_text,
        lower=lower_text,
        upper=upper_text,
        listed=short_list,
        limits=_limits(analysis.verdict),
        leaks=analysis.leaks(LEAKS),
        budgets=dict(zip(matrix.domain.names, matrix.epsilons.tolist(), strict=True)),
        same=same_attributes(matrix.pairs),
        skips=skip_patterns(matrix.pairs),
        support=witness_records(matrix.pairs),
        people_picture=_people_picture(analysis),
        totals_picture=_totals_picture(analysis),
        about_picture=_about_picture(analysis),
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


def _content(analysis: Analysis, grid: Sequence[LeakageMatrix]) -> dict[str, Any]:
    """Return what the script reads, JSON-compatible."""
    matrix = analysis.matrix
    experienced = analysis.experienced
    names = matrix.domain.names
    return {
        "names": names,
        "values": [attribute.values for attribute in matrix.domain],
        "order": matrix.related_order(),
        "analysed": next(at for at, point in enumerate(grid) if point is matrix),
        "grid": [
            {
                "largest": float(point.epsilons.max()),
                "epsilons": point.epsilons.tolist(),
                "values": _rounded_up(point.values),
                "deltas": [delta_text(d) for d in point.deltas.ravel()]
                if point.deltas.any()
                else None,
            }
            for point in grid
        ],
        "pair": _first_pair(analysis),
        "pairs": {
            cell: _pair(matrix, *divmod(cell, len(names)))
            for cell in np.argsort(-matrix.values, axis=None)[
                : MAX_ATTRIBUTES**2
            ].tolist()
            if matrix.values.flat[cell] > 0
        },
        "csv": {
            "limits": analysis.verdict.to_csv(),
            "totals": analysis.totals.to_csv(),
            "people": experienced and experienced.to_csv(),
        },
    }


def _rounded_up(values: Floats) -> list[int | None]:
    """Return leakages as multiples of `UNIT`, rounded up; None for infinity."""
    return [
        math.ceil(v / UNIT) if math.isfinite(v) else None
        for v in values.ravel().tolist()
    ]


def _first_pair(analysis: Analysis) -> dict[str, int] | None:
    """Return the pair that the page opens with: the strongest leak; None for one
    attribute.
    """
    domain = analysis.matrix.domain
    values = analysis.matrix.values
    if len(domain) < 2:
        return None
    for leak in analysis.leaks(1):
        return {
            "target": domain.index(leak.target),
            "source": domain.index(leak.source),
        }
    target, source = (
        divmod(int(values.argmax()), len(domain)) if values.any() else (0, 1)
    )
    return {"target": target, "source": source}


def _pair(matrix: LeakageMatrix, target: int, source: int) -> dict[str, Any] | None:
    """Return witness, saturation and shares of one pair; None if its leakage has no
    witness.

    Values are given by index, shares under the two target values in ten-thousandths.
    """
    witness = matrix[target, source].witness
    if witness is None:
        return None
    channel = matrix.channel(target, source)
    domain = matrix.domain
    likely = [domain[source].code(str(value)) for value in witness.likely]
    compared = str(witness.likelier), str(witness.other)
    upper, lower = channel.matrix[[channel.given.code(value) for value in compared]]
    order = np.argsort(-np.abs(upper - lower), kind="stable")
    return {
        "likelier": domain[target].code(compared[0]),
        "other": domain[target].code(compared[1]),
        "likely": likely[:SHOWN_LIKELY],
        "more": max(0, len(likely) - SHOWN_LIKELY),
        "saturation": _saturation(channel.matrix),
        "rows": [
            [u, _ten_thousandths(upper[u]), _ten_thousandths(lower[u]), u in likely]
            for u in order[:SHOWN_VALUES].tolist()
        ],
        "rest": max(0, len(order) - SHOWN_VALUES),
    }


def _ten_thousandths(share: float) -> int:
    """Return a share as an integer, 0 only for 0."""
    return max(round(1e4 * share), int(share > 0))


def _saturation(channel: Floats) -> float | None:
    """Return the limit of the leakage for epsilon to infinity; None for infinity."""
    ratio = float(quotient(channel.max(axis=0), channel.min(axis=0)).max())
    return None if ratio == math.inf else math.log(ratio)


# Values of the template ---------------------------------------------------------------


def by_urgency(verdict: Verdict) -> list[Judgement]:
    """Return the judgements, exceeded limits first, then by slack; without limits by
    total.
    """

    def urgency(j: Judgement) -> tuple[int, float]:
        if j.limit is None or j.state is None:
            return len(STATES), -j.lower
        return STATES.index(j.state), j.limit - (
            j.proof[0] if j.state == "within" else j.lower
        )

    return sorted(verdict.judgements, key=urgency)


def _limits(verdict: Verdict) -> dict[str, Any]:
    """Return the limits in the order to show, with the ends of their bars in percent.

    Bars end at the largest lower bound or limit, or at an upper bound up to twice as
    large.
    """
    judgements = by_urgency(verdict)
    near = max(
        n for j in judgements for n in (j.lower, j.limit or 0.0, 1e-9) if n < math.inf
    )
    end = 1.03 * min(
        2 * near, max([near, *(j.upper for j in judgements if j.upper < math.inf)])
    )

    def share(value: float | None) -> float | None:
        return None if value is None else round(min(100.0, 100 * value / end), 2)

    return {
        "rows": [
            {
                "of": j,
                "lower": share(j.lower),
                "upper": share(j.upper),
                "relaxed": share(j.relaxed) if j.relaxed_by else None,
                "limit": share(j.limit),
            }
            for j in judgements
        ],
        "any": any(j.limit is not None for j in judgements),
        "equal": len({(*j.texts, j.limit) for j in judgements}) == 1,
        "shown": SHOWN_LIMITS,
    }


def _about_picture(analysis: Analysis) -> Markup | None:
    """Return the leakages about the target of the strongest leak as a picture, None if
    none is.

    As in the ranking of leaks, among its values with enough records: a value of one
    person would make every source tell all.
    """
    matrix = analysis.matrix
    for leak in analysis.leaks(1):
        least = witness_records(matrix.pairs)
        release = matrix.releases[matrix.domain.index(leak.target)]
        names = [name for name in matrix.domain.names if name != leak.target]
        told = {name: matrix.leak_among(leak.target, name, least) for name in names}
        names.sort(key=lambda name: -told[name].value)
        rows: list[dict[str, Any]] = [
            {
                "source": name,
                "leakage": told[name].value,
                "delta": told[name].delta,
                "own": False,
            }
            for name in names[:SHOWN_SOURCES]
        ]
        own = {"leakage": release.epsilon, "delta": release.delta, "own": True}
        rows.append({"source": f"{leak.target} itself", **own})
        how = f"{release.name or 'any mechanism'}, epsilon {release.epsilon:g}"
        about = (
            f"{how}; of its values with at least {least:,} of {how_many(matrix.pairs)}"
        )
        chart = about_chart(rows, leak.target, about, ABOUT_WIDTH)
        return inline_svg(
            chart, f"Leakage about {leak.target} of each other answer, in nats"
        )
    return None


def _people_picture(analysis: Analysis) -> Markup | None:
    """Return promised epsilons and realised losses as a picture, None where none was
    measured.
    """
    found = analysis.experienced
    if found is None or not found.measured:
        return None
    return inline_svg(
        found.chart(analysis.name), "Promised epsilon and realised loss, in nats"
    )


def _totals_picture(analysis: Analysis) -> Markup | None:
    """Return the totals and limits as a picture, attributes in the order of the
    verdict.
    """
    if not analysis.totals.totals:
        return None
    limits = {
        judgement.attribute: judgement.limit
        for judgement in by_urgency(analysis.verdict)
    }
    known = analysis.totals.chart_rows()
    rows = [
        r | {"limit": limits[name]}
        for name in limits
        for r in known
        if r["attribute"] == name
    ]
    title = f"Totals of {len(limits)} attributes, in nats"
    return inline_svg(totals_chart(rows, analysis.name), title)


def _uncertainty(analysis: Analysis) -> dict[str, Any] | None:
    """Return the curve over distances and its picture; None without uncertainty."""
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
    """Return the first guarantee with witnesses beyond the own report, and its
    strongest ones.
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
    """Return each distinct note on totals, with the guarantees that it applies to."""
    totals = analysis.totals.totals
    notes = dict.fromkeys(note for total in totals for note in total.notes)
    return {note: [t.guarantee for t in totals if note in t.notes] for note in notes}


def _missing(pairs: PairCounts) -> dict[str, int]:
    """Return the number of missing values of each attribute that has a category of
    them.
    """
    counted = zip(pairs.domain, pairs.marginals, strict=True)
    return {a.name: int(n[a.code(MISSING)]) for a, n in counted if MISSING in a.values}
