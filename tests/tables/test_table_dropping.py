"""Records that are dropped for a missing value are not looked at any further."""

import numpy as np
import pyarrow as pa
import pytest
from table_oracle import final_codes, labels, read

from seepage._core.errors import DomainError
from seepage.channel.domain import MISSING, Attribute, Domain

N = 300


def table(seed=0):
    """Words, integers, truths and fractions, with values that only dropped records
    have.
    """
    draw = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in draw.integers(0, 5, N)], dtype=object)
    small = draw.integers(0, 3, N)
    wide = draw.normal(size=N)
    truth = np.zeros(N, dtype=bool)
    gone = np.zeros(N, dtype=bool)
    words[7], small[90], truth[120], gone[[7, 90, 120]] = "rare", 200, True, True
    return pa.table(
        {
            "word": words,
            "small": pa.array(small, pa.int16()),
            "truth": truth,
            "wide": wide,
            "gone": pa.array(np.ones(N), mask=gone),
        }
    )


def test_a_table_can_be_read_in_the_domain_that_it_has():
    found, codes = final_codes(table(), missing="drop")
    assert "rare" not in found["word"].values
    assert found["truth"].values == ("false",)
    again, same = final_codes(table(), missing="drop", domain=found)
    assert again == found
    for mine, theirs in zip(same, codes, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("size", [2, 253, 254, 255, 256, 257])
@pytest.mark.parametrize("with_missing", [False, True])
def test_codes_have_room_for_what_is_outside(size, with_missing):
    values = tuple(str(number) for number in range(size - with_missing))
    domain = Domain(
        [Attribute("n", (*values, *[MISSING] * with_missing)), Attribute("m", ("1",))]
    )
    inside = list(range(len(values)))
    numbers = pa.table(
        {"n": [-5, *inside, 70_000], "m": [None, *[1] * len(inside), None]}
    )
    assert labels(numbers, domain=domain, missing="drop")["n"] == list(values)
    words = numbers.set_column(0, "n", numbers["n"].cast(pa.string()))
    assert labels(words, domain=domain, missing="drop")["n"] == list(values)


@pytest.mark.parametrize("bins", [3, 101, 120, 253, 254, 255])
def test_bins_have_room_for_what_is_outside(bins):
    edges = [float(edge) for edge in range(bins + 1)]
    numbers = pa.table({"x": [-1.0, *range(bins), 1e9], "m": [None, *[1] * bins, None]})
    _, (codes, _) = final_codes(numbers, bins={"x": edges}, missing="drop")
    assert codes.tolist() == list(range(bins))
    with pytest.raises(DomainError, match=r"^record 1: column 'x' is outside its bins"):
        read(numbers, bins={"x": edges})


def test_a_value_outside_the_domain_is_reported_by_its_record_number():
    domain = Domain([Attribute("a", ("x",)), Attribute("b", ("1",), ())])
    outside = pa.table({"a": ["y", "x", "y"], "b": [None, 1, 1]})
    with pytest.raises(
        DomainError, match=r"^record 3: column 'a' has a value outside the domain$"
    ):
        read(outside, domain=domain, missing="drop")
    with pytest.raises(DomainError, match=r"^record 1: column 'a' has a value outside"):
        read(outside, domain=domain)
    numbers = pa.table({"a": [-1, 5, 99], "b": [None, 1, 1]})
    bins = Domain([Attribute("a", ("low", "high"), (0, 1, 10)), domain["b"]])
    for options in ({"bins": {"a": [0, 1, 10]}}, {"domain": bins}):
        with pytest.raises(
            DomainError, match=r"^record 3: column 'a' is outside its bins"
        ):
            read(numbers, **options, missing="drop")
