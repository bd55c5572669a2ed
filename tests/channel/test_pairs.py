"""`PairCounts`: exact, immutable, mergeable."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core.errors import DomainError, InputError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts, pair_offsets

SEX = Attribute("sex", ("F", "M"))
SMOKER = Attribute("smoker", ("no", "yes"))
TOWN = Attribute("town", ("a", "b", "c"))


def counted(rows, *attributes):
    """Count records given as tuples of codes, by brute force."""
    domain = Domain(attributes)
    marginals = [[0] * a.size for a in attributes]
    tables = {
        (a, b): np.zeros((attributes[a].size, attributes[b].size), int)
        for a, b in combinations(range(len(attributes)), 2)
    }
    for row in rows:
        for place, code in enumerate(row):
            marginals[place][code] += 1
        for a, b in tables:
            tables[a, b][row[a], row[b]] += 1
    flat = [cell for table in tables.values() for cell in table.reshape(-1).tolist()]
    return PairCounts(domain, marginals, flat)


ROWS = [(0, 0, 0), (0, 1, 2), (1, 0, 0), (1, 0, 2), (0, 0, 0), (1, 1, 2), (1, 0, 0)]
records = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), max_size=30
)


@pytest.fixture
def pairs():
    return counted(ROWS, SEX, SMOKER, TOWN)


def test_offsets_follow_the_pairs():
    assert pair_offsets((2, 3, 4)).tolist() == [0, 6, 14, 26]
    assert pair_offsets((5,)).tolist() == [0]


def test_tables_both_ways_and_with_itself(pairs):
    assert pairs.records == 7
    assert pairs.table("sex", "town").tolist() == [[2, 0, 1], [2, 0, 2]]
    assert pairs.table("town", "sex").tolist() == [[2, 2], [0, 0], [1, 2]]
    assert pairs.table(1, 2).tolist() == [[4, 0, 1], [0, 0, 2]]
    assert pairs.table("town", "town").tolist() == [[4, 0, 0], [0, 0, 0], [0, 0, 3]]
    assert pairs.marginal("smoker").tolist() == [5, 2]


def test_channel_is_the_conditional_distribution(pairs):
    channel = pairs.channel("smoker", "sex")
    expected = [[Fraction(2, 5), Fraction(3, 5)], [Fraction(1, 2), Fraction(1, 2)]]
    assert channel.matrix.tolist() == [
        [float(cell) for cell in row] for row in expected
    ]
    assert channel.given == SMOKER
    assert channel.output == SEX


def test_values_never_seen_have_no_row_but_a_column(pairs):
    assert pairs.unseen("town") == ("b",)
    channel = pairs.channel("town", "sex")
    assert channel.given.values == ("a", "c")
    assert channel.unseen == ("b",)
    assert channel.matrix.tolist() == [[0.5, 0.5], [1 / 3, 2 / 3]]
    other_way = pairs.channel("sex", "town")
    assert other_way.shape == (2, 3)
    assert other_way.matrix[:, 1].tolist() == [0.0, 0.0]
    assert other_way.unseen == ()


def test_prior_is_added_to_every_cell_of_seen_rows(pairs):
    channel = pairs.channel("town", "sex", prior=0.5)
    assert channel.given.values == ("a", "c")
    assert channel.matrix.tolist() == [[0.5, 0.5], [1.5 / 4, 2.5 / 4]]


def test_min_count_raises_rare_cells(pairs):
    channel = pairs.channel("smoker", "town", min_count=2)
    assert channel.matrix.tolist() == [[4 / 8, 2 / 8, 2 / 8], [2 / 6, 2 / 6, 2 / 6]]
    untouched = pairs.channel("smoker", "town", min_count=0)
    assert untouched.matrix.tolist() == [[4 / 5, 0, 1 / 5], [0, 0, 1]]


def test_min_count_and_prior_together(pairs):
    channel = pairs.channel("smoker", "town", min_count=1, prior=1)
    assert channel.matrix.tolist() == [[5 / 9, 2 / 9, 2 / 9], [2 / 7, 2 / 7, 3 / 7]]


def test_one_pseudo_count_and_cells_below_three_dropped_is_the_authors_estimator():
    domain = Domain([Attribute("a", ("x", "y", "z")), Attribute("b", ("0", "1"))])
    table = np.array([[50, 1], [2, 7], [1, 0]])
    pairs = PairCounts(domain, [table.sum(axis=1), table.sum(axis=0)], table.ravel())
    channel = pairs.channel("a", "b", prior=1, truncate=3)
    assert channel.matrix.tolist() == [[1.0, 0.0], [3 / 11, 8 / 11]]
    assert channel.unseen == ("z",)
    back = pairs.channel("b", "a", prior=1, truncate=3)
    assert back.matrix.tolist() == [[51 / 54, 3 / 54, 0.0], [0.0, 1.0, 0.0]]
    with pytest.raises(DomainError, match="none of 100 or more"):
        pairs.channel("a", "b", truncate=100)


@pytest.mark.parametrize("option", ["min_count", "prior", "truncate"])
@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "2", True, None])
def test_min_count_and_prior_must_be_finite_and_not_negative(pairs, option, value):
    with pytest.raises(InputError, match=option):
        pairs.channel("sex", "smoker", **{option: value})


def test_no_channel_without_records():
    empty = counted([], SEX, SMOKER)
    assert empty.records == 0
    with pytest.raises(DomainError, match="these counts have none"):
        empty.channel("sex", "smoker")


@given(first=records, second=records)
def test_merging_shards_equals_counting_at_once(first, second):
    attributes = (SEX, SMOKER, TOWN)
    merged = counted(first, *attributes) + counted(second, *attributes)
    assert merged == counted(first + second, *attributes)
    assert merged.records == len(first) + len(second)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            (SEX, TOWN, SMOKER),
            r"attributes sex, smoker, town against sex, town, smoker",
        ),
        (
            (SEX, SMOKER, Attribute("town", ("a", "b", "d"))),
            r"'town': only one has 'c'",
        ),
        (
            (SEX, SMOKER, Attribute("town", ("b", "a", "c"))),
            r"'town': .* another order",
        ),
        (
            (SEX, SMOKER, Attribute("town", ("a", "b", "c"), (0, 1, 2, 3))),
            r"'town': bin edges",
        ),
    ],
)
def test_counts_of_different_domains_do_not_merge(pairs, other, message):
    with pytest.raises(DomainError, match=r"cannot be merged: .*" + message):
        pairs + counted([], *other)


def test_only_counts_are_merged(pairs):
    with pytest.raises(TypeError):
        pairs + 1


def test_merged_counts_must_fit_64_bits():
    half = 2**62
    large = PairCounts(Domain([SEX]), [[half, 0]], [])
    assert (large + PairCounts(Domain([SEX]), [[half - 1, 0]], [])).records == 2**63 - 1
    with pytest.raises(DomainError, match="exceed 64 bits"):
        large + large


def test_counts_are_read_only(pairs):
    for array in (pairs.counts, pairs.marginal("sex"), pairs.table("sex", "town")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        pairs.table("town", "sex")[0, 0] = 1


def test_counts_do_not_share_the_arrays_they_were_made_from():
    marginal = np.array([3, 4])
    counts = np.array([1, 2, 3, 1])
    pairs = PairCounts(Domain([SEX, SMOKER]), [marginal, [4, 3]], counts)
    marginal[0] = counts[0] = 99
    assert pairs.counts.tolist() == [1, 2, 3, 1]
    assert pairs.marginal(0).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("marginals", "counts", "message"),
    [
        ([[1, 1]], [1, 0, 0, 1], "one marginal count for each"),
        ([[1, 1, 0], [1, 1]], [1, 0, 0, 1], "one marginal count for each"),
        ([[1, 1], [1, 1]], [1, 0, 1], "4 pair cells, got 3"),
        ([[1, 1], [2, 1]], [1, 0, 0, 1], "same number of records, got 2, 3"),
        (
            [[1, 1], [1, 1]],
            [2, 0, 0, 0],
            "'sex' and 'smoker' must sum to their marginals",
        ),
        ([[1, 1], [1, 1]], [2, -1, -1, 2], "at least 0"),
        ([[1, 1], [1, 1]], [1.0, 0.0, 0.0, 1.0], "integers"),
        ([[1, 1], [1, 1]], [[1, 0], [0, 1]], "one-dimensional"),
        ([np.array([2**64 - 1, 1], np.uint64), [1, 1]], [1, 0, 0, 1], "fit 64 bits"),
    ],
)
def test_counts_that_do_not_fit_raise(marginals, counts, message):
    with pytest.raises(DomainError, match=message):
        PairCounts(Domain([SEX, SMOKER]), marginals, counts)


def test_select_and_rename(pairs):
    chosen = pairs.select(["town", "sex"])
    assert chosen == counted([(town, sex) for sex, _, town in ROWS], TOWN, SEX)
    assert chosen.rename({"town": "city"}).domain.names == ("city", "sex")
    assert pairs.select(["sex"]).counts.tolist() == []
    with pytest.raises(
        DomainError, match=r"no attribute 'twon'; did you mean 'town'\?"
    ):
        pairs.select(["twon"])


def test_digests_of_other_counts_and_domains_differ(pairs):
    again = counted(ROWS, SEX, SMOKER, TOWN)
    assert again.digest == pairs.digest
    assert hash(again) == hash(pairs)
    others = [
        counted(ROWS[:-1], SEX, SMOKER, TOWN),
        pairs.rename({"sex": "gender"}),
        counted(ROWS, SEX, SMOKER, Attribute("town", ("a", "b", "d"))),
        counted(ROWS, SEX, SMOKER, Attribute("town", ("a", "b", "c"), (0, 1, 2, 3))),
    ]
    assert len({pairs.digest, *(other.digest for other in others)}) == 5
    assert all(pairs != other for other in others)


def test_digest_is_the_same_on_every_machine():
    pairs = PairCounts(Domain([SEX, SMOKER]), [[5, 5], [7, 3]], [4, 1, 3, 2])
    assert (
        pairs.digest
        == "052361b0b5214c70a2b44a5606655387f3354a78439ce386af38ea6ca82b730e"
    )


def test_repr_tells_the_size(pairs):
    assert repr(pairs) == "PairCounts(7 records, 3 attributes)"


def test_records_must_fit_64_bits() -> None:
    with pytest.raises(DomainError, match="records must fit 64 bits"):
        PairCounts(Domain([SEX]), [[2**63 - 1, 1]], [])


def test_a_sample_stays_one(pairs):
    sample = PairCounts(pairs.domain, pairs.marginals, pairs.counts, population=90)
    assert pairs.population is None
    assert sample != pairs
    assert sample.digest != pairs.digest
    assert hash(sample) != hash(pairs)
    assert sample == PairCounts(
        pairs.domain, pairs.marginals, pairs.counts, population=90
    )
    assert repr(sample) == "PairCounts(sample of 7 of 90 records, 3 attributes)"
    assert sample.select(["town", "sex"]).population == 90
    assert sample.rename({"town": "city"}).population == 90


def test_with_a_sample_the_sum_is_a_sample(pairs):
    sample = PairCounts(pairs.domain, pairs.marginals, pairs.counts, population=90)
    assert (pairs + pairs).population is None
    assert (sample + pairs).population == (pairs + sample).population == 97
    assert (sample + sample).population == 180
    assert (sample + pairs).records == 14


def test_digests_of_whole_tables_are_as_they_were(pairs):
    """The digest is in plans and saved results: it must not change from version to
    version.
    """
    assert (
        pairs.digest
        == "ca7aa1c524f3394a4718bfa4a04aed480018cc84d284d091c9d297dd9374f8cd"
    )


@pytest.mark.parametrize("population", [6, 7.5, True, "90"])
def test_sampling_from_no_records_raises(pairs, population):
    with pytest.raises(InputError, match="population must be an integer of at least 7"):
        PairCounts(pairs.domain, pairs.marginals, pairs.counts, population=population)
