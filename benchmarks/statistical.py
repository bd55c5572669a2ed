"""The statistical method: how long it takes, and how far its uncertainty can be
trusted.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import Figure, at_least, seconds
from seepage import leakage_matrix, load_pairs
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import TableError
from seepage.benchmarks.statistical.estimate_leakage import estimate_leakage
from seepage.benchmarks.statistical.estimates import LeakageEstimates
from seepage.benchmarks.statistical.permutation import largest_log_ratios
from seepage.benchmarks.statistical.simulated_collection import simulate
from seepage.benchmarks.statistical.simulated_intervals import interval
from seepage.channel.pairs import PairCounts
from seepage.leakage.exact_leakage import exact_leakage
from seepage.mechanisms.mechanism_registry import mechanism

REPLICAS = 50
SURROGATES = 10_000
SEED = 1
PERMUTATIONS = 3
"""Record-level surrogates that are timed; the other of the 10,000 take as long each."""

LIMITS = {"celeba": 60.0, "adult": 300.0}
"""Seconds that all pairs of a dataset may take on two cores."""


def main() -> list[Figure]:
    return [*_speed(), *_against_records(), *_errors(), *_independence()]


def full() -> list[Figure]:
    return list(_coverage())


def _at_hand(*names: str) -> Iterator[tuple[str, PairCounts]]:
    """Yield those of the datasets that are there; CelebA may not be bundled."""
    for name in names:
        try:
            yield name, load_pairs(name)
        except TableError:
            continue


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


# Speed --------------------------------------------------------------------------------


def _speed() -> Iterator[Figure]:
    for name, pairs in _at_hand(*LIMITS):
        ordered = len(pairs.domain) * (len(pairs.domain) - 1)
        taken = _timed(lambda pairs=pairs: _estimate(pairs, SURROGATES))  # type: ignore[misc]
        yield Figure(
            f"{name}: {ordered:,} pairs, {REPLICAS} replicas, {SURROGATES:,} "
            "surrogates each",
            seconds(taken),
            target=f"at most {LIMITS[name]:g} s",
            met=taken <= LIMITS[name],
        )


def _estimate(
    pairs: PairCounts, surrogates: int, name: str = "grr"
) -> LeakageEstimates:
    return estimate_leakage(
        pairs,
        mechanism=name,
        epsilon=1.0,
        replicas=REPLICAS,
        surrogates=surrogates,
        rng=SEED,
    )


def _against_records() -> Iterator[Figure]:
    """Yield the time of one pair of Adult beside that of every record and every
    permutation.
    """
    pairs = load_pairs("adult").select(["sex", "occupation"])

    table = pairs.table("sex", "occupation")

    def run(surrogates: int) -> float:
        return _timed(
            lambda: estimate_leakage(
                pairs,
                mechanism="grr",
                epsilon=1.0,
                pairs=[("sex", "occupation")],
                replicas=REPLICAS,
                surrogates=surrogates,
                rng=SEED,
                threads=1,
            )
        )

    run(10)
    drawn = run(0)
    perturbed = _timed(lambda: _collect_records(table))
    yield at_least(
        "one pair: collection from counts", drawn, "by record", perturbed, 10
    )
    whole = run(SURROGATES)
    permuting = perturbed + SURROGATES * _permutation(table)
    yield at_least(
        f"one pair with {SURROGATES:,} surrogates",
        whole,
        f"by record ({PERMUTATIONS} permutations measured)",
        permuting,
        100,
    )


def _collect_records(table: Integers) -> Integers:
    """Perturb every record `REPLICAS` times, infer its value from each report, and
    count.
    """
    generator = np.random.default_rng(SEED)
    grr = mechanism("grr", table.shape[1], 1.0)
    cells = np.repeat(np.arange(table.size), REPLICAS * table.ravel())
    target, source = np.divmod(cells, table.shape[1])
    guesses = grr.infer(grr.perturb(source, generator), generator)
    return np.bincount(target * table.shape[1] + guesses, minlength=table.size)


def _permutation(table: Integers) -> float:
    """Return the time to permute one column of the expanded data set and count
    again.
    """
    generator = np.random.default_rng(SEED)
    rows, columns = table.shape
    cells = np.repeat(np.arange(table.size), REPLICAS * table.ravel())
    target, report = np.divmod(cells, columns)

    def permute() -> None:
        for _ in range(PERMUTATIONS):
            generator.shuffle(report)
            counts = np.bincount(target * columns + report, minlength=table.size)
            largest_log_ratios(
                counts.reshape(rows, columns, 1), REPLICAS * table.sum(axis=1)
            )

    return _timed(permute) / PERMUTATIONS


# Trust --------------------------------------------------------------------------------


def _errors() -> Iterator[Figure]:
    """Yield the NMSE against the exact inferred leakage, at epsilon 1."""
    for dataset, pairs in _at_hand("celeba", "adult", "cardio"):
        off = ~np.eye(len(pairs.domain), dtype=np.bool_)
        for name in ("grr", "exp"):
            exact = leakage_matrix(pairs, 1.0, mechanism=name, view="inferred").values[
                off
            ]
            estimate = _estimate(pairs, 0, name)
            corrected, plug_in = (
                float(np.sum((values[off] - exact) ** 2) / np.sum(exact**2))
                for values in (estimate.corrected, estimate.plug_in)
            )
            yield Figure(
                f"{dataset}: NMSE of {name} against the exact leakage",
                f"{corrected:.2g}",
                f"plug-in {plug_in:.2g}",
                target="below 5.5e-3",
                met=corrected < 5.5e-3,
            )


def _independence() -> Iterator[Figure]:
    """Yield what is found for independent attributes of 16 values, 5,000 records, one
    replica.
    """
    generator = np.random.default_rng(SEED)
    channel = mechanism("grr", 16, 1.0).inferred_channel()
    corrected = []
    plug_in = []
    for _ in range(200):
        cells = generator.integers(16, size=5_000) * 16 + generator.integers(
            16, size=5_000
        )
        table = np.bincount(cells, minlength=256).reshape(16, 16)
        collection = simulate(table, channel, 1, generator)
        corrected.append(interval(collection, 0.95).corrected)
        plug_in.append(
            largest_log_ratios(collection.counts[:, :, None], table.sum(axis=1))[0]
        )
    yield Figure(
        "independent, N = 5,000, k = 16, one replica: corrected estimate",
        f"{np.mean(corrected):.3f}, below 0.1 in "
        f"{np.mean(np.less(corrected, 0.1)):.1%}",
        f"plug-in {np.mean(plug_in):.2f}",
        target="below 0.1",
        met=bool(np.mean(corrected) < 0.1),
    )


def _tables(pairs: PairCounts) -> Iterator[tuple[Integers, Floats]]:
    """Yield each ordered pair's table, of target values that occur, and the channel of
    GRR.
    """
    for target in range(len(pairs.domain)):
        for source in range(len(pairs.domain)):
            if target != source:
                channel = mechanism(
                    "grr", pairs.domain.sizes[source], 1.0
                ).inferred_channel()
                yield pairs.table(target, source)[pairs.marginal(target) > 0], channel


def _truth(table: Integers, channel: Floats) -> float:
    return exact_leakage(table / table.sum(axis=1, keepdims=True), channel).value


def _coverage() -> Iterator[Figure]:
    for name, pairs in _at_hand("celeba", "adult"):
        generator = np.random.default_rng(SEED)
        covered = []
        for table, channel in _tables(pairs):
            exact = _truth(table, channel)
            for _ in range(5 if name == "celeba" else 20):
                limits = interval(simulate(table, channel, REPLICAS, generator), 0.95)
                covered.append(
                    (limits.lower <= exact <= limits.upper, limits.upper - limits.lower)
                )
        yield _covered(f"{name}: 95% intervals for the table", covered)


def _covered(what: str, covered: list[tuple[bool, float]]) -> Figure:
    share, width = (float(part) for part in np.mean(covered, axis=0))
    return Figure(
        f"{what} ({len(covered):,} of them)",
        f"{share:.1%} cover",
        f"mean width {width:.2g}",
        target="at least 93%",
        met=share >= 0.93,
    )
