"""Designs and shaped mechanisms against exact fractions, for `fuzz.py`."""

import collections
import contextlib
import decimal
import itertools
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

Rational = list[list[Fraction]]


def chances(question: Any) -> Rational:
    """Return the chances of a question's reports, answers by reports, from its wire form."""
    k, whole = question["k"], 1 << 64
    if question["draw"] == "direct":
        keep = int(question["keep"])
        ends = [-(-v * (whole - keep) // k) for v in range(k + 1)]
        spread = [ends[v + 1] - ends[v] for v in range(k)]
        return [[Fraction(spread[y] + keep * (y == z), whole) for y in range(k)] for z in range(k)]
    if question["draw"] == "bits":
        true, other = (Fraction(int(question[name]), whole) for name in ("true", "other"))
        found = [[Fraction(1)] for _ in range(k)]
        for bit, z in itertools.product(range(k), range(k)):
            one = true if bit == z else other
            found[z] = [chance * part for chance in found[z] for part in (one, 1 - one)]
        return found
    force = Fraction(int(question["force"]), whole)
    sets = list(itertools.combinations(range(k), question["size"]))
    having = sum(0 in one for one in sets)
    return [
        [(1 - force) / len(sets) + (force / having if z in one else 0) for one in sets]
        for z in range(k)
    ]


def largest_ratio(
    rows: list[list[int]], weights: list[int], target: int, answers: list[int], told: list[Rational]
) -> Fraction:
    """Return the largest ratio of likelihoods of reports under two values, by plain loops."""
    counts: dict[int, collections.Counter[Any]] = collections.defaultdict(collections.Counter)
    for row, weight in zip(rows, weights, strict=True):
        counts[row[target]][tuple(row[j] for j in answers)] += weight
    worst = Fraction(1)
    for report in itertools.product(*(range(len(channel[0])) for channel in told)):
        likelihoods = []
        for by_answer in counts.values():
            total = Fraction(0)
            for answer, weight in by_answer.items():
                parts = zip(told, answer, report, strict=True)
                total += weight * math.prod((ch[z][y] for ch, z, y in parts), start=Fraction(1))
            likelihoods.append(total / sum(by_answer.values()))
        worst = max(worst, max(likelihoods) / min(likelihoods))
    return worst


def check_total(ratio: Fraction, stated: float, what: str) -> None:
    """Raise if a stated total is below the logarithm of a ratio, in 50 digits."""
    with decimal.localcontext(prec=50):
        truth = (decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)).ln()
        if truth > decimal.Decimal(stated):
            raise AssertionError(f"{what}: {stated!r} is stated, the truth is {truth}")


def as_cells(rows: list[list[int]], asked: list[int], sizes: list[int]) -> list[list[int]]:
    """Return rows with the cell of some answers put last: mixed radix, the last one fastest."""
    found = []
    for row in rows:
        cell = 0
        for j, size in zip(asked, sizes, strict=True):
            cell = cell * size + row[j]
        found.append([*row, cell])
    return found


def draw_records(rng: random.Random) -> tuple[Any, list[list[int]], list[int]]:
    """Return records of few small attributes, some constant, with weights of any size."""
    import seepage as sp

    sizes = [rng.choice([1, 2, 2, 3]) for _ in range(rng.randint(2, 4))]
    varies = [rng.random() < 0.85 for _ in sizes]
    rows = [
        [rng.randrange(size) if vary else 0 for size, vary in zip(sizes, varies, strict=True)]
        for _ in range(rng.randint(1, 12))
    ]
    most = rng.choice([1, 5, 1000, 10**12])
    weights = [rng.randint(1, most) for _ in rows]
    domain = sp.Domain(
        [sp.Attribute(f"a{j}", tuple(map(str, range(size)))) for j, size in enumerate(sizes)]
    )
    return sp.Records(domain, rows, weights), rows, weights


def designs(rng: random.Random, _: Path) -> None:
    """Compare the totals of a design, or of a shaped mechanism, with exact fractions."""
    import seepage as sp

    records, rows, weights = draw_records(rng)
    names = records.domain.names
    limit = rng.choice([1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 20.0])
    if rng.random() < 0.3:
        source = rng.randrange(len(names))
        with contextlib.suppress(sp.SeepageError):
            made = sp.shape(records, names[source], limit=limit, scope="table")
            told = [[[Fraction(int(c), 1 << 64) for c in row] for row in made.thresholds.tolist()]]
            for k, name in enumerate(names):
                ratio = largest_ratio(rows, weights, k, [source], told)
                check_total(ratio, made.realised()[name], f"shaped, {name}")
        return
    limits = {name: rng.choice([limit, 2 * limit, None]) for name in names}
    options: dict[str, Any] = {"scope": rng.choice(["table", "population"]), "seconds": 0.5}
    options["shape"] = rng.choice(["never", "single", "forms", "record"])
    if rng.random() < 0.2:
        options["left_out"] = [rng.choice(names)]
    if rng.random() < 0.2:
        options["record_limit"] = 1.5 * limit
    try:
        plan = sp.design(records, rng.choice([limit, limits]), **options)
    except sp.SeepageError:
        return
    for form, wire in zip(plan.forms, plan.wire["forms"], strict=True):
        if wire["type"] == "matrix":
            asked = [names.index(name) for name in wire["attributes"]]
            told = [[[Fraction(int(c), 1 << 64) for c in row] for row in wire["thresholds"]]]
        else:
            asked = [names.index(question["attribute"]) for question in wire["questions"]]
            told = [chances(question) for question in wire["questions"]]
        for k, name in enumerate(names):
            if wire["type"] == "matrix":
                sizes = [records.domain[j].size for j in asked]
                ratio = largest_ratio(as_cells(rows, asked, sizes), weights, k, [-1], told)
            else:
                ratio = largest_ratio(rows, weights, k, asked, told)
            check_total(ratio, float(form.totals[k]), f"form {form.attributes}, {name}")
