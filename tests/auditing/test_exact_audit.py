"""Audits of published parameters: exact, against closed forms and brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import oracles
import seepage as sp
from seepage.auditing.exact_audit import ExactPrivacy

E2 = math.exp(2)
NIGERIA = {"values": ["no", "yes"], "p": 4 / 6, "p0": 1 / 6, "p1": 1 / 6}


def brute_delta(matrix, epsilon):
    """The largest P(S given u) - e^epsilon P(S given u') over pairs and all sets S of
    reports.
    """
    return max(
        sum(
            max(0.0, a - math.exp(epsilon) * b)
            for a, b in zip(first, second, strict=True)
        )
        for first, second in itertools.permutations(np.asarray(matrix).tolist(), 2)
    )


def test_kept_with_the_probability_of_two_values():
    """The fault of libraries that take e^eps / (1 + e^eps) for any number of values."""
    found = sp.audit({"k": 20, "keep": E2 / (1 + E2)}, claim=2.0)
    assert found.verdict == "refuted"
    assert found.epsilon == pytest.approx(2 + math.log(19), abs=1e-12)
    assert found.epsilon >= 2 + math.log(19)
    assert found.interval == (found.epsilon, found.epsilon)
    assert "is 140 times likelier from value 0 than from value 1" in found.witness
    assert found.witness.endswith("the claim allows 7.4")
    with pytest.raises(AssertionError, match="140 times likelier"):
        found.assert_holds()


def test_forced_response_of_a_survey():
    found = sp.audit(NIGERIA, claim=1.61, attribute="contact")
    assert found.epsilon == pytest.approx(math.log(5), abs=1e-12)
    assert found.verdict == found["contact"].verdict == "holds"
    found.assert_holds()
    assert repr(found) == (
        "Audit(holds: contact, odds change 5 times, claimed 5; claim 1.61, epsilon "
        "1.6095)"
    )
    assert sp.audit(NIGERIA, claim=1.6).verdict == "refuted"


@pytest.mark.parametrize("claim", [2.0, 2.00001, math.log(math.exp(2) + 1e-4)])
def test_what_holds_is_not_shown_above_the_claim(claim):
    """The exact epsilon is 2 but for rounding, and 4 decimals would round it up to
    2.0001.
    """
    found = sp.audit({"values": ("no", "yes"), "keep": E2 / (1 + E2)}, claim=claim)
    told = found.sentences()[0]
    assert told.startswith(f"value: claim {claim:g}: holds, epsilon ")
    assert float(told.rsplit(maxsplit=1)[1]) <= float(f"{claim:g}")
    assert (
        sp.audit({"k": 2, "keep": E2 / (1 + E2)}, claim=1.0)["value"].epsilon_words
        == "2.0000"
    )


@pytest.mark.parametrize("name", sorted(sp.registered()))
def test_mechanisms_have_the_epsilon_of_their_matrix(name):
    """Named, as a mechanism, and as its matrix where it has one."""
    family = sp.registered()[name]
    slack = {"delta": 0.05} if family.approximate else {}
    made = sp.mechanism(name, 5, 1.2, **slack)
    delta = 0.05 if family.approximate else 0.0
    expected = made.epsilon
    if name == "exp":
        expected = made.likely_sets.contrast
    parameters = {"mechanism": name, "epsilon": 1.2, "k": 5, **slack}
    for randomiser in (parameters, made):
        found = sp.audit(randomiser, claim=1.2, delta=delta)
        assert found.epsilon == pytest.approx(
            expected, abs=1e-12 if not delta else 1e-9
        )
        assert found.verdict == "holds"
        # either the epsilon or the delta of a smaller claim is exceeded
        assert (
            sp.audit(randomiser, claim=expected - 0.01, delta=delta).verdict != "holds"
        )
    try:
        matrix = made.channel()
    except sp.InputError:
        return
    by_matrix = sp.audit(matrix, claim=1.2, delta=delta)
    assert by_matrix.epsilon == pytest.approx(
        expected, abs=1e-12 if not delta else 1e-9
    )
    assert by_matrix.verdict == "holds"


@pytest.mark.parametrize("claim", [0.0, 0.4, 1.1])
def test_delta_is_the_hockey_stick(claim):
    rng = np.random.default_rng(5)
    matrix = rng.dirichlet(np.ones(6), size=4)
    found = sp.audit(matrix, claim=claim)
    expected = brute_delta(matrix, claim)
    assert expected <= found.delta <= expected + 1e-12
    # the epsilon at a delta is where the stick has that height
    relaxed = sp.audit(matrix, claim=claim, delta=0.1)
    assert brute_delta(matrix, relaxed.epsilon) == pytest.approx(0.1, abs=1e-9)
    assert relaxed.verdict == ("holds" if expected <= 0.1 else "refuted")


def test_pairs_of_values_have_the_delta_of_the_whole_matrix():
    """Bits, and sets of one size: two values decide, as enumerating all reports
    shows.
    """
    for parameters in (
        {"k": 5, "p": 0.7, "q": 0.2},
        {"k": 5, "p": 0.2, "q": 0.6},
        {"k": 6, "mechanism": "ss", "epsilon": 0.5},
    ):
        attribute = sp.Randomiser.read(parameters)["value"]
        exact = ExactPrivacy(attribute, 1, False)
        bits = "p" in parameters
        matrix = oracles.bit_matrix(*parameters.values()) if bits else attribute.matrix
        ratios = matrix.max(axis=0) / matrix.min(axis=0)
        assert exact.pure == pytest.approx(math.log(ratios.max()), abs=1e-12)
        for epsilon in (0.0, 0.3):
            expected = brute_delta(matrix, epsilon)
            assert exact.delta(epsilon).value == pytest.approx(expected, abs=1e-12)


def test_epsilon_is_never_understated():
    """The largest ratio of a matrix in exact fractions is at most e^epsilon."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        matrix = rng.dirichlet(np.full(4, 0.5), size=3)
        cells = [[Fraction(cell) for cell in row] for row in matrix.tolist()]
        ratio = max(max(column) / min(column) for column in zip(*cells, strict=True))
        from seepage.mechanisms.exact_probabilities import log_above

        found = sp.audit(matrix, claim=1.0).epsilon
        assert log_above(ratio) <= found <= log_above(ratio) + 1e-12


def test_zeros_beside_positive_numbers_are_infinite():
    found = sp.audit([[0.5, 0.5, 0.0], [0.5, 0.4, 0.1]], claim=5.0)
    assert math.isinf(found.epsilon)
    assert found.verdict == "refuted"
    assert found.delta == pytest.approx(0.1)
    assert (
        "a report 2 is possible from value 1 and impossible from value 0"
        in found.witness
    )
    assert sp.audit([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], claim=0.0).verdict == "holds"
    never = sp.audit({"k": 3, "p": 1.0, "q": 0.2}, claim=5.0)
    assert math.isinf(never.epsilon)
    assert never.delta == pytest.approx(0.8)  # the other value's bit is not set


# Rounds, links and the record ---------------------------------------------------------


def test_memoisation_forgotten():
    memoised = sp.audit(NIGERIA, claim=1.61, rounds=10, memoised=True)
    assert memoised.verdict == "holds"
    fresh = sp.audit(NIGERIA, claim=1.61, rounds=10)
    assert fresh.verdict == "refuted"
    assert fresh.epsilon == pytest.approx(10 * math.log(5), abs=1e-11)
    assert "10 such outcomes together 9.8e+06 times" in fresh.witness
    assert sp.audit(NIGERIA, claim=1.61, rounds=10, linked=False).verdict == "holds"


def test_delta_of_several_rounds_is_that_of_the_product():
    matrix = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])
    product = np.einsum("ua,ub,uc->uabc", matrix, matrix, matrix).reshape(2, -1)
    found = sp.audit(matrix, claim=1.5, rounds=3)
    assert found.delta == pytest.approx(brute_delta(product, 1.5), abs=1e-12)
    # too many rounds for the product: an upper bound
    many = sp.audit(matrix, claim=1.5, rounds=100)
    assert found.delta < many.delta <= 1


def test_rappor_over_many_rounds():
    """Basic RAPPOR with its published parameters, one and two hash functions."""
    parameters = {"k": 100, "f": 0.5, "p": 0.5, "q": 0.75, "cohorts": 8}
    rappor = sp.BasicRAPPOR(100)
    for h in (1, 2):
        one = sp.audit({**parameters, "h": h}, claim=3.0)
        assert one.epsilon == pytest.approx(h * rappor.epsilon, abs=1e-12)
        kept = sp.audit({**parameters, "h": h}, claim=3.0, rounds=30, memoised=True)
        assert kept.epsilon == pytest.approx(h * rappor.epsilon_after(30), abs=1e-12)
        assert kept.epsilon <= h * rappor.epsilon_infinity
        fresh = sp.audit({**parameters, "h": h}, claim=3.0, rounds=30)
        assert fresh.epsilon == pytest.approx(30 * h * rappor.epsilon, abs=1e-9)


@pytest.mark.parametrize(("h", "rounds"), [(1, 1), (1, 2), (1, 10), (2, 3)])
def test_the_delta_of_stored_rappor_is_that_of_all_its_reports(h, rounds):
    """By enumeration of all bits of all rounds for two values."""
    f, p, q = 0.5, 0.35, 0.8
    bits = list(itertools.product((0, 1), repeat=min(rounds, 3)))
    spec = {"k": 3, "f": f, "p": p, "q": q, "h": h}
    found = sp.audit(spec, claim=0.7, rounds=rounds, memoised=True)
    if rounds <= 3:
        true, other = np.zeros((2, len(bits)))
        for index, sent in enumerate(bits):
            likely = [math.prod(r if bit else 1 - r for bit in sent) for r in (p, q)]
            true[index] = f / 2 * likely[0] + (1 - f / 2) * likely[1]
            other[index] = (1 - f / 2) * likely[0] + f / 2 * likely[1]
    else:
        ones = np.arange(rounds + 1)
        likely = [stats.binom.pmf(ones, rounds, rate) for rate in (p, q)]
        true = f / 2 * likely[0] + (1 - f / 2) * likely[1]
        other = (1 - f / 2) * likely[0] + f / 2 * likely[1]
    once = np.array([np.outer(true, other).ravel(), np.outer(other, true).ravel()])
    product = once
    for _ in range(h - 1):
        product = np.einsum("ua,ub->uab", product, once).reshape(2, -1)
    expected = brute_delta(product, 0.7)
    assert expected <= found.delta == pytest.approx(expected, abs=1e-12)


def test_linked_reports_of_a_record_add_up():
    parts = {name: {"keep": 0.75, "k": 2} for name in "abc"}  # ln 3 each
    spec = {"attributes": parts, "linked": [["a", "b"]]}
    found = sp.audit(spec, claim=1.1, record_claim=2.0)
    record = found["(record)"]
    assert [one.verdict for one in found.claims] == [
        "holds",
        "holds",
        "holds",
        "refuted",
    ]
    assert record.epsilon == pytest.approx(2 * math.log(3), abs=1e-12)
    assert found.verdict == "refuted"
    assert found.epsilon == record.epsilon
    assert sp.audit(spec, claim=1.1, record_claim=2.2).verdict == "holds"
    assert sp.audit(spec, claim=1.1, linked=True)["(record)"].epsilon > 3.2
    mixed = sp.audit(spec, claim={"a": 1.0, "*": 1.1})
    assert [one.verdict for one in mixed.claims] == [
        "refuted",
        "holds",
        "holds",
        "holds",
    ]


def test_delta_of_a_record_is_that_of_the_product():
    """By brute force over all sets of reports of two attributes, of which the rows are
    products.
    """
    rng = np.random.default_rng(8)
    one = rng.dirichlet(np.ones(3), size=2)
    two = rng.dirichlet(np.ones(4), size=3)
    spec = {
        "attributes": {"a": {"matrix": one.tolist()}, "b": {"matrix": two.tolist()}}
    }
    for claim in (0.5, 1.5):
        found = sp.audit(spec, claim=1.0, record_claim=claim)["(record)"]
        expected = brute_delta(np.kron(one, two), claim)
        assert expected <= found.delta <= expected + 1e-12
    apart = sp.audit(spec, claim=1.0, record_claim=0.5, linked=False)["(record)"]
    expected = max(brute_delta(one, 0.5), brute_delta(two, 0.5))
    assert expected <= apart.delta <= expected + 1e-12
    assert sp.audit(spec, claim=1.0)["(record)"].delta == 0  # nothing is claimed


def test_delta_of_a_record_too_large_for_a_product_is_a_bound():
    """Randomised response of 30 attributes: the tail of a binomial distribution is the
    truth.
    """
    epsilon = math.log(3)
    n = 30
    spec = {"attributes": {f"x{i}": {"keep": 0.75, "k": 2} for i in range(n)}}
    for claim in (1.0, 20.0):
        record = sp.audit(spec, claim=1.1, record_claim=claim)["(record)"]
        truth = sum(
            math.comb(n, i)
            * max(
                0.0,
                0.75**i * 0.25 ** (n - i) - math.exp(claim) * 0.25**i * 0.75 ** (n - i),
            )
            for i in range(n + 1)
        )
        assert truth <= record.delta < 1
    assert (
        sp.audit(spec, claim=1.1, record_claim=n * epsilon + 1e-6)["(record)"].delta
        == 0
    )
    silent = {"attributes": {f"x{i}": {"keep": 0.5, "k": 2} for i in range(n)}}
    assert sp.audit(silent, claim=0.0, record_claim=0.0)["(record)"].delta == 0
    excluded = {
        "attributes": {**spec["attributes"], "no": {"k": 3, "p": 1.0, "q": 0.01}}
    }
    record = sp.audit(excluded, claim=1.1, record_claim=40.0)["(record)"]
    assert 0.99 <= record.delta <= 1


def test_saved_audits_are_the_same(tmp_path):
    spec = {
        "attributes": {"a": {"keep": 0.75, "k": 2}, "b": {"k": 3, "p": 1.0, "q": 0.2}}
    }
    table = pa.table({"a": ["0", "1", "1"], "b": ["0", "1", "2"], "c": ["x", "y", "x"]})
    for data in (None, sp.count_pairs(table)):
        found = sp.audit(spec, claim={"a": 1.0, "b": 9.0}, data=data)
        found.save(tmp_path / "audit.json")
        again = sp.Audit.load(tmp_path / "audit.json")
        assert again.claims == found.claims
        assert again.leaks == found.leaks
        assert again.to_dict() == found.to_dict()
        assert repr(again) == repr(found)
        assert again.sentences() == found.sentences()
        with pytest.raises(sp.InputError, match="data must be given for a page"):
            again.report(tmp_path / "page.html")
    no_claims = '{"claims": [], "confidence": 0.9, "seepage": "1"}'
    for content in ("", "[]", "{}", no_claims, "[" * 9999):
        (tmp_path / "damaged.json").write_text(content)
        with pytest.raises(sp.InputError, match="is no saved audit"):
            sp.Audit.load(tmp_path / "damaged.json")
    with pytest.raises(sp.InputError, match="cannot be read"):
        sp.Audit.load(tmp_path / "none.json")


def test_results(tmp_path):
    found = sp.audit({"k": 20, "keep": 0.9}, claim=2.0)
    frame = found.to_pandas()
    assert frame["attribute"].tolist() == ["value"]
    assert frame["verdict"].tolist() == ["refuted"]
    saved = found.to_dict()
    assert saved["claims"][0]["epsilon"] == found.epsilon
    assert saved["verdict"] == "refuted"
    with pytest.raises(sp.InputError, match="data must be given for a page"):
        found.report(tmp_path / "page.html")
    with pytest.raises(sp.InputError, match="name must be one of value, got 'x'"):
        found["x"]


@pytest.mark.parametrize(
    ("randomiser", "options", "line"),
    [
        ([[0.6, 0.5], [0.5, 0.5]], {}, "row 0 sums to 1.1"),
        ({"k": 2, "kept": 0.5}, {}, "did you mean 'keep'?"),
        (
            {"k": 2, "keep": 0.5},
            {"claim": -1},
            "claim must be a finite number of at least 0",
        ),
        ({"k": 2, "keep": 0.5}, {"rounds": 0}, "rounds must be an integer"),
        ({"k": 2, "keep": 0.5}, {"confidence": 0.4}, "confidence must be at least 0.5"),
        ({"k": 2, "keep": 0.5}, {"linkd": True}, "did you mean 'linked'?"),
        (
            {"attributes": {n: {"k": 2, "keep": 1} for n in "ab"}},
            {"attribute": "c"},
            "attribute",
        ),
    ],
)
def test_one_line_for_bad_input(randomiser, options, line):
    with pytest.raises(sp.InputError) as caught:
        sp.audit(randomiser, **{"claim": 1.0, **options})
    assert line in str(caught.value)
