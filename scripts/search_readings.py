"""Repeat the search for the paper's readings of its data, and print the numbers that we
quote.

`python scripts/search_readings.py [cvd|adult|celeba]` prints what the notes of Tables I
and II say beyond the page itself.  The data are read from SEEPAGE_DATA.  Errors of
Table I are in 1e-4, in the order GRR at epsilon 1 and 3, EXP at 1 and 3.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from adult_readings import print_adult_search
from reading_grid import (
    NUMBERS_OF_BINS,
    Cell,
    Grid,
    compared,
    estimates,
    grid,
    leakages,
    rules,
    search,
    widened,
)
from reproduction.findings import PAPER
from reproduction.paper_data import (
    ADULT_NUMBERS,
    MECHANISMS,
    REPLICAS,
    SEED,
    Data,
    common_records,
    ordered_pairs,
)
from reproduction.paper_tables import COLLECTIONS, EPSILONS, nmse
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import SeepageError
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.datasets.catalogue import dataset
from seepage.mechanisms.mechanism_registry import mechanism
from seepage.tables.read import count_pairs

YEAR = 365.25
BANDS: dict[str, list[Any]] = {
    "age": [
        *(
            YEAR * np.array(years)
            for years in ([45, 60], range(40, 61, 10), range(30, 61, 10))
        ),
        *(YEAR * np.array(years) for years in (range(30, 66, 5), np.arange(29.5, 65))),
        365 * np.arange(30, 66),
    ],
    "height": [
        range(140, 191, 10),
        range(100, 211, 10),
        range(150, 181, 10),
        range(120, 201, 20),
    ],
    "weight": [
        range(50, 111, 10),
        range(40, 141, 20),
        range(40, 201, 20),
        range(60, 101, 20),
    ],
    "ap_hi": [
        [120, 130, 140],
        [120, 130, 140, 180],
        [120, 130, 140, 160, 180],
        [90, 120, 140],
        [90, 120, 140, 160, 180],
        range(80, 201, 20),
    ],
    "ap_lo": [
        [80, 90],
        [80, 90, 120],
        [80, 85, 90, 100, 110],
        [60, 80, 90],
        [60, 80, 90, 100, 110],
        range(50, 121, 10),
        range(40, 141, 20),
    ],
}
"""Inner edges of round and clinical bands of CVD's numbers; age is in days."""

RAREST = (0, 5, 20, 50, 100, 200, 500, 2000, np.inf)
FACTOR = 3
DRAWS = 50
"""Collections behind each mean error, so that what the search finds does not hang on a
draw."""

SEEDS = range(SEED, SEED + COLLECTIONS)
NEAR = ("height quantile:6[", "weight bands:40-140/6[", "ap_hi quantile:2[")
FIRST = PAPER["table1"].table
SECOND = PAPER["table2"].table
TABLE_ONE = [(name, epsilon) for name in ("grr", "exp") for epsilon in EPSILONS]


def cvd_cells() -> list[Cell]:
    """Return the cells of Table II that the search asks for, then the four of Table I.

    Errors far above the noise of a simulation are taken in closed form.  Those of GRR
    and SS at epsilon 3 are noise, and not asked for.
    """
    second = {
        key: dict(zip(MECHANISMS, SECOND[f"CVD, {key:g}"], strict=True))
        for key in EPSILONS
    }
    close = [
        Cell(name, epsilon, error, estimated=False, bound=True, tolerance=0.05)
        for epsilon, errors in second.items()
        for name, error in errors.items()
        if name not in ("grr", "ss")
    ]
    noisy = [
        Cell(name, 1.0, second[1.0][name], bound=True, tolerance=0.15)
        for name in ("grr", "ss")
    ]
    own = [
        Cell(*cell, error) for cell, error in zip(TABLE_ONE, FIRST["CVD"], strict=True)
    ]
    return [*close, *noisy, *own]


def row(label: str, errors: Iterable[float], unit: float = 1e-4) -> None:
    """Print a label and errors, to three digits."""
    numbers = [error / unit for error in errors]
    print(
        f"{label:<58}",
        *(f"{one:>9,.0f}" if one > 100 else f"{one:>9.3g}" for one in numbers),
    )


def cvd() -> None:
    """Print the search over the readings of CVD, and what became of simple ones."""
    records = dataset("cardio").read()
    always = dataset("cardio").table["columns"]
    numbers = {name: records[name].to_numpy().astype(np.float64) for name in BANDS}
    ways = {name: list(rules(values, BANDS[name])) for name, values in numbers.items()}
    found = grid(widened(records, always, ways), cvd_cells(), DRAWS)
    wide = found.wide
    readings = search(found)
    tried = int(np.prod([len(columns) + 1 for columns in wide.versions]))
    print(f"CVD: {tried:,} readings tried, {len(readings):,} meet Table II")
    print_found(found, readings)
    print("\nCVD, all five numbers alike: quantiles and equal widths")
    row("printed", FIRST["CVD"])
    for rule in ("quantile", "width"):
        for bins in NUMBERS_OF_BINS:
            columns = [wide.columns[f"{name} {rule}:{bins}["] for name in BANDS]
            row(f"{rule}:{bins}", found.errors(columns)[-4:])
    print_trimmed(records, always)


def print_found(found: Grid, readings: Integers) -> None:
    """Print the errors of Table I by the rarest bin of a reading, and by how many
    numbers.
    """
    wide = found.wide
    errors = np.array([found.errors(reading) for reading in readings])[:, -4:]
    near = (np.abs(np.log(errors / FIRST["CVD"])) <= np.log(FACTOR)).all(axis=1)
    fewest = np.array([counts.min() for counts in wide.pairs.marginals] + [np.inf])[
        readings
    ]
    print("\nrarest bin: readings, within a factor 3 of all four; medians of Table I")
    row("printed", FIRST["CVD"])
    for low, high in pairwise(RAREST):
        inside = (fewest.min(axis=1) >= low) & (fewest.min(axis=1) < high)
        label = f"{low:,} to {high:,}: {inside.sum():,}, {near[inside].sum():,}"
        medians = np.median(errors[inside], axis=0) if inside.any() else np.array([])
        row(label, medians)
    fewer = REPLICAS * medians / FIRST["CVD"]
    row("replicas that would raise the last row to the printed", fewer, unit=1.0)
    print("\nnumbers used: readings, within a factor 3 of all four")
    used = (readings < len(wide.pairs.domain)).sum(axis=1)
    for count in np.unique(used):
        print(f"{count}: {(used == count).sum():,}, {near[used == count].sum():,}")
    rare = readings[np.arange(len(readings)), fewest.argmin(axis=1)][near]
    print("\nwhich column has the rarest bin, of those within a factor 3 of all four")
    for column, count in Counter(rare.tolist()).most_common(10):
        print(f"{wide.pairs.domain.names[column]}: {count:,}")
    ours = [wide.columns[label] for label in NEAR]
    chosen = [
        {*ours} & {*reading} == {*ours} for reading in readings[used == len(ours)]
    ]
    print(f"\nthe near reading is among them: {any(chosen)}")
    row(", ".join(NEAR), found.errors(ours)[-4:])


def print_trimmed(records: Any, always: list[str]) -> None:
    """Print five bins of equal width, once the outermost 0.1 % of measurements are left
    out.
    """
    kept = np.ones(records.num_rows, dtype=np.bool_)
    for name in ("height", "weight", "ap_hi", "ap_lo"):
        values = records[name].to_numpy()
        low, high = np.quantile(values, [0.001, 0.999])
        kept &= (values >= low) & (values <= high)
    bins = dict.fromkeys(("height", "weight", "ap_hi"), "width:5")
    pairs = count_pairs(records.filter(kept), columns=[*always, *bins], bins=bins)
    errors = [mean_error(*compared(pairs, cell, DRAWS)) for cell in cvd_cells()]
    ratios = [one / cell.printed for one, cell in zip(errors, cvd_cells(), strict=True)]
    print("\nCVD, trimmed by 0.1 %: height, weight, ap_hi in 5 bins of equal width")
    row("Table I", errors[-4:])
    print(
        "largest deviation from Table II: "
        f"{np.abs(np.array(ratios[:12]) - 1).max():.1%}; SS at epsilon 1: "
        f"{errors[13]:.4f} where {SECOND['CVD, 1'][6]} is printed; rarest bin: "
        f"{min(counts.min() for counts in pairs.marginals)}"
    )


def mean_error(found: Iterable[Floats], theory: Floats) -> float:
    """Return the mean NMSE of several collections, as on the page."""
    return float(np.mean([nmse(one, theory)[0] for one in found]))


def adult() -> None:
    """Print the search over the readings of Adult, and the floors of its errors in
    Table I.

    A floor remains without any noise where theory and estimates rest on different
    records.
    """
    print_adult_search()
    data = Data()
    complete = data.near_adult
    wider = incomplete_adult(complete)
    among = [complete.domain.index(name) for name in wider.domain.names]

    def replaced(name: str, epsilon: float) -> Floats:
        values = leakages(complete, epsilon, name).copy()
        values[np.ix_(among, among)] = leakages(wider, epsilon, name)
        return values

    print("Adult: errors without noise")
    row("printed, with noise", FIRST["Adult"])
    own = {cell: leakages(complete, cell[1], cell[0]) for cell in TABLE_ONE}
    row(
        "incomplete records on one side",
        [nmse(replaced(*cell), own[cell])[0] for cell in own],
    )
    for share in (5, 10):
        parts = adult_parts(complete, complete.records - complete.records // share)
        found = [[leakages(part, cell[1], cell[0]) for part in parts] for cell in own]
        row(
            f"one in {share}, at random, left out of one side",
            map(mean_error, found, own.values()),
        )
    moved = [
        nmse(replaced(name, epsilon), bound)[0]
        / nmse(leakages(complete, epsilon, name), bound)[0]
        for epsilon, bound in (
            (epsilon, leakages(complete, epsilon)) for epsilon in EPSILONS
        )
        for name in MECHANISMS
    ]
    print(
        f"incomplete records move Table II by {np.abs(np.array(moved) - 1).max():.1%} "
        "at most"
    )


def incomplete_adult(near: PairCounts) -> PairCounts:
    """Return the complete columns of the near reading, with records incomplete
    elsewhere.
    """
    records = dataset("adult").read().drop_columns(["education", "native-country"])
    table = common_records(records, ADULT_NUMBERS)
    complete = [name for name in table.column_names if not table[name].null_count]
    inner = {name: near.domain[name].edges[1:-1] for name in ADULT_NUMBERS}
    bins = {name: [-np.inf, *edges, np.inf] for name, edges in inner.items()}
    return count_pairs(table.select(complete), bins=bins)


def adult_parts(complete: PairCounts, size: int) -> list[PairCounts]:
    """Return the counts of so many records of Adult's near reading, drawn several
    times.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    records = dataset("adult").read().select(complete.domain.names).drop_null()
    for attribute in complete.domain:
        if not attribute.edges:
            values = pa.array(attribute.values)
            records = records.filter(
                pc.is_in(records[attribute.name], value_set=values)
            )
    return [
        Records.from_data(
            records, sample=size, rng=seed, domain=complete.domain
        ).pairs()
        for seed in SEEDS
    ]


def celeba() -> None:
    """Print what would make CelebA's errors twice as large, and what would not."""
    people = Data().celeba
    pairs = people.pairs()
    half = people.records // 2
    sample = Records.from_data(dataset("celeba").read(), sample=half, rng=SEED).pairs()
    drawn = [with_replacement(people, seed) for seed in SEEDS]
    found: dict[str, Callable[[str, float], Iterable[Floats]]] = {
        "50 replicas": lambda name, epsilon: estimates(pairs, epsilon, name, DRAWS),
        "25 replicas": lambda name, epsilon: estimates(pairs, epsilon, name, DRAWS, 25),
        "one set of reports for all targets": lambda *cell: shared_reports(
            people, *cell
        ),
        "50 N records drawn with replacement, one report each": lambda name, epsilon: [
            estimates(one, epsilon, name, 1, 1, seed)[0]
            for one, seed in zip(drawn, SEEDS, strict=True)
        ],
    }
    print("CelebA")
    row("printed", FIRST["CelebA"])
    for label, make in found.items():
        own = [leakages(pairs, cell[1], cell[0]) for cell in TABLE_ONE]
        row(
            label,
            [
                mean_error(make(*cell), one)
                for cell, one in zip(TABLE_ONE, own, strict=True)
            ],
        )
    once = Records(people.domain, people.codes).pairs()
    others = {
        "half of the people": sample,
        f"each of {once.records:,} different records once": once,
    }
    for label, other in others.items():
        cells = [compared(other, Cell(*cell, np.nan), DRAWS) for cell in TABLE_ONE]
        row(f"{label}, 50 replicas", [mean_error(*cell) for cell in cells])
    print_scatter(pairs)
    print_denominators(pairs)


def print_scatter(pairs: PairCounts) -> None:
    """Print how far estimates of CelebA are from each other, and how their errors
    scatter.
    """
    cells = [compared(pairs, Cell(*cell, np.nan), DRAWS) for cell in TABLE_ONE]
    twice = [zip(found[::2], found[1::2], strict=True) for found, _ in cells]
    row(
        "a second estimate as the theory",
        [float(np.mean([nmse(*two)[0] for two in one])) for one in twice],
    )
    errors = [[nmse(one, theory)[0] for one in found] for found, theory in cells]
    spread = [float(np.std(one) / np.mean(one)) for one in errors]
    row("relative standard deviation of an error, 50 replicas", spread, unit=1.0)


def with_replacement(people: Records, seed: int) -> PairCounts:
    """Return the counts of 50 N records drawn with replacement from N."""
    shares = people.weights / people.records
    weights = np.random.default_rng(seed).multinomial(REPLICAS * people.records, shares)
    return Records(people.domain, people.codes, weights).pairs()


def shared_reports(people: Records, name: str, epsilon: float) -> Iterator[Floats]:
    """Yield estimates from one set of reports: each record's 50 serve every (binary)
    target.
    """
    chances = mechanism(name, 2, epsilon).inferred_channel()[:, 1]
    values = people.codes.astype(np.float64)
    trials = REPLICAS * people.weights
    totals = np.stack([trials @ (1 - values), trials @ values])
    generator = np.random.default_rng(SEED)
    for _ in range(COLLECTIONS):
        reports = generator.binomial(trials[:, None], chances[people.codes]).astype(
            np.float64
        )
        counts = np.stack([(1 - values).T @ reports, values.T @ reports])
        shares = counts / totals[:, :, None]
        ratios = [np.log(part[0] / part[1]) for part in (shares, 1 - shares)]
        yield np.abs(ratios).max(axis=0)


def print_denominators(pairs: PairCounts) -> None:
    """Print the errors of CelebA over other denominators than the sum of squared
    leakages.
    """

    def over(
        denominator: Callable[[Floats], Any], found: Floats, theory: Floats
    ) -> float:
        exact = ordered_pairs(theory)
        squares = [(ordered_pairs(one) - exact) ** 2 for one in found]
        return float(np.mean(squares / denominator(exact)))

    denominators: dict[str, Callable[[Floats], Any]] = {
        "variance": np.var,
        "squared mean": lambda exact: exact.mean() ** 2,
        "square of each, pair by pair": np.square,
    }
    for label, denominator in denominators.items():
        cells = [compared(pairs, Cell(*cell, np.nan), DRAWS) for cell in TABLE_ONE]
        second = compared(
            pairs, Cell("exp", 1.0, np.nan, estimated=False, bound=True), 1
        )
        row(f"over the {label}", [over(denominator, *cell) for cell in cells])
        row(
            f"  Table II, EXP at epsilon 1 (printed: {SECOND['CelebA, 1'][2]})",
            [over(denominator, *second)],
            unit=1.0,
        )


SECTIONS = {"cvd": cvd, "adult": adult, "celeba": celeba}


def main() -> None:
    """Print the chosen sections, all by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "section", nargs="?", choices=list(SECTIONS), help="all by default"
    )
    chosen = parser.parse_args().section
    try:
        for section in [chosen] if chosen else SECTIONS:
            SECTIONS[section]()
    except SeepageError as reason:
        sys.exit(f"search_readings: {reason}")


if __name__ == "__main__":
    main()
