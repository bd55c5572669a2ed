"""From records to a plan, to reports, and back to what they tell: the whole way."""

import os
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from plan_examples import DOMAIN, people, plan_of_totals
from seepage.collection.perturb_table import perturb_file
from seepage.collection.report_leakage import analyse_reports
from seepage.leakage.matrix import leakage_matrix
from seepage.tables.read import count_pairs
from seepage.totals.total import total_leakage
from seepage.workflow.plan import Plan

needs_data = pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"),
    reason="SEEPAGE_DATA does not name the folder of the data",
)


def collect(table, pairs, epsilon, folder, replicas=1):
    """Plan, save, load, perturb the replicated records, and give plan and reports."""
    totals = total_leakage(pairs, epsilon, mechanism=None, guarantee="independent")
    limit = float(totals.values.max())
    plan_of_totals(totals, limit=limit).save(folder / "plan.json")
    plan = Plan.load(folder / "plan.json")
    assert plan.check(pairs).totals.tolist() == plan.totals.tolist()
    pq.write_table(pa.concat_tables([table] * replicas), folder / "records.parquet")
    written = perturb_file(plan, folder / "records.parquet", folder / "reports.parquet")
    assert written == replicas * table.num_rows
    return plan, folder / "reports.parquet"


def check_frequencies(plan, reports, pairs):
    """Errors are as large as the standard errors say: neither 0.7 nor 1.4 times as
    large.
    """
    found = plan.estimate(reports)
    scores = np.concatenate(
        [
            (found[name].frequencies - pairs.marginal(name) / pairs.records)
            / found[name].standard_errors
            for name in plan.collected.names
        ]
    )
    assert np.abs(scores).max() < 5
    spread = stats.chi2(len(scores) - len(plan.collected))
    assert (
        spread.ppf(1e-5)
        < (scores**2).sum()
        < spread.ppf(1 - 1e-5) + len(plan.collected)
    )


def check_leakage(plan, reports, pairs, informative):
    """The truth lies within nearly all intervals, and some of them are narrow."""
    found = analyse_reports(plan, reports)
    truth = leakage_matrix(pairs, 0.0, mechanism=plan.mechanisms).values
    names = plan.domain.names
    assert len(found.leaks) == len(names) * (len(names) - 1)
    inside = np.array(
        [
            found[t, s].lower <= truth[i, j] <= found[t, s].upper
            for (i, t), (j, s) in permutations(enumerate(names), 2)
        ]
    )
    assert inside.mean() >= stats.binom(inside.size, 0.95).ppf(1e-4) / inside.size
    for target, source in informative:
        lower = found[target, source].lower
        upper = found[target, source].upper
        value = truth[plan.domain.index(target), plan.domain.index(source)]
        assert upper - lower < 0.6 * value
        assert not lower <= 1.5 * value <= upper
        assert not lower <= 0.6 * value <= upper
    return found


def test_reports_of_simulated_people(tmp_path):
    table = people(60_000)
    pairs = count_pairs(table, domain=DOMAIN)
    plan, reports = collect(table, pairs, 2.0, tmp_path)
    check_frequencies(plan, reports, pairs)
    found = check_leakage(
        plan, reports, pairs, [("sex", "job"), ("age", "ill"), ("ill", "age")]
    )
    strongest = found.strongest(1)[0]
    assert {strongest.target, strongest.source} == {"job", "sex"}


@pytest.fixture(scope="module")
def adult():
    from seepage.datasets.catalogue import dataset

    found = dataset("adult")
    table = found.read()
    return table, count_pairs(table, **found.table)


@needs_data
@pytest.mark.slow
def test_adult_at_a_million_records(adult, tmp_path):
    table, pairs = adult
    names = ["sex", "income", "race", "relationship", "education"]
    plan, reports = collect(table, pairs.select(names), 1.0, tmp_path, replicas=21)
    check_frequencies(plan, reports, pairs.select(names))
    informative = [
        ("sex", "relationship"),
        ("income", "relationship"),
        ("income", "sex"),
    ]
    check_leakage(plan, reports, pairs.select(names), informative)


@needs_data
@pytest.mark.slow
def test_all_of_adult_at_a_million_records(adult, tmp_path):
    from seepage.workflow.within_limits import calibrate

    table, pairs = adult
    calibrated = calibrate(pairs, limit=8.0, guarantee="independent")
    epsilon = float(calibrated.epsilons.max())
    assert 0.5 < epsilon < 8
    plan, reports = collect(table, pairs, epsilon, tmp_path, replicas=21)
    check_frequencies(plan, reports, pairs)
    check_leakage(
        plan, reports, pairs, [("sex", "relationship"), ("income", "relationship")]
    )
