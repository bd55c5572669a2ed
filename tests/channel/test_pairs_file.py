"""Files of pair counts: complete, readable by others, and strictly checked."""

import json

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bincount_oracle import count_codes
from seepage._core.errors import InputError, TableError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.pairs_file import DIGEST_KEY, _digest
from seepage.tables.read import is_pairs_file

DOMAIN = Domain(
    [
        Attribute("sex", ("F", "M")),
        Attribute(
            "age", ("[0, 18)", "[18, 65)", "[65, inf]"), (0.0, 18.0, 65.0, np.inf)
        ),
        Attribute(
            "answer", ("M", "yes", "never chosen", 'a "quoted", ünïcode\n value')
        ),
        Attribute("constant", ("only",)),
    ]
)


@pytest.fixture
def pairs():
    generator = np.random.default_rng(6)
    codes = [generator.integers(0, size, 500) for size in DOMAIN.sizes]
    codes[2][codes[2] == 2] = 3
    return count_codes(codes, DOMAIN)


@pytest.fixture
def saved(pairs, tmp_path):
    path = tmp_path / "counts.parquet"
    pairs.save(path)
    return path


def test_saving_and_loading(pairs, saved):
    loaded = PairCounts.load(saved)
    assert loaded == pairs
    assert loaded.digest == pairs.digest
    assert loaded.unseen("answer") == ("never chosen",)
    assert loaded.domain["age"].edges == (0.0, 18.0, 65.0, np.inf)


texts = st.text(st.characters(codec="utf-8"), max_size=5)


@st.composite
def some_pairs(draw):
    names = draw(st.lists(texts.filter(bool), min_size=1, max_size=4, unique=True))
    values = [draw(st.lists(texts, min_size=1, max_size=4, unique=True)) for _ in names]
    domain = Domain(Attribute(n, tuple(v)) for n, v in zip(names, values, strict=True))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.integers(0, 12))
    return count_codes(
        [generator.integers(0, size, rows) for size in domain.sizes], domain
    )


@settings(max_examples=60, deadline=None)
@given(pairs=some_pairs())
def test_any_counts_survive(pairs, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "counts"
    pairs.save(path)
    assert PairCounts.load(path) == pairs


def test_duckdb_reads_it_without_us(pairs, saved):
    found = duckdb.sql(
        f"""select value_a, value_b, count from '{saved}'
        where attribute_a = 'sex' and attribute_b = 'age' order by all"""
    ).fetchall()
    table = pairs.table("sex", "age")
    expected = [
        (sex, age, int(table[i, j]))
        for i, sex in enumerate(DOMAIN["sex"].values)
        for j, age in enumerate(DOMAIN["age"].values)
    ]
    assert found == sorted(expected)
    records = (
        f"select distinct sum(count) from '{saved}' group by attribute_a, attribute_b"
    )
    assert duckdb.sql(records).fetchall() == [(500,)]


def test_pandas_reads_it_without_us(pairs, saved):
    frame = pd.read_parquet(saved)
    assert list(frame.columns) == [
        "attribute_a",
        "attribute_b",
        "value_a",
        "value_b",
        "count",
        "cell",
    ]
    assert frame["count"].dtype == np.int64
    assert (frame["count"] > 0).all()
    alone = frame[frame.attribute_a.astype(str) == frame.attribute_b.astype(str)]
    assert (alone.value_a.astype(str) == alone.value_b.astype(str)).all()
    of_sex = alone[alone.attribute_a == "sex"].set_index("value_a")["count"]
    assert of_sex[["F", "M"]].tolist() == pairs.marginal("sex").tolist()


def test_header_is_plain_json(saved):
    header = json.loads(pq.read_schema(saved).metadata[b"seepage"])
    assert (header["format"], header["version"]) == ("seepage pair counts", 1)
    assert header["attributes"][0] == {"name": "sex", "values": ["F", "M"], "edges": []}
    assert header["attributes"][1]["edges"] == [0.0, 18.0, 65.0, "inf"]


def test_large_counts_are_exact(tmp_path):
    huge = 2**62 + 1
    pairs = PairCounts(
        DOMAIN.select(["sex", "constant"]), [[huge, 3], [huge + 3]], [huge, 3]
    )
    pairs.save(tmp_path / "huge")
    assert PairCounts.load(tmp_path / "huge") == pairs


def test_many_values_stay_small(tmp_path):
    generator = np.random.default_rng(1)
    domain = Domain(
        Attribute(f"a{i}", tuple(f"value {v}" for v in range(400))) for i in range(5)
    )
    pairs = count_codes([generator.integers(0, 400, 20_000) for _ in range(5)], domain)
    pairs.save(tmp_path / "many")
    assert PairCounts.load(tmp_path / "many") == pairs
    assert (tmp_path / "many").stat().st_size < 1_000_000


# Writing ------------------------------------------------------------------------------


def test_an_existing_file_is_replaced_and_nothing_is_left_beside_it(pairs, saved):
    half = count_codes([[0], [0], [0], [0]], DOMAIN)
    half.save(str(saved))
    assert PairCounts.load(saved) == half
    assert list(saved.parent.iterdir()) == [saved]


def test_a_failed_write_leaves_the_old_file(pairs, saved, monkeypatch):
    before = saved.read_bytes()

    def fails(table, file, **options):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", fails)
    with pytest.raises(
        InputError, match=r"cannot write '.*counts.parquet': No space left"
    ):
        pairs.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


# Refusals -----------------------------------------------------------------------------


def rewrite(path, change=lambda table: table, header=None):
    """Change the table of a file, or its header, and sign it as if it were ours."""
    table = change(pq.read_table(path))
    metadata = dict(table.schema.metadata)
    if header is not None:
        content = json.loads(metadata[b"seepage"])
        header(content)
        metadata[b"seepage"] = json.dumps(content).encode()
    if "cell" in table.column_names:
        parts = (table[name].to_numpy() for name in ("cell", "count"))
        metadata[DIGEST_KEY] = _digest(metadata[b"seepage"], *parts)
    pq.write_table(table.replace_schema_metadata(metadata), path)


def load_error(path):
    """Return the one-line error message of loading a file."""
    with pytest.raises(TableError) as caught:
        PairCounts.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_missing_file_and_folder(tmp_path):
    assert "there is no file" in load_error(tmp_path / "nothing")
    assert "there is no file" in load_error(tmp_path)


def test_no_parquet_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b\n1,2\n")
    assert "is not a Parquet file" in load_error(path)
    path.write_bytes(b"")
    assert "is not a Parquet file" in load_error(path)


def test_another_parquet_file(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    assert "not of pair counts; if it is a table, count it first" in load_error(path)


@pytest.mark.parametrize("kept", [4, 100, -1, -200])
def test_truncated_file(saved, kept):
    saved.write_bytes(saved.read_bytes()[:kept])
    assert "truncated or damaged" in load_error(saved)


def test_a_damaged_column_name(saved):
    saved.write_bytes(saved.read_bytes().replace(b"value_a", b"\xffalue_a"))
    assert "truncated or damaged" in load_error(saved)


def test_damaged_pages(saved):
    content = bytearray(saved.read_bytes())
    at = pq.ParquetFile(saved).metadata.row_group(0).column(4).data_page_offset
    content[at + 30 : at + 40] = bytes(
        255 - byte for byte in content[at + 30 : at + 40]
    )
    saved.write_bytes(content)
    assert "truncated or damaged" in load_error(saved)


def test_another_version(saved):
    rewrite(saved, header=lambda header: header.update(version=2, more=[]))
    assert "has version 2 of the format, this seepage reads 1" in load_error(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.pop("attributes"), "missing required field"),
        (lambda h: h.update(extra=1), "unknown field"),
        (lambda h: h.update(format="another"), "Invalid enum value 'another'"),
        (lambda h: h.update(attributes=[]), "at least one attribute"),
        (lambda h: h.update(population=3), "population must be"),
        (lambda h: h["attributes"][0].update(values=["F", "F"]), "'F' twice"),
        (lambda h: h["attributes"][0].update(values=["F"]), "out of bounds"),
        (lambda h: h["attributes"][0].update(values=["F", "M", "X"]), "must sum to"),
        (lambda h: h["attributes"][0].pop("name"), "required field `name`"),
        (
            lambda h: h["attributes"][0].update(values=3),
            "Expected `array`, got `int` - at `$[0].values`",
        ),
        (lambda h: h["attributes"][1].update(edges=[0, 1]), "2 edges and 3 bins"),
        (
            lambda h: h["attributes"][1].update(edges=[0, "x"]),
            "Expected `float`, got `str`",
        ),
    ],
)
def test_headers_that_do_not_fit(saved, change, message):
    rewrite(saved, header=change)
    assert message in load_error(saved)


@pytest.mark.parametrize(
    "damage",
    [
        lambda good: b"{",
        lambda good: b"",
        lambda good: good.replace(b'"name":"', b'"name":"\xff'),
        lambda good: good.replace(b'"values":["', b'"values":["\xc3'),
        lambda good: b"\xff\xfe" + good,
        lambda good: b'{"a":' * 100_000,
        lambda good: good.replace(b'"version":1', b'"version":' + b"9" * 6000),
        lambda good: good.replace(b'"records":', b'"records":' + b"9" * 6000),
    ],
)
def test_header_that_is_no_json(saved, damage):
    table = pq.read_table(saved)
    damaged = {b"seepage": damage(table.schema.metadata[b"seepage"])}
    pq.write_table(table.replace_schema_metadata(damaged), saved)
    assert "is not a valid file of pair counts" in load_error(saved)


def test_single_bits_that_differ_give_one_line_or_the_same_counts(pairs, saved):
    """Headers of pages and the metadata have no checksum of Parquet's own."""
    good = saved.read_bytes()
    messages = []
    first_page = range(8 * 30)
    for bit in {*first_page, *range(0, 8 * len(good), 97)}:
        content = bytearray(good)
        content[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(content)
        try:
            assert PairCounts.load(saved) == pairs
        except TableError as error:
            messages.append(str(error))
    assert any("it was changed after it was written" in message for message in messages)
    assert all(len(message.splitlines()) == 1 for message in messages)


def test_a_changed_file_raises(saved):
    table = pq.read_table(saved)
    header = table.schema.metadata[b"seepage"]
    changes = [
        table.set_column(4, "count", pc.add(table["count"], 1)),
        table.take(np.arange(table.num_rows)[::-1]),
        table.replace_schema_metadata({b"seepage": header}),
        table.replace_schema_metadata(
            {**table.schema.metadata, b"seepage": header.replace(b'"sex"', b'"gender"')}
        ),
    ]
    for changed in changes:
        pq.write_table(changed, saved)
        assert "it was changed after it was written" in load_error(saved)


def replaced(column, values):
    def apply(table):
        return table.set_column(
            table.column_names.index(column), column, pa.array(values(table))
        )

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns(["cell"]), "cell"),
        (lambda table: table.slice(1), "must sum to"),
        (lambda table: table.slice(0, table.num_rows - 1), "must sum to"),
        (replaced("count", lambda t: t["count"].to_numpy() + 1), "must sum to"),
        (replaced("count", lambda t: [-5] * len(t)), "at least 0"),
        (replaced("cell", lambda t: t["cell"].to_numpy() + 10**9), "out of bounds"),
    ],
)
def test_cells_that_do_not_fit(saved, change, message):
    rewrite(saved, change)
    assert message in load_error(saved)


@pytest.mark.parametrize("values", [None, 0.5, "1"])
def test_cells_that_are_no_integers(saved, values):
    table = pq.read_table(saved)
    changed = table.set_column(4, "count", pa.array([values] * len(table)))
    pq.write_table(changed, saved)
    assert "is not a valid file of pair counts" in load_error(saved)


# Recognition --------------------------------------------------------------------------


def test_recognises_its_own_files_only(saved, tmp_path):
    assert is_pairs_file(saved)
    assert is_pairs_file(str(saved))
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), other)
    text = tmp_path / "text.csv"
    text.write_text("PAR1")
    for path in (
        other,
        text,
        tmp_path,
        tmp_path / "nothing",
        "part-*.parquet",
        "adult",
        "",
        "\0",
    ):
        assert not is_pairs_file(path)


def header(path):
    return json.loads(pq.read_schema(path).metadata[b"seepage"])


def test_a_sample_is_loaded_as_one(pairs, saved, tmp_path):
    assert "population" not in header(saved)
    sample = PairCounts(pairs.domain, pairs.marginals, pairs.counts, population=9000)
    sample.save(tmp_path / "sample")
    assert header(tmp_path / "sample")["population"] == 9000
    assert PairCounts.load(tmp_path / "sample") == sample != pairs
