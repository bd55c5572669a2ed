"""Designs and shaped mechanisms against exact fractions, chosen domains against
populations.
"""

import collections
import decimal
import itertools
import math
import random
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

Rational = list[list[Fraction]]


def chances(question: Any) -> Rational:
    """Return the chances of a question's reports, answers by reports, from its wire
    form.
    """
    k = question["k"]
    whole = 1 << 64
    if question["draw"] == "direct":
        keep = int(question["keep"])
        ends = [-(-v * (whole - keep) // k) for v in range(k + 1)]
        spread = [ends[v + 1] - ends[v] for v in range(k)]
        return [
            [Fraction(spread[y] + keep * (y == z), whole) for y in range(k)]
            for z in range(k)
        ]
    if question["draw"] == "bits":
        true, other = (
            Fraction(int(question[name]), whole) for name in ("true", "other")
        )
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
    rows: list[list[int]],
    weights: list[int],
    target: int,
    answers: list[int],
    told: list[Rational],
) -> Fraction:
    """Return the largest ratio of likelihoods of reports under two values, by plain
    loops.
    """
    counts: dict[int, collections.Counter[Any]] = collections.defaultdict(
        collections.Counter
    )
    for row, weight in zip(rows, weights, strict=True):
        counts[row[target]][tuple(row[j] for j in answers)] += weight
    worst = Fraction(1)
    for report in itertools.product(*(range(len(channel[0])) for channel in told)):
        likelihoods = []
        for by_answer in counts.values():
            total = Fraction(0)
            for answer, weight in by_answer.items():
                parts = zip(told, answer, report, strict=True)
                total += weight * math.prod(
                    (ch[z][y] for ch, z, y in parts), start=Fraction(1)
                )
            likelihoods.append(total / sum(by_answer.values()))
        worst = max(worst, max(likelihoods) / min(likelihoods))
    return worst


def check_total(ratio: Fraction, stated: float, what: str) -> None:
    """Raise if a stated total is below the logarithm of a ratio, in 50 digits."""
    with decimal.localcontext(prec=50):
        truth = (
            decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)
        ).ln()
        if truth > decimal.Decimal(stated):
            raise AssertionError(f"{what}: {stated!r} is stated, the truth is {truth}")


def as_cells(
    rows: list[list[int]], asked: list[int], sizes: list[int]
) -> list[list[int]]:
    """Return rows with the cell of some answers put last: mixed radix, the last one
    fastest.
    """
    found = []
    for row in rows:
        cell = 0
        for j, size in zip(asked, sizes, strict=True):
            cell = cell * size + row[j]
        found.append([*row, cell])
    return found


def draw_records(rng: random.Random) -> tuple[Any, list[list[int]], list[int]]:
    """Return records of few small attributes, some constant, with weights of any
    size.
    """
    import seepage as sp

    sizes = [rng.choice([1, 2, 2, 3]) for _ in range(rng.randint(2, 4))]
    varies = [rng.random() < 0.85 for _ in sizes]
    rows = [
        [
            rng.randrange(size) if vary else 0
            for size, vary in zip(sizes, varies, strict=True)
        ]
        for _ in range(rng.randint(1, 12))
    ]
    most = rng.choice([1, 5, 1000, 10**12])
    weights = [rng.randint(1, most) for _ in rows]
    domain = sp.Domain(
        [
            sp.Attribute(f"a{j}", tuple(map(str, range(size))))
            for j, size in enumerate(sizes)
        ]
    )
    return sp.Records(domain, rows, weights), rows, weights


def designs(rng: random.Random, _: Path) -> None:
    """Compare the totals of a design with exact fractions."""
    import seepage as sp

    records, rows, weights = draw_records(rng)
    names = records.domain.names
    limit = rng.choice([1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 20.0])
    limits = {name: rng.choice([limit, 2 * limit, None]) for name in names}
    options: dict[str, Any] = {
        "scope": rng.choice(["table", "population"]),
        "seconds": 0.5,
    }
    options["shape"] = rng.choice(["never", "forms"])
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
            told = [
                [[Fraction(int(c), 1 << 64) for c in row] for row in wire["thresholds"]]
            ]
        else:
            asked = [
                names.index(question["attribute"]) for question in wire["questions"]
            ]
            told = [chances(question) for question in wire["questions"]]
        for k, name in enumerate(names):
            if wire["type"] == "matrix":
                sizes = [records.domain[j].size for j in asked]
                ratio = largest_ratio(
                    as_cells(rows, asked, sizes), weights, k, [-1], told
                )
            else:
                ratio = largest_ratio(rows, weights, k, asked, told)
            check_total(ratio, float(form.totals[k]), f"form {form.attributes}, {name}")


def coded_masses(values: list[Any], masses: Any, attribute: Any) -> Any:
    """Return the masses of an attribute's answers in a population, coded as a client
    does.
    """
    import numpy as np

    from seepage.collection.reference_client import answer_code
    from seepage.plan.wire import attribute_wire

    wire = attribute_wire(attribute)
    codes: list[Any] = [answer_code(wire, value) for value in values]
    if None in codes:
        raise AssertionError("somebody of the population cannot answer")
    return np.array([np.bincount(codes, row, attribute.size) for row in masses])


def grr_totals(masses: Any, budgets: dict[str, float]) -> dict[str, float]:
    """Return the totals about T, a fair coin, and U, with masses given T, of their GRR
    reports.
    """
    import numpy as np

    own, beside = (budgets.get(name, 0.0) for name in ("T", "U"))
    told = np.log1p(math.expm1(beside) * masses)
    seen = masses[:, masses.sum(axis=0) > 0]
    back = np.log1p(math.expm1(own) * seen / seen.sum(axis=0))
    return {
        "T": own + float(np.abs(told[0] - told[1]).max()),
        "U": beside + float(np.ptp(back, axis=1).max()),
    }


def domains(rng: random.Random, _: Path) -> None:
    """Check promises for a population of many rare values, of which a sample fixes the
    answers.
    """
    import numpy as np
    import pandas as pd

    import seepage as sp

    draw = np.random.default_rng(rng.randrange(1 << 32))
    rare = rng.choice([5, 50, 900, 9_000])
    common = rng.randint(1, 10)
    blocks = [draw.random(rare) < rng.choice([0.5, 1.0]) for _ in range(2)]
    shares = [rng.random() for _ in blocks]
    masses = np.array(
        [
            [*share * (block + 1e-9) / (block + 1e-9).sum(), *rest * (1 - share)]
            for share, block, rest in zip(
                shares, blocks, draw.dirichlet(np.ones(common), 2), strict=True
            )
        ]
    )
    numbers = draw.permutation(rare + common).tolist()
    values = numbers if rng.random() < 0.5 else [f"v{number}" for number in numbers]
    coin = draw.integers(0, 2, rng.choice([500, 2_000, 20_000]))
    drawn = [draw.choice(len(values), len(coin), p=row / row.sum()) for row in masses]
    table = pd.DataFrame(
        {
            "T": np.array(["no", "yes"])[coin],
            "U": np.array(values)[np.choose(coin, drawn)],
        }
    )
    settings: dict[str, Any] = {
        "mechanism": "grr",
        "confidence": 1 - 1e-6,
        "max_values": 20_000,
    }
    settings |= rng.choice(
        [{}, {"pool": 2}, {"pool": 0.01}, {"bins": "quantile:5"}, {"bins": 30}]
    )
    settings |= {"columns": ["T", "U"], "rng": rng.randrange(100)}
    exact: dict[str, Any] = {"guarantee": "exact", "scope": "population"}
    limit = rng.choice([0.5, 1.0, 3.0])
    promised = [limit, limit]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = rng.choice(["total", "calibrate", "design"])
        if kind == "total":
            found: Any = sp.total_leakage(table, limit, **settings, **exact)
            promised = found.values.tolist()
            asked = [dict.fromkeys("TU", limit)]
        elif kind == "calibrate":
            found = sp.calibrate(table, limit, **settings, **exact)
            asked = [{name: found[name].epsilon for name in "TU"}]
        else:
            settings |= {"answers": rng.choice(["merged", "as-is"]), "shape": "never"}
            found = sp.design(table, limit, seconds=0.5, **settings)
            asked = [
                {n: form.question(n).epsilon for n in form.attributes}
                for form in found.forms
            ]
        if found.domain.names != ("T", "U"):
            return
        coded = coded_masses(values, masses, found.domain["U"])
        for budgets in asked:
            for name, most in zip("TU", promised, strict=True):
                truth = grr_totals(coded, budgets)[name]
                if truth > most + 1e-9:
                    raise AssertionError(
                        f"{kind} of {name}: {most} is promised, it is {truth}"
                    )
