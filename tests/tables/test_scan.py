"""Codes against brute force: every kind of column, any batches, slices, nulls."""

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_oracle import final_codes, labels, read, values

import seepage as sp
from seepage._core.errors import DomainError, InputError, TableError
from seepage.channel.domain import MISSING, Attribute, Domain
from seepage.tables.labels import number_label
from seepage.tables.scan import open_scan
from seepage.tables.table_options import TableOptions

INTEGERS = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint32(),
    pa.uint64(),
]


def column(draw, entries, kind):
    """Return a chunked column: slices of larger arrays, so that offsets are not 0."""
    parts = []
    rest = list(entries)
    while rest:
        size = draw(st.integers(1, len(rest)))
        before = draw(st.integers(0, 9))
        parts.append(pa.array([None] * before + rest[:size], kind)[before:])
        rest = rest[size:]
    return pa.chunked_array(parts, kind)


def expected(entries):
    return [MISSING if entry is None else number_label(entry) for entry in entries]


@st.composite
def integer_columns(draw):
    kind = draw(st.sampled_from(INTEGERS))
    low = np.iinfo(kind.to_pandas_dtype()).min
    high = np.iinfo(kind.to_pandas_dtype()).max
    near = st.integers(max(low, -5), 12)
    far = st.integers(low, high)
    number = draw(
        st.sampled_from([near, far, near | far, near | st.none(), far | st.none()])
    )
    entries = draw(st.lists(number, min_size=1, max_size=40))
    return entries, column(draw, entries, kind)


@given(integer_columns())
def test_integers(drawn):
    entries, data = drawn
    assert labels(pa.table({"x": data})) == {"x": expected(entries)}


@st.composite
def float_columns(draw):
    kind = draw(st.sampled_from([pa.float64(), pa.float32()]))
    width = 64 if kind == pa.float64() else 32
    whole = st.integers(-5, 9).map(float)
    any_ = st.floats(width=width, allow_nan=False) | st.sampled_from([0.5, -0.0, 1e30])
    number = draw(st.sampled_from([whole, any_, whole | st.none(), any_ | st.none()]))
    entries = draw(st.lists(number, min_size=1, max_size=40))
    return (
        entries,
        column(draw, entries, kind),
        np.float64 if width == 64 else np.float32,
    )


def meaning(number):
    """Return the number that a float stands for: its value if whole, else its shortest
    decimal.
    """
    whole = abs(number) < 2**64 and number == np.floor(number)
    return int(number) if whole else float(str(number))


@given(float_columns())
def test_floats(drawn):
    entries, data, kind = drawn
    meant = [None if entry is None else meaning(kind(entry)) for entry in entries]
    assert labels(pa.table({"x": data})) == {"x": expected(meant)}


@st.composite
def boolean_columns(draw):
    entries = draw(
        st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=40)
    )
    return entries, column(draw, entries, pa.bool_())


@given(boolean_columns())
def test_booleans(drawn):
    entries, data = drawn
    words = [MISSING if entry is None else str(entry).lower() for entry in entries]
    assert labels(pa.table({"x": data})) == {"x": words}


@st.composite
def text_columns(draw):
    kind = draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    entries = draw(
        st.lists(
            st.sampled_from(["", "a", "b", "Ä", "1", None]), min_size=1, max_size=40
        )
    )
    data = column(draw, entries, kind)
    return entries, data.dictionary_encode() if draw(st.booleans()) else data


@given(text_columns())
def test_text(drawn):
    entries, data = drawn
    words = [MISSING if entry is None else entry for entry in entries]
    assert labels(pa.table({"x": data})) == {"x": words}
    assert values(pa.table({"x": data}))["x"] == tuple(
        sorted(set(words), key=lambda word: (word == MISSING, word))
    )


@given(
    st.lists(
        st.tuples(*[st.sampled_from([None, 1, 2, 3])] * 3), min_size=1, max_size=30
    )
)
def test_dropping(records):
    complete = [record for record in records if None not in record]
    columns = zip("abc", zip(*records, strict=True), strict=True)
    table = pa.table({name: pa.array(part, pa.int8()) for name, part in columns})
    table = pa.concat_tables([table[: len(records) // 2], table[len(records) // 2 :]])
    if not complete:
        with pytest.raises(TableError, match="no record is left"):
            read(table, missing="drop")
        return
    stream, _ = read(table, missing="drop")
    assert (stream.rows_read, stream.rows_dropped) == (
        len(records),
        len(records) - len(complete),
    )
    found = labels(table, missing="drop")
    assert list(zip(*found.values(), strict=True)) == [
        tuple(map(str, r)) for r in complete
    ]
    for place, name in enumerate("abc"):
        seen = sorted({record[place] for record in complete})
        assert values(table, missing="drop")[name] == tuple(map(str, seen))


@given(
    st.lists(st.none() | st.integers(-40, 40), min_size=1, max_size=60),
    st.lists(
        st.integers(-41, 41) | st.sampled_from([0.5, -7.25]), min_size=1, unique=True
    ),
    st.sampled_from(
        [pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2)]
    ),
)
@settings(max_examples=60)
def test_explicit_bins(entries, inner, kind):
    edges = [-np.inf, *sorted(inner), np.inf]
    table = pa.table({"x": pa.array(entries, kind)})
    domain, (codes,) = final_codes(table, bins={"x": edges})
    truth = [
        domain["x"].size - 1
        if entry is None
        else sum(entry >= edge for edge in edges[1:-1])
        for entry in entries
    ]
    assert codes.tolist() == truth
    assert (MISSING in domain["x"].values) == (None in entries)
    assert domain["x"].edges == tuple(edges)


def test_many_bins_agree_with_a_search():
    numbers = np.random.default_rng(2).normal(size=3000)
    edges = np.linspace(-6, 6, 401)
    _, (codes,) = final_codes(pa.table({"x": numbers}), bins={"x": edges})
    np.testing.assert_array_equal(codes, np.digitize(numbers, edges) - 1)


def test_more_than_255_values_have_two_bytes():
    numbers = np.random.default_rng(3).integers(0, 300, 5000)
    stream, (codes,) = read(pa.table({"x": numbers}), bins="none")
    assert codes.dtype == np.uint16
    assert stream.sizes == (len(np.unique(numbers)),)
    words = pa.array([f"w{number}" for number in numbers])
    assert labels(pa.table({"x": words}))["x"] == words.to_pylist()


@pytest.mark.parametrize("size", [254, 255, 256, 257])
@pytest.mark.parametrize("missing", ["category", "drop"])
def test_around_256_values(size, missing):
    entries = [*range(size), None, 0]
    table = pa.table(
        {"x": pa.chunked_array([entries[: size // 2], entries[size // 2 :]])}
    )
    found = labels(table, bins="none", missing=missing)["x"]
    assert found == [
        label for label in expected(entries) if missing != "drop" or label != MISSING
    ]
    domain = final_codes(table, bins="none", missing=missing)[0]
    assert labels(table, domain=domain, missing=missing)["x"] == found


def test_codes_of_small_integers_are_views():
    array = pa.array(np.random.default_rng(4).integers(0, 5, 10_000).astype(np.int8))
    scan = open_scan(pa.table({"x": pa.chunked_array([array] * 3)}))
    batches = [batch.codes[0] for batch in scan.read(list)]
    memory = np.frombuffer(array.buffers()[1], np.int8)
    assert [np.shares_memory(batch, memory) for batch in batches] == [False, True, True]
    np.testing.assert_array_equal(batches[1], memory)


def test_batches_can_be_used_from_another_thread_after_the_scan_went_on():
    numbers = np.random.default_rng(5).integers(0, 7, 400_000)
    table = pa.table(
        {"x": numbers, "y": (numbers % 2).astype(bool), "z": numbers.astype(np.int8)}
    )
    sums = []
    batches = [batch.codes[2] for batch in open_scan(table).read(list)]
    worker = threading.Thread(
        target=lambda: sums.extend(part.sum(dtype=int) for part in batches)
    )
    worker.start()
    worker.join()
    assert len(batches) > 1
    assert sum(sums) == numbers.sum()


def collecting(runs):
    """Return a consumer that lists the codes of each run of a scan."""

    def consume(batches):
        runs.append([])
        for batch in batches:
            runs[-1].append(batch.codes)
        return runs[-1]

    return consume


def test_a_column_that_exceeds_few_late_is_read_again():
    numbers = np.concatenate([np.zeros(200_000, int), np.arange(100)])
    scan = open_scan(pa.table({"x": numbers, "y": numbers % 2}))
    runs = []
    batches = scan.read(collecting(runs))
    assert len(runs) == 2
    assert runs[0]
    assert batches is runs[1]
    domain, order = scan.finish()
    assert domain["x"].edges
    assert sum(len(codes[0]) for codes in batches) == len(numbers) == scan.rows_read
    assert order[0].tolist() == list(range(domain["x"].size))


def test_a_table_is_read_at_most_twice():
    parts = [np.zeros((10, 3), int) for _ in range(4)]
    table = pa.table(dict(zip("abc", np.concatenate(parts).T, strict=True)))
    for place in range(3):
        late = [np.zeros(60, int), np.zeros(60, int), np.zeros(60, int)]
        late[place] = np.arange(60)
        table = pa.concat_tables([table, pa.table(dict(zip("abc", late, strict=True)))])
    scan = open_scan(table)
    runs = []
    assert sum(len(codes[0]) for codes in scan.read(collecting(runs))) == 220
    assert len(runs) == 2
    assert all(attribute.edges for attribute in scan.finish()[0])


@pytest.mark.parametrize("cuts", [[200], [1, 30, 60], [199]])
def test_few_is_a_property_of_the_whole_column(cuts):
    for distinct in (50, 51):
        entries = [*range(distinct)] * 4
        pieces = zip([0, *cuts], [*cuts, 300], strict=True)
        parts = [pa.array(entries[a:b], pa.int64()) for a, b in pieces]
        domain, _ = final_codes(pa.table({"x": pa.chunked_array(parts)}))
        assert bool(domain["x"].edges) == (distinct > 50)


def test_a_scan_can_be_read_again():
    scan = open_scan(pa.table({"x": ["b", "a"], "y": [1.5, None]}))
    (once,), first = scan.read(list), scan.finish()
    (again,), second = scan.read(list), scan.finish()
    assert first[0] == second[0]
    np.testing.assert_array_equal(once.codes, again.codes)
    assert scan.rows_read == 2


def test_finish_before_the_end_raises():
    scan = open_scan(pa.table({"x": [1]}))
    with pytest.raises(TableError, match="only after all batches"):
        scan.finish()


def test_constant_columns_are_kept():
    domain, _ = final_codes(
        pa.table({"x": [1, 1], "y": [None, None], "z": [True, False]})
    )
    assert domain.sizes == (1, 1, 2)
    assert domain["y"].values == (MISSING,)


def test_too_many_values_raise_with_hints():
    table = pa.table({"id": [f"person {n}" for n in range(1001)], "n": range(1001)})
    with pytest.raises(
        TableError, match=r"column 'id' has more than 1,000 values; drop it"
    ):
        read(table)
    with pytest.raises(
        TableError, match=r"'n' has more than 1,000 values; bin it .*max_values"
    ):
        read(table, bins={"n": "none"}, columns=["n"])
    assert values(table, max_values=1001, columns=["id"])["id"][0] == "person 0"


def test_markers_are_missing_in_text_and_numbers():
    table = pa.table(
        {"word": ["?", "a", "b"], "number": [999, 1, 2], "real": [1.5, 999.0, 2.5]}
    )
    markers = ["?", "999"]
    assert labels(table, missing_markers=markers) == {
        "word": [MISSING, "a", "b"],
        "number": [MISSING, "1", "2"],
        "real": ["1.5", MISSING, "2.5"],
    }
    stream, codes = read(table, missing_markers=markers, missing="drop")
    assert (stream.rows_dropped, len(codes[0])) == (2, 1)
    binned = values(
        table, missing_markers=markers, bins={"number": "width:1", "real": "width:1"}
    )
    assert binned["number"] == ("[1, 2]", MISSING)
    assert binned["real"] == ("[1.5, 2.5]", MISSING)


def test_bins_by_name_and_for_all():
    rng = np.random.default_rng(6)
    table = pa.table(
        {"few": rng.integers(0, 9, 500), "many": rng.integers(0, 900, 500)}
    )
    assert len(values(table, bins="width:4")["few"]) == 9
    assert len(values(table, bins="width:4")["many"]) == 4
    assert values(table, bins={"few": [0, 5, 9]})["few"] == ("[0, 5)", "[5, 9]")
    assert len(values(table, bins={"few": 3, "*": "width:7"})["many"]) == 7
    assert len(values(table, bins={"few": 3, "*": "width:7"})["few"]) == 3
    assert values(table, bins=[0, 450, 900])["many"] == ("[0, 450)", "[450, 900]")
    assert len(values(table, bins={"many": None}, max_values=900)["many"]) == 10


def test_a_constant_or_empty_column_stays_a_category_though_binned_by_name():
    table = pa.table({"x": [5, 5, None], "y": pa.array([None] * 3, pa.float64())})
    found = values(table, bins={"x": 4, "y": "width:3"})
    assert found == {"x": ("5", MISSING), "y": (MISSING,)}


def test_bins_that_do_not_fit_raise():
    table = pa.table(
        {"x": [1, 99, 5], "word": ["a", "b", "c"], "flag": [True, False, True]}
    )
    with pytest.raises(
        DomainError, match=r"record 2: column 'x' is outside .* from 0 to 50; use"
    ):
        read(table, bins={"x": [0, 10, 50]})
    for name in ("word", "flag"):
        with pytest.raises(
            TableError, match=f"column '{name}' must be numeric to be binned"
        ):
            read(table, bins={name: 4})
    endless = pa.table({"x": [*np.arange(60.0), np.inf]})
    with pytest.raises(TableError, match="'x' has infinite numbers; give it bins"):
        read(endless)
    assert values(endless, bins={"x": [-np.inf, 30, np.inf]})["x"] == ("< 30", ">= 30")


DOMAIN = Domain(
    [
        Attribute("word", ("z", "b", "a")),
        Attribute("number", ("10", "2", "0.5", MISSING)),
        Attribute("flag", ("true", "false")),
        Attribute("age", ("young", "old"), (0, 18, 120)),
    ]
)


def record(**changes):
    values = {
        "word": "b",
        "number": 2.0,
        "flag": True,
        "age": 30,
        "other": 1,
        **changes,
    }
    kinds = (pa.string(), pa.float64(), pa.bool_(), pa.int64(), pa.int8())
    schema = pa.schema(zip(values, kinds, strict=True))
    return pa.table({name: [value] for name, value in values.items()}, schema=schema)


def test_coding_into_a_given_domain():
    table = pa.concat_tables(
        [record(), record(word="z", number=0.5), record(number=None, flag=False, age=7)]
    )
    stream, codes = read(table.select([*reversed(table.column_names)]), domain=DOMAIN)
    assert [part.tolist() for part in codes] == [
        [1, 0, 1],
        [1, 2, 3],
        [0, 0, 1],
        [1, 1, 0],
    ]
    assert stream.sizes == DOMAIN.sizes
    assert stream.finish()[0] == DOMAIN
    assert [order.tolist() for order in stream.finish()[1]] == [
        list(range(n)) for n in (3, 4, 2, 2)
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"word": "secret"}, "record 3: column 'word' has a value outside the domain$"),
        (
            {"word": None},
            "record 3: column 'word' is missing, and the domain has no category",
        ),
        ({"number": 7.25}, "record 3: column 'number' has a value outside the domain$"),
        ({"flag": None}, "record 3: column 'flag' is missing"),
        (
            {"age": 121},
            "record 3: column 'age' is outside its bins, which reach from 0 to 120;",
        ),
        ({"age": None}, "record 3: column 'age' is missing"),
    ],
)
def test_a_value_outside_a_given_domain_raises_and_is_not_shown(changes, message):
    table = pa.concat_tables([record(), record(), record(**changes), record(**changes)])
    with pytest.raises(DomainError, match=message):
        read(table, domain=DOMAIN)


def test_missing_values_outside_a_given_domain_can_be_dropped():
    table = pa.concat_tables(
        [record(), record(word=None), record(age=None), record(number=None)]
    )
    stream, codes = read(table, domain=DOMAIN, missing="drop")
    assert stream.rows_dropped == 3
    assert [part.tolist() for part in codes] == [[1], [1], [0], [1]]
    assert stream.finish()[0] == DOMAIN


def test_dropping_beside_bins():
    first = pa.table({"x": [*range(100)], "y": ["a"] * 100})
    later = pa.table({"x": [None, 5, 6], "y": ["b", "b", None]}, schema=first.schema)
    stream, codes = read(pa.concat_tables([first, later]), missing="drop")
    domain = stream.finish()[0]
    assert (stream.rows_dropped, len(codes[0])) == (2, 101)
    assert MISSING not in domain["x"].values
    assert domain["y"].values == ("a", "b")
    domain = read(pa.concat_tables([first, later[2:]]), missing="drop")[0].finish()[0]
    assert domain["y"].values == ("a",)


def test_a_bin_order_with_missing_in_front():
    domain = Domain([Attribute("x", (MISSING, "low", "high"), (0, 5, 9))])
    table = pa.table({"x": [1, None, 7]})
    assert labels(table, domain=domain)["x"] == ["low", MISSING, "high"]


def test_shards_with_a_common_domain_have_the_codes_of_the_whole():
    rng = np.random.default_rng(9)
    table = pa.table(
        {
            "x": rng.integers(0, 500, 900),
            "w": pa.array([f"w{n}" for n in rng.integers(0, 9, 900)]),
        }
    )
    domain, whole = final_codes(table)
    parts = [
        final_codes(table[begin : begin + 300], domain=domain)[1]
        for begin in (0, 300, 600)
    ]
    for place, codes in enumerate(whole):
        np.testing.assert_array_equal(
            np.concatenate([part[place] for part in parts]), codes
        )


def test_options_that_contradict():
    with pytest.raises(InputError, match="bins and domain exclude each other"):
        TableOptions(domain=DOMAIN, bins=4)
    with pytest.raises(TableError, match="domain: there is no column 'age'"):
        read(record(), domain=DOMAIN, drop=["age"])


@pytest.mark.parametrize(
    ("values", "column"), [(("true",), [None, False]), (("1",), [None, 0])]
)
def test_the_record_outside_a_domain_is_named_behind_missing_ones(values, column):
    domain = Domain([Attribute("b", (*values, MISSING)), Attribute("c", ("x",))])
    with pytest.raises(
        DomainError, match="record 2: column 'b' has a value outside the domain"
    ):
        sp.count_pairs(pa.table({"b": column, "c": ["x", "x"]}), domain=domain)
