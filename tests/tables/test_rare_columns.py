"""Columns with rare answers: asked, protected only, or left out and named."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from seepage.tables.rare_columns import LeastShares
from seepage.tables.rare_values import asked_shares, protected_share

N = 16_000


def column(common, *rare):
    """Return a column in which each rare value has a number of people, evenly
    spread.
    """
    values = np.full(N, common, dtype=object)
    places = np.random.default_rng(1).permutation(N)
    start = 0
    for value, people in rare:
        values[places[start : start + people]] = value
        start += people
    return values


PEOPLE = pd.DataFrame(
    {
        "sex": np.random.default_rng(2).choice(["F", "M"], N),
        "hiv": column("no", ("yes", 430)),
        "abuse": column("no", ("yes", 90)),
        "murder": column("no", ("yes", 20)),
        "visits": column(0, (1, 300), (2, 80), (3, 50), (9, 4)),
        "illness": column("none", ("ms", 150), ("gout", 140), ("pots", 130)),
        "state": column("well", ("ill", 400), ("unsure", 7)),
    }
)
PEOPLE["visits"] = PEOPLE["visits"].astype(int)


def fixed(**options):
    keywords = {"scope": "population", "answers": "merged"} | options
    return sp.Records.from_data(PEOPLE, **keywords)


def test_rare_answers_are_asked_protected_or_named_by_their_people():
    records = fixed()
    assert records.origin.fixed.protected == ("abuse",)
    assert records.origin.fixed.left_out == ("murder",)
    for name in ("hiv", "abuse", "visits", "illness", "state"):
        answers = records.domain[name].as_reported.size
        assert answers >= 2
        assert records.marginal(name)[:answers].min() >= 50


def test_answers_are_merged_no_further_than_two_remain():
    domain = fixed().domain
    assert domain["visits"].as_reported.values == ("0", "1 or more")
    illness = domain["illness"].as_reported
    assert illness.size == 2
    assert "none" in illness.values
    assert "ill" in domain["state"].values


def test_an_option_that_names_a_column_has_it_asked():
    plan = sp.design(
        PEOPLE, 2.0, keep=["murder"], effort=0.02, columns=["sex", "murder"]
    )
    assert "murder" in plan.collected.names
    kept = fixed(keep=("abuse", "murder")).origin.fixed
    assert kept.protected == ()
    assert kept.left_out == ()


def test_what_is_protected_only_has_a_total_and_no_question():
    columns = ["sex", "hiv", "abuse", "murder"]
    table = PEOPLE[columns]
    with pytest.warns(sp.DataWarning, match="abuse"):
        plan = sp.design(table, 2.0, effort=0.02)
    assert set(plan.collected.names) == {"sex", "hiv"}
    assert plan["abuse"].limit == 2.0
    assert plan["abuse"].total <= 2.0
    assert not plan["abuse"].asking
    assert "murder" not in plan.domain.names


def test_importance_and_limit_name_a_subset():
    table = PEOPLE[["sex", "hiv"]]
    plan = sp.design(table, 2.0, importance={"hiv": 3.0}, effort=0.02)
    assert set(plan.collected.names) == {"sex", "hiv"}
    only = sp.design(table, {"hiv": 1.0}, effort=0.02)
    assert only["hiv"].limit == 1.0
    assert only["sex"].limit is None


def test_an_unknown_name_in_keep_raises():
    for function in (sp.check, sp.analyse):
        with pytest.raises(sp.SeepageError, match=r"hivv.*did you mean 'hiv'"):
            function(PEOPLE, keep=["hivv"])
    with pytest.raises(sp.SeepageError, match=r"hivv.*did you mean 'hiv'"):
        sp.design(PEOPLE, 2.0, keep=["hivv"])


@pytest.mark.parametrize("certifying", [50, 400, 5_000, 40_000, 10**6])
def test_shares_fall_from_common_to_100_people(certifying):
    shares = asked_shares(certifying)
    assert all(larger > share for larger, share in pairwise(shares))
    assert shares[-1] * certifying <= max(100, 0.1 * certifying) + 1e-9
    assert protected_share(certifying) <= shares[-1]
    least = LeastShares.of(certifying)
    assert least.is_asked(shares[-1])
    assert least.tried(kept=True)[-1] == 0
