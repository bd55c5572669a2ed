"""Utility against leakage (Fig. 7)."""

from dataclasses import asdict

from reproduction.findings import Finding, Row
from reproduction.paper_data import (
    MECHANISMS,
    NEAR_ADULT,
    PRESENT,
    SEED,
    STAND_INS,
    Data,
    other_datasets,
    presence,
)
from seepage.benchmarks.mechanism_benchmark import benchmark_mechanisms
from seepage.channel.pairs import PairCounts
from seepage.charts.benchmark_charts import mechanism_chart
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.mechanism_registry import mechanism

# Fig. 7 -------------------------------------------------------------------------------

DOCUMENTED = "Adult, documented columns"


def fig7(data: Data, found: Finding) -> None:
    """Find Fig. 7: utility and leakage of the eight mechanisms, and OLH relative to
    SS.
    """
    adult = {DOCUMENTED: data.pairs("adult")}
    if presence("adult") == PRESENT:
        adult[NEAR_ADULT] = data.near_adult
    tables = adult | data.some("celeba", "cardio", *STAND_INS)
    ratios = {label: _olh_over_ss(pairs) for label, pairs in tables.items()}
    for letter, (label, pairs) in zip("abcdef", tables.items(), strict=False):
        rows = _score_rows(label, pairs)
        scores = {row["mechanism"]: row for row in rows if row["epsilon"] == 1}
        whole = scores["OLH"]["normalised_tcpl"] / scores["SS"]["normalised_tcpl"]
        others = other_datasets(ratios, label)
        if label in adult:
            found.claim("frequency", scores["OLH"]["frequency_error"], label=label)
            found.claim("mean", _mean_error(pairs, "olh"), label=label)
            found.claim("leakage", ratios[label], unrelated=others, label=label)
            for row in raw_counts(rows, pairs):
                found.claim(
                    "raw_counts",
                    row["frequency_error"],
                    epsilon=row["epsilon"],
                    label=label,
                )
                rows.append(row)
            found.claim("whole", whole, label=label)
        else:
            found.claim("elsewhere", ratios[label], unrelated=others, label=label)
        found.rows += rows
        found.charts[letter] = mechanism_chart(rows).properties(title=label)


def _olh_over_ss(pairs: PairCounts) -> float:
    """Return the total leakage of OLH's guessed values over that of SS, epsilon 1."""
    totals = [
        leakage_matrix(pairs, 1.0, mechanism=name, view="inferred").tcpl
        for name in ("olh", "ss")
    ]
    return totals[0] / totals[1]


def raw_counts(rows: list[Row], pairs: PairCounts) -> list[Row]:
    """Return EXP's rows with the error of the authors' aggregator: it returns the
    counts of reports, which are biased towards equal frequencies.

    With p and q the probabilities of a true and of another value, the share of reports
    of a value of frequency f has the mean q + (p - q) f.
    """
    biased = []
    for row in rows:
        if row["mechanism"] != MECHANISMS["exp"]:
            continue
        error = 0.0
        power = 0.0
        for attribute, marginal in zip(pairs.domain, pairs.marginals, strict=True):
            frequencies = marginal / pairs.records
            channel = mechanism("exp", attribute.size, row["epsilon"]).channel()
            reported = frequencies @ channel
            noise = (reported * (1 - reported)).sum() / pairs.records
            error += float(((reported - frequencies) ** 2).sum() + noise)
            power += float((frequencies**2).sum())
        error /= power
        biased.append(
            row
            | {
                "mechanism": "EXP, raw counts",
                "frequency_error": error,
                "expected_frequency_error": error,
            }
        )
    return biased


def _score_rows(label: str, pairs: PairCounts) -> list[Row]:
    rows = []
    for score in benchmark_mechanisms(pairs, rng=SEED).scores:
        row = {"data": label, **asdict(score), "mechanism": MECHANISMS[score.mechanism]}
        del row["estimates"]
        rows.append(row)
    return rows


def _mean_error(pairs: PairCounts, name: str) -> float:
    """Return the expected NMSE of the frequencies of one attribute, averaged over
    attributes.
    """
    errors = []
    for attribute, marginal in zip(pairs.domain, pairs.marginals, strict=True):
        frequencies = marginal / pairs.records
        variance = mechanism(name, attribute.size, 1.0).variance(
            pairs.records, frequencies
        )
        errors.append(float(variance.sum() / (frequencies**2).sum()))
    return sum(errors) / len(errors)
