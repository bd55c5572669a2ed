"""Table I: the statistical estimates against the exact leakage of the same guess."""

from typing import Any

from seepage.leakage.matrix import leakage_matrix
from seepage.study.reproduction.findings import Comparison, Finding, absent, ours, printed, stated
from seepage.study.reproduction.paper_data import MECHANISMS, Data
from seepage.study.reproduction.readings import (
    COLLECTIONS,
    EPSILONS,
    SEARCHED,
    Reading,
    error_chart,
    readings,
)

__all__ = ["PRINTED", "find", "variants"]

PRINTED = {
    "CelebA": (0.889e-4, 0.197e-4, 3.36e-4, 0.514e-4),
    "Adult": (2.99e-4, 3.08e-4, 8.16e-4, 2.73e-4),
    "CVD": (11.6e-4, 2.49e-4, 54.1e-4, 5.82e-4),
    "DSS": (0.674e-4, 0.168e-4, 3.79e-4, 0.241e-4),
}
"""NMSE against Algorithm 1: GRR at epsilon 1 and 3, EXP at 1 and 3."""

SHOWS = (
    "NMSE between the statistically estimated leakages (50 reports a record) and those of "
    "Algorithm 1, for GRR and EXP, epsilon 1 and 3, on four datasets. All are below 5.5e-3, which "
    "is said to validate Algorithm 1."
)

INCOMPLETE = "Adult, incomplete records in the estimates only"
MERGED = "CVD, rare bands merged"

EXPLAINED = (
    "Adult, documented columns",
    "Adult, near reading",
    "CVD, documented columns",
    "CVD, near reading",
)
"""Where the notes give the reason of a deviation, and a reading on the page shows it."""

NOTES = (
    *SEARCHED,
    "An NMSE here is noise of the simulation, which falls as one over the number of replicas; so "
    "numbers are compared within a factor 3, and the claim by its limit. Where a value is rare, "
    "single simulations differ by more than that, and ours are means of "
    f"{COLLECTIONS}; their range is in the table.",
    "CVD: the error is that of the rarest bin. Among the 19,175 readings that meet Table II, "
    "those whose rarest bin has 50 to 100 records give errors of 11, 1.5, 50 and 4.8 in the "
    "median (in 1e-4; printed: 11.6, 2.49, 54.1 and 5.82); 100 to 200 records give 6.5, 0.8, 29 "
    "and 2.9; 200 to 500 give 3.0, 0.3, 11 and 1.4; 2,000 and more give 1.6, 0.2, 6.4 and 0.7. "
    "None of the 5,660 with a rarest bin of 200 records or more comes within a factor 3 of all "
    "four, and 81 % of those with 50 to 100 do (scripts/search_readings.py prints this; each error "
    "is a mean of 50 collections). So the paper's CVD has, in all likelihood, a bin with fewer "
    "than 200 of its 70,000 records. In the near reading it is weight below 40 kg, with 52; "
    "merge the outer bands with their neighbours, and all four errors fall by factors of 5 to 8, "
    f"out of reach of the print ({MERGED!r}). Which bin the paper has we cannot tell: bands of "
    "height or of ap_lo do as well. The seven documented attributes have no value with fewer than "
    "3,764 records.",
    "The largest printed number, 54.1e-4, makes the paper's limit of 5.5e-3; with a bin of 52 "
    "records that number is a matter of the draw, and so is whether the limit holds.",
    "Adult: the printed error of GRR does not fall from epsilon 1 to 3, as noise would; nor does "
    "that of EXP fall as far as it should. All four fit a floor of about 2e-4 under a noise that "
    "falls. A floor means that theory and estimates do not rest on the same records. It comes "
    "out, with no number to choose, if they treat missing values differently, and of the three "
    "datasets that we have, Adult alone has any: the theory from complete records, and each pair "
    "of columns estimated from all records in which those two are known, as cross-tabulation "
    "drops missing values by default. That changes leakages by 1.5 % and gives a floor of 2.5, "
    f"2.2, 2.9 and 2.3 (in 1e-4); with the noise the four numbers are in {INCOMPLETE!r}. It moves "
    "no number of Table II by more than 1.2 %. Other differences in records would do as well, such "
    "as some left out of one side at random: a fifth gives a floor of 3.0, 4.1, 3.1 and 3.2, a "
    "tenth of 1.2, 1.9, 1.2 and 1.3 (scripts/search_readings.py).",
    "Adult as documented has categories with one record (a person from Holland-Netherlands): "
    "fifty reports of one person cannot tell sixteen values apart, and some estimates are "
    "infinite. An NMSE of 3e-4 is out of reach with such categories, so the paper must have "
    "left them out or masked them.",
    "CelebA has no freedom of columns or bins, and our errors are half the printed ones, for "
    "both mechanisms and both budgets, where simulations differ by 4 to 7 %. Half the printed "
    "number of reports fits: with 25 replicas in place of 50, or half of the people, they are "
    "0.88, 0.18, 3.1 and 0.45 (in 1e-4), within 13 % of the print. So does a second set of "
    "estimates in the place of Algorithm 1: two estimates differ by 0.90, 0.17, 3.1 and 0.45. "
    "Nothing in the paper's text points to either, and no number of its tables tells them apart.",
    "Refuted for CelebA, by scripts/search_readings.py: one set of reports for all targets, record "
    "by record (0.44, 0.09, 1.6 and 0.23, as ours); records drawn with replacement in place of "
    "exact copies (0.49, 0.14, 1.6 and 0.27); each of the 115,114 different records once (0.71, "
    "0.12, 2.6 and 0.35); the mean of squared relative errors (above 200, from pairs that are "
    "nearly independent). The variance of the leakages as the denominator (0.91, "
    "0.19, 3.0 and 0.48) and the square of their mean (0.90, 0.16, 3.3 and 0.43) fit this table, "
    "but would give EXP 0.58 and 0.57 in Table II, where 0.29 is printed beside the same 0.889e-4.",
    "Refuted for CVD, by the same script: bins of equal width for all five numbers as they are "
    "(outliers make bins of a few records: from 208, 66, 786 and 137 with 2 bins to 5758, 792, "
    "28202 and 2408 with 10, in 1e-4); 2 to 9 quantile bins for all five (at most 2.5, 0.29, 11 "
    "and 1.1). Fewer replicas would do for CVD (3 to 7 without a rare bin), but for CelebA it "
    "takes 25 and for Adult 50. Not refuted: 5 bins of equal width for height, weight and ap_hi, "
    "once the outermost 0.1 % at each end of the four measurements are left out. That meets the "
    "twelve errors of Table II within 3.1 % and this table within a factor 1.6, with a rarest bin "
    "of 57 records; but SS at epsilon 1 has 0.007 there, where 0.038 is printed, which takes an "
    "attribute of six values or more.",
)


def variants(data: Data) -> list[Reading]:
    """Return readings that show the reason of a deviation.

    Estimates of Adult from incomplete records too, against the theory of complete ones; and CVD
    without its rarest bins, for which the paper has nothing.
    """
    found = []
    if data.records_at_hand("adult"):
        complete, all_records = data.near_adult, data.incomplete_adult
        found.append(Reading(INCOMPLETE, "Adult", complete, COLLECTIONS, all_records))
    if data.records_at_hand("cardio"):
        found.append(Reading(MERGED, "", data.merged_cardio, COLLECTIONS))
    return found


def find(data: Data) -> Finding:
    """Return Table I: estimates against the exact leakage of the same guess."""
    rows = [row for reading in readings(data) + variants(data) for row in _rows(reading)]
    return Finding(SHOWS, rows, _compare(rows), NOTES, {"": error_chart(rows)})


def _rows(reading: Reading) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cells = [(name, epsilon) for name in ("grr", "exp") for epsilon in EPSILONS]
    for column, (name, epsilon) in enumerate(cells):
        theory = leakage_matrix(reading.pairs, epsilon, mechanism=name, view="inferred").values
        errors = reading.errors(name, epsilon, theory)
        rows.append(
            {
                "data": reading.label,
                "mechanism": MECHANISMS[name],
                "epsilon": int(epsilon),
                "paper": PRINTED[reading.paper][column] if reading.paper else None,
                "nmse": errors.mean,
                "lowest": errors.lowest,
                "highest": errors.highest,
                "collections": reading.collections,
                "infinite_estimates": errors.infinite,
            }
        )
    return rows


def _compare(rows: list[dict[str, Any]]) -> list[Comparison]:
    found: list[Comparison] = []
    for label in dict.fromkeys(row["data"] for row in rows):
        found += _compare_reading(label, [row for row in rows if row["data"] == label])
    present = {row["data"].partition(",")[0] for row in rows}
    return found + [
        absent(f"{label}: all {len(cells)} numbers", "printed", "the data are not at hand", label)
        for label, cells in PRINTED.items()
        if label not in present
    ]


def _compare_reading(label: str, rows: list[dict[str, Any]]) -> list[Comparison]:
    names = [f"{label}: {row['mechanism']}, epsilon {row['epsilon']}" for row in rows]
    largest, worst = f"{label}: largest NMSE", max(row["nmse"] for row in rows)
    if label == MERGED:
        return [ours(name, row["nmse"], label) for name, row in zip(names, rows, strict=True)]
    if rows[0]["paper"] is None:
        return [ours(largest, worst, label)]
    told = label in EXPLAINED
    cells = [
        printed(name, row["paper"], row["nmse"], factor=3, explained=told, group=label)
        for name, row in zip(names, rows, strict=True)
    ]
    claim = "always below 5.5e-3"
    return [*cells, stated(largest, claim, worst, most=5.5e-3, explained=told, group=label)]
