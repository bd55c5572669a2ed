"""Files of one column of reports, whole and damaged; and counting among packed bits."""

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract import read, write

import seepage as sp
from seepage._core.errors import InputError
from seepage.mechanisms.reports import METADATA, BitReports, count_bits

MECHANISMS = [sp.GRR(5, 1.0), sp.OUE(5, 1.0), sp.OLH(5, 1.0), sp.SHE(5, 1.0)]
every_kind = pytest.mark.parametrize(
    "mechanism", MECHANISMS, ids=lambda made: made.name
)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
@every_kind
def test_a_changed_byte_raises_or_changes_nothing(tmp_path, mechanism, step):
    path = tmp_path / "reports.parquet"
    reports = mechanism.perturb([0, 1, 2, 3, 4] * 4)
    write(reports, path)
    content = path.read_bytes()
    expected = mechanism.estimate(reports).frequencies
    raised = 0
    for position in range(0, len(content), step):
        damaged = bytearray(content)
        damaged[position] ^= (1, 0x80, 0xFF)[position % 3]
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(InputError):
            raised += 1
            assert (mechanism.estimate(read(path)).frequencies == expected).all()
            raised -= 1
    assert raised > len(content) / step / 20


NOT_JSON = [b"", b"{", b"\xff", b'{"kind": "\xff"}', b"[" * 5000]
NOT_DESCRIBED = [
    b"null",
    b"[]",
    b"3",
    b"{}",
    b'{"kind": "bits"}',
    b'{"kind": [], "origin": {}}',
]
NOT_DESCRIBED += [b'{"kind": "x", "origin": {}}', b'{"kind": "bits", "origin": 3}']


@pytest.mark.parametrize("content", NOT_JSON + NOT_DESCRIBED)
def test_missing_or_invalid_metadata_raise(tmp_path, content):
    field = pa.field("report", pa.uint8(), metadata={METADATA: content})
    pq.write_table(
        pa.table([[1]], schema=pa.schema([field])), tmp_path / "reports.parquet"
    )
    with pytest.raises(
        InputError, match="'report' does not hold reports: its metadata"
    ) as caught:
        read(tmp_path / "reports.parquet")
    assert "\n" not in str(caught.value)


@every_kind
@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x"]),
        pa.array([1.5]),
        pa.array([[1.0]]),
        pa.array([{"seed": 1}]),
        pa.array([{"seed": -1, "bucket": 0}]),
        pa.array([(1, -1)], pa.struct({"seed": pa.uint64(), "bucket": pa.int8()})),
        pa.array([b"xyz"], pa.binary(3)),
    ],
)
def test_another_type_under_true_metadata(tmp_path, mechanism, column):
    metadata = mechanism.perturb([0]).field("report").metadata
    field = pa.field("report", column.type, metadata=metadata)
    pq.write_table(
        pa.table([column], schema=pa.schema([field])), tmp_path / "reports.parquet"
    )
    with pytest.raises(InputError, match="reports"):
        mechanism.estimate(read(tmp_path / "reports.parquet"))


@pytest.mark.parametrize("mechanism", [sp.SHE(3, 1.0), sp.Gaussian(3, 1.0, 1e-6)])
@pytest.mark.parametrize("entry", [1e308, -1e308, 1e4, np.nan, -np.inf])
def test_an_entry_out_of_range_raises_in_an_estimate(mechanism, entry):
    reports = mechanism.perturb([0, 1, 2] * 100)
    reports.vectors[17, 1] = entry
    with pytest.raises(
        InputError, match=r"reports must hold numbers from .* report 18 does not"
    ):
        mechanism.estimate(reports)


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-3, 1.0, 50.0, 1e4, 1e300])
@pytest.mark.parametrize("seed", [None, 1])
def test_no_drawn_report_is_beyond_reach(epsilon, seed):
    for mechanism in (sp.SHE(4, epsilon), sp.Gaussian(4, epsilon, 1e-9)):
        mechanism.check_drawn(mechanism.perturb(np.zeros(5000, dtype=int), seed))


# Counting and choosing among packed bits against plain loops


@pytest.mark.parametrize("k", [1, 2, 7, 64, 65, 128, 1000])
@pytest.mark.parametrize("rows", [0, 1, 254, 255, 256, 3000])
def test_count_bits_is_the_column_sum(k, rows):
    bits = np.random.default_rng(k + rows).random((rows, k)) < 0.6
    assert count_bits(BitReports.pack(bits), k).tolist() == bits.sum(axis=0).tolist()


def test_counts_beyond_a_byte_do_not_overflow():
    words = np.full((255 * 256 * 2 + 77, 1), 2**64 - 1, dtype=np.uint64)
    assert count_bits(words, 64).tolist() == [len(words)] * 64
