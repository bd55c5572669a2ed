"""Fig. 4a: what occupation, education and income tell about sex in Adult, by mechanism."""

from typing import Any

from seepage.charts.panels import bar_panels
from seepage.leakage.matrix import leakage_matrix
from seepage.study.reproduction.findings import Comparison, Finding, ours, stated
from seepage.study.reproduction.paper_data import MECHANISMS, REPLICAS, SEED, Data
from seepage.study.statistical import estimate_leakage

__all__ = ["find"]

SHOWN = ("grr", "rappor", "exp", "olh", "oue")
SOURCES = ("occupation", "education", "income")
TARGET = "sex"
SURROGATES = 999

SHOWS = (
    "Bars of the leakage about Gender caused by Occupation, Education and Income in Adult, for "
    "five mechanisms at epsilon 1, each estimated from 50 perturbed copies of the table. No number "
    "is printed; the text says which leaks more."
)
NOTES = (
    "Bars are the paper's estimate (50 reports a record, the attacker keeps one guessed value); "
    "black lines are its closed form, without any simulation. Surrogates are tables of the same "
    "reports in which they no longer depend on sex, as in the paper's test.",
    "For income, which has two values, OUE and OLH leak slightly less than RAPPOR and EXP, and for "
    "the others more: on a binary attribute the guess from OUE is right less often. The paper's "
    "remark holds for the mean of the three sources.",
    "That GRR leaks most is a statement about the guess. An adversary who keeps the whole report "
    "of RAPPOR, OLH or OUE learns more than from GRR (second panel): up to the bound of "
    "Algorithm 2.",
)


def find(data: Data) -> Finding:
    """Return the leakages by mechanism and source, and what the paper says of them."""
    pairs = data.pairs("adult")
    rows: list[dict[str, Any]] = []
    for name in SHOWN:
        estimates = estimate_leakage(
            pairs,
            mechanism=name,
            epsilon=1.0,
            pairs=[(TARGET, source) for source in SOURCES],
            replicas=REPLICAS,
            surrogates=SURROGATES,
            seed=SEED,
        )
        inferred = leakage_matrix(pairs, 1.0, mechanism=name, view="inferred")
        report = leakage_matrix(pairs, 1.0, mechanism=name)
        for source in SOURCES:
            estimate = estimates[TARGET, source]
            rows.append(
                {
                    "mechanism": MECHANISMS[name],
                    "source": source,
                    "target": TARGET,
                    "epsilon": 1.0,
                    "statistical": estimate.plug_in,
                    "interval_low": estimate.lower,
                    "interval_high": estimate.upper,
                    "p_value": estimate.p_value,
                    "inferred_value": inferred[TARGET, source].value,
                    "whole_report": report[TARGET, source].value,
                }
            )
    return Finding(SHOWS, rows, _compare(rows), NOTES, {"": _chart(rows)})


def _compare(rows: list[dict[str, Any]]) -> list[Comparison]:
    guess = {(row["mechanism"], row["source"]): row["inferred_value"] for row in rows}
    whole = {(row["mechanism"], row["source"]): row["whole_report"] for row in rows}
    names = [MECHANISMS[name] for name in SHOWN]
    mean = {name: sum(guess[name, source] for source in SOURCES) / 3 for name in names}
    others = names[1:]
    return [
        stated(
            "GRR's leakage over the largest of the others', least over the three sources",
            "GRR leaks most",
            min(guess["GRR", s] / max(guess[name, s] for name in others) for s in SOURCES),
            least=1.0,
        ),
        stated(
            "Occupation's leakage over education's, least over the five mechanisms",
            "L(Occupation → Gender) ≫ L(Education → Gender)",
            min(guess[name, "occupation"] / guess[name, "education"] for name in names),
            least=2.0,
        ),
        stated(
            "Mechanisms, of five, under which education leaks least",
            "the pattern across attributes is the same for all mechanisms",
            sum(guess[n, "education"] == min(guess[n, s] for s in SOURCES) for n in names),
            least=5,
        ),
        stated(
            "Mean of RAPPOR or EXP, the larger, over that of OLH or OUE, the smaller",
            "RAPPOR and EXP leak relatively little",
            max(mean["RAPPOR"], mean["EXP"]) / min(mean["OLH"], mean["OUE"]),
            most=1.0,
        ),
        stated(
            f"Largest p-value of the {len(rows)} estimates, {SURROGATES} surrogates",
            "the estimates are significant at the 5 % level",
            max(row["p_value"] for row in rows),
            most=0.05,
        ),
        ours(
            "Largest gap between estimate and closed form (nats)",
            max(abs(row["statistical"] - row["inferred_value"]) for row in rows),
        ),
        ours(
            "Leakage of OUE's whole report over GRR's, from occupation",
            whole["OUE", "occupation"] / whole["GRR", "occupation"],
        ),
    ]


def _chart(rows: list[dict[str, Any]]) -> Any:
    guess, whole = "The guessed value (the paper)", "The whole report"
    bars = [
        {
            "panel": panel,
            "group": row["source"],
            "series": row["mechanism"],
            "value": row[bar],
            "mark": line and row[line],
        }
        for panel, bar, line in (
            (guess, "statistical", "inferred_value"),
            (whole, "whole_report", None),
        )
        for row in rows
    ]
    return bar_panels(
        bars,
        "Leakage about sex (nats)",
        mark="closed form",
        colour_title="Mechanism",
        x_title="Source",
    )
