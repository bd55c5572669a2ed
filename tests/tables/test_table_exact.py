"""Numbers that floats cannot tell apart: labels in every type, and bins that hold
them.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_oracle import final_codes, labels, read, values

from seepage._core.errors import TableError
from seepage.channel.domain import MISSING, Attribute, Domain
from seepage.tables.column import key_label
from seepage.tables.labels import field_key

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
RULES = ["quantile:10", "quantile:2", "width:7", "width:1"]


def labels_in_all_types(number):
    """Return the labels of a number in each type that holds it exactly, by type."""
    found = {"field": key_label(field_key(f"{number:f}"))}
    kinds = {"decimal128": pa.decimal128(38, 12), "decimal256": pa.decimal256(70, 20)}
    if number == int(number):
        kinds |= {name: getattr(pa, name)() for name in INTEGERS}
        kinds |= {
            "decimal": pa.decimal128(20, 0),
            "float64": pa.float64(),
            "float32": pa.float32(),
        }
    elif Decimal(repr(float(number))) == number:
        kinds["float64"] = pa.float64()
    for name, kind in kinds.items():
        try:
            array = pa.array([number], kind)
        except (pa.ArrowInvalid, OverflowError, TypeError):
            array = holding(number, kind)
        if array is not None:
            found[name] = labels(pa.table({"x": array}))["x"][0]
    return found


def holding(number, kind):
    """Return the number as an integer or float of Arrow, None where that is not
    exact.
    """
    if pa.types.is_decimal(kind):
        return None
    type_ = kind.to_pandas_dtype()
    if pa.types.is_floating(kind):
        fits = pa.types.is_float64(kind) or Fraction(float(type_(number))) == Fraction(
            number
        )
        exact = float(number) == number or number != int(number)
        return pa.array([type_(number)], kind) if fits and exact else None
    limits = np.iinfo(type_)
    return pa.array([int(number)], kind) if limits.min <= number <= limits.max else None


whole = (
    st.integers(-200, 300)
    | st.integers(-(2**63), 2**64 - 1)
    | st.integers(0, 63).map(lambda power: 2**power)
).map(Decimal)
fractions = st.decimals(-(10**5), 10**5, places=10) | st.decimals(
    12345678901234567, 12345678901234568, places=2
)


@given(st.lists(whole | fractions, min_size=1, max_size=4, unique=True))
@settings(max_examples=60)
def test_equal_numbers_have_one_label_in_every_type_and_others_have_another(numbers):
    found = [labels_in_all_types(number) for number in numbers]
    for number, by_type in zip(numbers, found, strict=True):
        assert set(by_type.values()) == {by_type["field"]}, by_type
        assert Decimal(by_type["field"]) == number
        assert by_type.keys() >= {"decimal128", "decimal256"}
    assert len({by_type["field"] for by_type in found}) == len(numbers)


@pytest.mark.parametrize("number", [0, -128, 255, 2**24, 2**40, 2**60, 2**63])
def test_the_types_that_hold_a_number_are_all_tried(number):
    found = labels_in_all_types(Decimal(number))
    assert set(found.values()) == {str(number)}
    assert found.keys() >= {
        "float32",
        "float64",
        "decimal",
        "uint64" if number >= 0 else "int64",
    }


def test_decimals_that_are_equal_as_floats_stay_distinct():
    numbers = [
        Decimal("12345678901234567.01"),
        Decimal("12345678901234567.02"),
        None,
        Decimal(3),
    ]
    expected = ["12345678901234567.01", "12345678901234567.02", MISSING, "3"]
    for kind in (pa.decimal128(38, 2), pa.decimal256(60, 4)):
        table = pa.table({"x": pa.array(numbers, kind)})
        assert labels(table)["x"] == expected
        assert values(table)["x"] == ("3", *expected[:3])
        assert labels(table, missing_markers=[expected[0]])["x"] == [
            MISSING,
            *expected[1:],
        ]
        assert labels(table, missing="drop")["x"] == [*expected[:2], "3"]
        domain = Domain([Attribute("x", (*expected,))])
        assert labels(table, domain=domain)["x"] == expected


@pytest.mark.parametrize(
    "kind", [pa.decimal32(7, 2), pa.decimal64(16, 2), pa.decimal128(9, -2)]
)
def test_decimals_of_every_width(kind):
    table = pa.table({"x": pa.array([Decimal("300"), None, Decimal("1E+3")], kind)})
    assert labels(table)["x"] == ["300", MISSING, "1000"]
    assert values(table, bins={"x": "width:2"})["x"] == (
        "[300, 650)",
        "[650, 1000]",
        MISSING,
    )


def engines(numbers, folder):
    """Return the same large integers as Arrow has them, as Spark hands them on, and as
    CSV.
    """
    unsigned = pa.array(numbers, pa.uint64())
    pd.DataFrame({"x": numbers}).to_csv(folder / "numbers.csv", index=False)
    return [
        pa.table({"x": unsigned}),
        pa.table({"x": pa.array(map(Decimal, numbers), pa.decimal128(20, 0))}),
        folder / "numbers.csv",
    ]


def test_unsigned_integers_are_the_same_from_every_engine(tmp_path):
    numbers = [2**64 - 1 - step for step in range(500)]
    for table in engines(numbers, tmp_path):
        assert labels(table)["x"] == [str(number) for number in numbers]


@given(
    st.lists(
        st.floats(-(2.0**100), 2.0**100, width=32), min_size=3, max_size=40, unique=True
    ),
    st.sampled_from(RULES),
)
def test_found_edges_hold_all_single_floats(numbers, rule):
    table = pa.table({"x": pa.array(numbers, pa.float32())})
    domain, (codes,) = final_codes(table, bins={"x": rule})
    if domain["x"].edges:
        edges = np.array(domain["x"].edges)
        truth = (
            np.array(numbers, np.float32)[:, None] >= edges[1:-1].astype(np.float32)
        ).sum(1)
        assert codes.tolist() == truth.tolist()


@given(
    st.lists(
        st.decimals(-(10**11), 10**11, places=3), min_size=3, max_size=40, unique=True
    ),
    st.sampled_from(RULES),
)
def test_found_edges_hold_all_decimals(numbers, rule):
    table = pa.table({"x": pa.array(numbers, pa.decimal128(38, 3))})
    domain, (codes,) = final_codes(table, bins={"x": rule})
    if domain["x"].edges:
        inner = domain["x"].edges[1:-1]
        assert codes.tolist() == [
            sum(float(n) >= edge for edge in inner) for n in numbers
        ]
    else:
        assert len(domain["x"].values) == len(numbers)


def test_decimals_are_binned_as_the_nearest_floats():
    numbers = [Decimal(cents).scaleb(-2) for cents in range(1000)]
    exact, (codes,) = final_codes(
        pa.table({"x": pa.array(numbers, pa.decimal128(9, 2))})
    )
    floats, (same,) = final_codes(
        pa.table({"x": pa.array([float(n) for n in numbers])})
    )
    assert exact == floats
    np.testing.assert_array_equal(codes, same)


def test_integers_that_no_float_equals_are_categories(tmp_path):
    numbers = [2**60 + step for step in range(1, 100)]
    for table in engines(numbers, tmp_path):
        assert values(table)["x"] == tuple(
            map(str, sorted(numbers, key=lambda n: (n % 256, n)))
        )
        found = labels(table, missing_markers=[str(numbers[5])])["x"]
        assert [place for place, label in enumerate(found) if label == MISSING] == [5]
        with pytest.raises(TableError, match=r"record 1: column 'x' must be a number"):
            read(table, bins={"x": 4})


def test_too_many_integers_that_no_float_equals_raise(tmp_path):
    numbers = [2**63 + 1 + step for step in range(1500)]
    message = r"'x' has more than 1,000 values; drop it"
    for table in engines(numbers, tmp_path):
        with pytest.raises(TableError, match=message):
            read(table)
        assert len(values(table, max_values=1500)["x"]) == 1500


def test_a_rare_number_beyond_the_sample_has_a_bin_of_its_own(monkeypatch):
    monkeypatch.setattr("seepage.tables.number_summary.SAMPLE_SIZE", 20)
    monkeypatch.setattr("seepage.tables.number_summary.MAX_COUNTED", 20)
    numbers = np.zeros(2000)
    numbers[:60] = np.arange(60) * 1.5 + 1e6
    found = values(pa.table({"x": numbers}), bins="quantile:4")["x"]
    assert len(found) == 4


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "+05:45"])
def test_timestamps_with_a_zone_are_labelled_in_utc(unit, zone):
    stamps = ["1969-12-31T23:00:00", "2021-03-28T01:00:00", "2021-10-31T00:30:00", None]
    moments = pd.to_datetime(stamps, utc=True)
    array = (
        pa.array(moments).cast(pa.timestamp(unit, "UTC")).cast(pa.timestamp(unit, zone))
    )
    expected = [MISSING if stamp is None else f"{stamp}+00:00" for stamp in stamps]
    assert labels(pa.table({"x": array}))["x"] == expected
    assert labels(pa.table({"x": array.dictionary_encode()}))["x"] == expected
    fields = [
        None if moment is pd.NaT else str(moment.tz_convert(zone)) for moment in moments
    ]
    assert [key_label(field_key(field)) for field in fields] == expected


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.int8()])
def test_many_edges_and_integers_up_to_2_to_the_53(kind):
    far = (
        [0]
        if kind == pa.int8()
        else [2**52, 2**52 + 1, 2**52 + 600, 2**52 + 1024, 2**53]
    )
    low = [] if kind == pa.uint64() else [-9, -1]
    edges = [
        -1e300,
        *range(-10, 120),
        2.0**52,
        2.0**52 + 1024,
        2.0**52 + 2048,
        1e19,
        1e300,
    ]
    table = pa.table({"x": pa.array([*low, 3, *far], kind)})
    found = labels(table, bins={"x": edges})["x"]
    for number, label in zip(table["x"].to_pylist(), found, strict=True):
        begin, end = (int(float(part)) for part in label.strip("[])").split(", "))
        assert begin <= number < end
