"""Tables I and II: the statistical estimates against the paper's two algorithms."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.charts.agreement import agreement_chart
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms import GRR, Mechanism
from seepage.pairs import PairCounts
from seepage.reproduce.data import LABELS, STAND_INS, Data
from seepage.reproduce.findings import Comparison, Finding, absent, ours, printed, stated
from seepage.reproduce.settings import MECHANISMS, plug_in

__all__ = ["find_first", "find_second", "library_subset_selection", "nmse"]

EPSILONS = (1.0, 3.0)

FIRST = {
    "CelebA": (0.889e-4, 0.197e-4, 3.36e-4, 0.514e-4),
    "Adult": (2.99e-4, 3.08e-4, 8.16e-4, 2.73e-4),
    "CVD": (11.6e-4, 2.49e-4, 54.1e-4, 5.82e-4),
    "DSS": (0.674e-4, 0.168e-4, 3.79e-4, 0.241e-4),
}
"""Table I: NMSE against Algorithm 1: GRR at epsilon 1 and 3, EXP at 1 and 3."""

SECOND = {
    ("CelebA", 1): (8.89e-5, 0.29, 0.29, 0.32, 0.32, 0.33, 9.44e-5, 0.29),
    ("CelebA", 3): (1.97e-5, 0.31, 0.32, 0.54, 0.54, 0.53, 1.81e-5, 0.35),
    ("Adult", 1): (0.017, 0.25, 0.30, 0.22, 0.34, 0.22, 0.082, 0.25),
    ("Adult", 3): (0.0037, 0.23, 0.29, 0.31, 0.55, 0.31, 0.0037, 0.27),
    ("CVD", 1): (0.0088, 0.25, 0.29, 0.25, 0.31, 0.26, 0.038, 0.26),
    ("CVD", 3): (0.00075, 0.23, 0.26, 0.40, 0.50, 0.39, 0.00060, 0.26),
    ("DSS", 1): (0.031, 0.28, 0.35, 0.19, 0.41, 0.19, 0.17, 0.29),
    ("DSS", 3): (0.012, 0.25, 0.33, 0.23, 0.63, 0.22, 0.012, 0.28),
}
"""Table II: NMSE of the estimates against Algorithm 2, in the order of `MECHANISMS`."""

SMALL = 1e-3
"""Below this an NMSE is noise of the simulation, and is compared by order of magnitude."""

FIRST_SHOWS = (
    "NMSE between the statistically estimated leakages (50 reports a record) and those of "
    "Algorithm 1, for GRR and EXP, epsilon 1 and 3, on four datasets. All are below 5.5e-3, which "
    "is said to validate Algorithm 1."
)
SECOND_SHOWS = (
    "NMSE between the statistically estimated leakages of eight mechanisms and the upper bound of "
    "Algorithm 2, epsilon 1 and 3, on four datasets: GRR and SS come close to the bound, the "
    "others stay well below it."
)
SEARCHED = (
    "The paper does not list the columns and bins of its tables. For Adult we tried about 130 "
    "combinations of: 2 to 10 quantile bins or 3 to 10 bins of equal width for the numbers; with "
    "and without fnlwgt, education, education-num, native-country; missing values as a category "
    "or dropped; categories below 50 to 500 records kept or left out. Nearest to Table II: 5 "
    "quantile bins, without education (education-num says the same) and native-country, records "
    "with missing values and categories of fewer than 50 records left out. For CVD we tried about "
    "300: each subset of the five numbers beside the seven attributes, in 4 to 12 quantile bins; "
    "nearest: weight and ap_hi in 6 or 7 bins, several others almost as near. These readings were "
    "chosen by their nearness to Table II, so they explain its numbers but do not confirm them "
    "independently; Table I and Fig. 7 were not used in the choice."
)

EXPLAINED = ("Adult, documented columns",)
"""Where the notes to Table I give the reason of a deviation."""


def readings(data: Data) -> dict[str, tuple[str, PairCounts]]:
    """Return the tables to compare: label to (the paper's name, pair counts)."""
    found = {label: (label, pairs) for label, pairs in data.some("celeba").items()}
    if data.records_at_hand("adult"):
        found["Adult, nearest reading"] = ("Adult", data.nearest_adult)
    if data.records_at_hand("cardio"):
        found["CVD, nearest reading"] = ("CVD", data.nearest_cardio)
    for label, pairs in data.some("adult", "cardio").items():
        found[f"{label}, documented columns"] = (label, pairs)
    return found | {label: ("", pairs) for label, pairs in data.some(*STAND_INS).items()}


def nmse(estimates: Floats, theory: Floats) -> tuple[float, int]:
    """Return sum (L~ - L*)^2 / sum (L*)^2 over ordered pairs, and how many estimates are infinite.

    Infinite ones, of a report never seen under some target value, are left out of both sums; a
    table without a single one of them must have left such values out.
    """
    others = ~np.eye(len(theory), dtype=np.bool_)
    finite = others & np.isfinite(estimates)
    error = ((estimates[finite] - theory[finite]) ** 2).sum() / (theory[finite] ** 2).sum()
    return float(error), int((others & ~finite).sum())


def find_first(data: Data) -> Finding:
    """Return Table I: estimates against the exact leakage of the same guess."""
    rows: list[dict[str, Any]] = []
    for label, (paper, pairs) in readings(data).items():
        cells = [(name, epsilon) for name in ("grr", "exp") for epsilon in EPSILONS]
        for column, (name, epsilon) in enumerate(cells):
            theory = leakage_matrix(pairs, epsilon, name, "inferred").values
            error, infinite = nmse(plug_in(pairs, name, epsilon), theory)
            rows.append(
                {
                    "data": label,
                    "mechanism": MECHANISMS[name],
                    "epsilon": int(epsilon),
                    "paper": FIRST[paper][column] if paper else None,
                    "nmse": error,
                    "infinite_estimates": infinite,
                }
            )
    notes = (
        SEARCHED,
        "An NMSE here is pure noise of the simulation, which falls as one over the number of "
        "replicas; so numbers are compared within a factor 3, and the claim by its limit.",
        "CelebA has no freedom of columns or bins, and our errors are half the printed ones, for "
        "both mechanisms and both budgets. With 25 replicas in place of 50 they are 0.88, 0.16, "
        "3.1 and 0.45 (in 1e-4), within 25 % of the print: the paper's noise is that of 25 "
        "replicas. We could not find out why.",
        "Adult as documented has categories with one record (a person from Holland-Netherlands): "
        "fifty reports of one person cannot tell sixteen values apart, and some estimates are "
        "infinite. An NMSE of 3e-4 is out of reach with such categories, so the paper must have "
        "left them out or masked them.",
        "On CVD our errors are below the printed ones by factors of 6 to 20, with documented and "
        "nearest columns alike. Bins with few records would raise them; which ones the paper has, "
        "we could not find out.",
    )
    return Finding(FIRST_SHOWS, rows, _compare_first(rows), notes, {"": _chart(rows)})


def _compare_first(rows: list[dict[str, Any]]) -> list[Comparison]:
    found: list[Comparison] = []
    for label in dict.fromkeys(row["data"] for row in rows):
        chosen = [row for row in rows if row["data"] == label]
        worst = max(row["nmse"] for row in chosen)
        what = f"{label}: largest NMSE"
        if label in {LABELS[name] for name in STAND_INS}:
            found.append(ours(what, worst, label))
            continue
        found += [
            printed(
                f"{label}: {row['mechanism']}, epsilon {row['epsilon']}",
                row["paper"],
                row["nmse"],
                factor=3,
                explained=label in EXPLAINED,
                group=label,
            )
            for row in chosen
        ]
        claim = "always below 5.5e-3"
        told = label in EXPLAINED
        found.append(stated(what, claim, worst, most=5.5e-3, explained=told, group=label))
    present = {row["data"].partition(",")[0] for row in rows}
    return found + [
        absent(f"{label}: all {len(cells)} numbers", "printed", "the data are not at hand", label)
        for label, cells in FIRST.items()
        if label not in present
    ]


def library_subset_selection(pairs: PairCounts, epsilon: float) -> Mapping[str, Mechanism]:
    """Return, for each attribute, GRR with the leakage of the guess from subset selection.

    The subset has the size that the paper's library gives it: k / (e^eps + 1) rounded to the
    nearest whole number, where the paper's text rounds down.  A guess from it is right with
    probability a = p / omega, as that of GRR with contrast ln a (k - 1) / (1 - a).
    """
    found: dict[str, Mechanism] = {}
    for attribute in pairs.domain:
        k = attribute.size
        omega = max(1, int(np.rint(k / (np.exp(epsilon) + 1))))
        p = omega * np.exp(epsilon) / (omega * np.exp(epsilon) + k - omega)
        a = p / omega
        contrast = float(np.log(a * (k - 1) / (1 - a))) if k > 1 else 0.0
        found[attribute.name] = GRR(k, max(contrast, 0.0))
    return found


def find_second(data: Data) -> Finding:
    """Return Table II: estimates of eight mechanisms against the bound."""
    rows: list[dict[str, Any]] = []
    for label, (paper, pairs) in readings(data).items():
        for epsilon in EPSILONS:
            bound = leakage_matrix(pairs, epsilon).values
            for column, (name, title) in enumerate(MECHANISMS.items()):
                how: Any = name
                if name == "ss" and paper and "documented" not in label:
                    how = library_subset_selection(pairs, epsilon)
                error, infinite = nmse(plug_in(pairs, how, epsilon), bound)
                closed = leakage_matrix(pairs, epsilon, how, "inferred").values
                rows.append(
                    {
                        "data": label,
                        "mechanism": title,
                        "epsilon": int(epsilon),
                        "paper": SECOND[paper, int(epsilon)][column] if paper else None,
                        "nmse": error,
                        "nmse_closed_form": nmse(closed, bound)[0],
                        "infinite_estimates": infinite,
                    }
                )
    notes = (
        SEARCHED,
        "The paper's text gives subset selection a subset of floor(k / (e^epsilon + 1)) values, "
        "but the library that it cites (multi-freq-ldpy) rounds to the nearest whole number. Only "
        "with that rounding do the printed SS errors come out (Adult, epsilon 1: 0.077 against "
        "0.036 with the floor). It also dates the columns: at epsilon 3 the printed errors of SS "
        "and GRR are equal on Adult, so no attribute had 32 values or more, and native-country "
        "(42) was left out or grouped.",
        f"Errors below {SMALL:g} are noise of the simulation and are compared within a factor 3, "
        "the others within 15 %.",
        "The order of magnitude and the order of mechanisms do not depend on the reading; see the "
        "documented columns. Their GRR error is larger because alphabets are: with two values GRR "
        "is as leaky as any mechanism can be, with many it is not.",
    )
    return Finding(SECOND_SHOWS, rows, _compare_second(rows), notes, {"": _chart(rows)})


def _compare_second(rows: list[dict[str, Any]]) -> list[Comparison]:
    found: list[Comparison] = []
    for row in rows:
        what = f"{row['data']}: {row['mechanism']}, epsilon {row['epsilon']}"
        if row["paper"] is None:
            found.append(ours(what, row["nmse"], row["data"]))
            continue
        noise = row["paper"] < SMALL
        found.append(
            printed(
                what,
                row["paper"],
                row["nmse"],
                0.0 if noise else 0.15,
                factor=3.0 if noise else 0.0,
                explained="documented" in row["data"],
                group=row["data"],
            )
        )
    present = {row["data"].partition(",")[0] for row in rows}
    return found + [
        absent(f"{label}: all 16 numbers", "printed", "the data are not at hand", label)
        for label in dict.fromkeys(label for label, _ in SECOND)
        if label not in present
    ]


def _chart(rows: list[dict[str, Any]]) -> Any:
    points = [
        {
            "panel": panel,
            "series": row["data"].partition(",")[0],
            "kind": row["mechanism"],
            "label": f"epsilon {row['epsilon']}",
            "x": row["paper"],
            "y": row["nmse"],
        }
        for panel, other in (("Nearest reading", "documented"), ("Documented columns", "nearest"))
        for row in rows
        if row["paper"] is not None and other not in row["data"]
    ]
    return agreement_chart(points, "NMSE printed in the paper", "NMSE, ours")
