"""Totals of a sample of records: assumptions, never promises."""

import numpy as np
import pytest

import seepage as sp
from seepage.errors import InputError
from seepage.plan import certify, make_plan
from seepage.totals import GuaranteeError
from seepage.tuples import Tuples

DOMAIN = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
CODES = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
ALL = Tuples(DOMAIN, CODES, [1000] * 4)
SAMPLE = Tuples(DOMAIN, CODES, [10] * 4, population=4000)


@pytest.mark.parametrize("guarantee", ["exact", "merged", "sampled", "independent", "witness"])
def test_totals_of_a_sample_are_assumed(guarantee):
    found = sp.total_leakage(SAMPLE, 1.0, "grr", guarantee, reports=2000)
    assert found.kind == "assumed"
    assert found.notes[0].startswith("from a sample of 40 of 4,000 records: right only if ")
    whole = sp.total_leakage(ALL, 1.0, "grr", guarantee, reports=2000)
    assert not any("sample of" in note for note in whole.notes)
    if guarantee in ("exact", "merged", "independent"):
        np.testing.assert_allclose(found.values, whole.values, rtol=1e-12)


def test_the_sum_of_budgets_needs_no_records():
    assert sp.total_leakage(SAMPLE, 1.0, "grr", "worst").kind == "certified"


def test_comparisons_say_so_too():
    found = sp.compare_totals(SAMPLE, 1.0, "grr")
    assert [total.guarantee for total in found.totals if total.kind == "certified"] == ["worst"]


def test_budgets_and_plans_need_all_records():
    with pytest.raises(GuaranteeError, match=r"budgets need all records, .* 40 of 4,000"):
        sp.find_budgets(SAMPLE, 3.0, "exact")
    with pytest.raises(GuaranteeError, match="budgets need all records"):
        sp.calibrate(SAMPLE, 3.0)
    assert sp.find_budgets(SAMPLE, 3.0, "worst").totals.kind == "certified"
    total = sp.total_leakage(SAMPLE, 1.0, "grr", "exact")
    with pytest.raises(InputError, match=r"needs totals that are certified, and these are assumed"):
        make_plan(SAMPLE.pairs(), 1.0, "grr", limit=3.0, totals=total)
    certified = sp.total_leakage(ALL, 1.0, "grr", "exact")
    plan = make_plan(ALL.pairs(), 1.0, "grr", limit=3.0, totals=certified)
    with pytest.raises(InputError, match=r"needs totals that are certified, .* sample of 40"):
        certify(plan, SAMPLE)
