"""Numbers that the theory quotes of real tables, where no other module prints them."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

import seepage as sp
from benchmarks import Figure
from seepage.mechanisms.mechanism_registry import mechanism

EPSILON = 1.0

DELTA = 1e-5

RECORDS = 10_000

QUESTIONS = (
    ["employment", "coffee", "screen"],
    ["coffee", "screen", "sleep"],
    ["age", "income", "region"],
)

LIMITS = (1.0, 2.0)

PART = 0.05

SETS = [[0.5, 0.5, 0, 0, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0, 0, 0, 0]]
"""Two target values, with two of eight source values each."""


def main() -> list[Figure]:
    """Compute the numbers; those of tables that are not at hand are left out."""
    figures = [*_noise(), *_set_sizes(), *_margins(), *_who_takes_part()]
    for names, compute in (
        (("celeba",), _same_pair),
        (("celeba", "lfw"), _distances),
        (("diabetes130",), _drawn_answers),
    ):
        if all(sp.dataset(name).at_hand for name in names):
            figures += compute()
    return figures


def _noise() -> Iterator[Figure]:
    """Yield the supremum over reports with Gaussian noise, and the pair that is
    shown.
    """
    channel = sp.load_pairs("adult").channel("relationship", "sex")
    gauss = mechanism("gauss", channel.matrix.shape[1], EPSILON, DELTA)
    shown = gauss.leakage(channel)
    yield Figure(
        f"Gaussian noise at ({EPSILON:g}, {DELTA:g}), Adult's sex about relationship",
        f"{shown.value:.2f} with delta {shown.delta:.1e}",
        f"over all reports {gauss.pure_leakage(channel).value:.2f}",
    )


def _set_sizes() -> Iterator[Figure]:
    """Yield the leakages of subset selection where its sets shrink from 2 values to
    1.
    """
    switch = float(np.log(3))
    below, above = (
        sp.SubsetSelection(8, epsilon).leakage(SETS).value
        for epsilon in (switch - 1e-4, switch + 1e-4)
    )
    yield Figure(
        "subset selection of 8 values, budgets on either side of ln 3",
        f"{below:.4f}",
        f"{above:.3f}",
    )


def _margins() -> Iterator[Figure]:
    """Yield the margins of plans that are certified for the population."""
    people = sp.make_survey(RECORDS)
    margins = []
    for names in QUESTIONS:
        table = people.select(names)
        for limit in LIMITS:
            plan = sp.design(table, limit, shape="never", effort=0.05)
            margin = plan.check(table).margin
            assert margin is not None
            margins.append(margin)
    yield Figure(
        f"margins of {len(margins)} plans for the population, {RECORDS:,} records",
        f"{min(margins):.2f} to {max(margins):.2f}",
    )


def _who_takes_part() -> Iterator[Figure]:
    """Yield the total of two coins of people who come more often if their coins
    agree.
    """
    sides = ("heads", "tails")
    coins = sp.Domain([sp.Attribute("first", sides), sp.Attribute("second", sides)])
    codes = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    people = sp.Records(coins, codes, np.array([10, 10, 1, 1]))
    total = sp.total_leakage(people, EPSILON, mechanism="grr", guarantee="exact")
    yield Figure(
        f"two coins, each at epsilon {EPSILON:g}, agreeing for 10 of 11 who take part",
        f"total {total.values.max():.2f}",
        f"of all people {EPSILON:.2f}",
    )


def _drawn_answers() -> Iterator[Figure]:
    """Yield the bias of estimates where missing answers are drawn by shares of a
    part.
    """
    columns = ["patient_nbr", "race", "payer_code"]
    file = sp.dataset("diabetes130").files[0].locate()
    visits = pd.read_csv(file, usecols=columns, dtype=str, keep_default_na=False)
    people = visits.drop_duplicates("patient_nbr")
    part = people.sample(frac=PART, random_state=1)
    for column in columns[1:]:
        shares, drawn = (
            table[column][table[column] != "?"].value_counts(normalize=True)
            for table in (people, part)
        )
        missing = (people[column] == "?").mean()
        bias = missing * (drawn.reindex(shares.index).fillna(0) - shares).abs().max()
        yield Figure(
            f"hospital records, {column}: share {missing:.3f} without an answer",
            f"bias at most {bias:.4f}",
            f"with the commonest answer instead {missing * (1 - shares.max()):.3f}",
        )


def _same_pair() -> Iterator[Figure]:
    """Yield the largest total of CelebA, maxima added over one pair or over each
    own.
    """
    pairs = sp.count_pairs("celeba")
    found = {
        guarantee: sp.total_leakage(pairs, EPSILON, guarantee=guarantee).values.max()
        for guarantee in ("independent", "sum")
    }
    yield Figure(
        f"CelebA, largest total at epsilon {EPSILON:g}",
        f"independent {found['independent']:.2f}",
        f"sum {found['sum']:.2f}",
    )


def _distances() -> Iterator[Figure]:
    """Yield how far the rows of LFW and CelebA are apart, over pairs of attributes."""
    celeba = sp.count_pairs("celeba")
    lfw = sp.count_pairs("lfw")
    names = {_plain(name): name for name in celeba.domain.names}
    shared = {
        name: names[_plain(name)] for name in lfw.domain.names if _plain(name) in names
    }
    celeba = celeba.select(list(shared.values()))
    lfw = lfw.select(list(shared))
    lfw = sp.PairCounts(celeba.domain, lfw.marginals, lfw.counts)  # the same two values
    distance, *_ = sp.compare_tables(lfw, celeba, EPSILON).distances
    distances = distance[~np.eye(len(shared), dtype=bool)]
    yield Figure(
        f"LFW and CelebA, {len(shared)} attributes: distance of rows",
        f"median {np.median(distances):.2f}",
        f"largest {distances.max():.2f}",
    )


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
