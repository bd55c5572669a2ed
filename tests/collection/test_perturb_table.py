"""Perturbing: whole files or none, the same reports for a seed, and none in clear."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plan_examples import counts, people, plan_for
from seepage._core.errors import DomainError, InputError
from seepage.collection.perturb_table import perturb_file
from seepage.mechanisms.arrow_reports import reports_from_arrow
from seepage.mechanisms.mechanism_registry import registered

PLAN = plan_for(counts(), 1.0)
NAMES = sorted(registered())


def plan_with(name, epsilon=1.0):
    delta = 1e-3 if registered()[name].approximate else 0.0
    return plan_for(counts(), epsilon, name, delta=delta)


@pytest.mark.parametrize("name", NAMES)
def test_reports_know_who_made_them(name):
    plan = plan_with(name)
    found = plan.perturb(people(100))
    assert found.num_rows == 100
    for attribute, field in zip(plan.collected, found.schema, strict=True):
        assert field.name == attribute.name
        assert not field.nullable
        reports = reports_from_arrow(found[field.name], field)
        assert dict(reports.origin) == plan.mechanisms[field.name].describe()
    assert found.schema.metadata[b"seepage.collection"].decode() == plan.collection


@pytest.mark.parametrize("name", NAMES)
def test_reports_survive_a_file(name, tmp_path):
    plan = plan_with(name)
    path = tmp_path / "reports.parquet"
    assert perturb_file(plan, people(300), path, rng=7) == 300
    expected = plan.perturb(people(300), rng=7)
    found = pq.read_table(path)
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.equals(expected)


def test_a_seed_repeats_and_the_system_does_not():
    table = people(500)
    first, again, other = (PLAN.perturb(table, rng=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert not PLAN.perturb(table).equals(PLAN.perturb(table))
    assert first.equals(PLAN.perturb(table, rng=np.random.default_rng(1)))
    with pytest.raises(
        InputError, match="rng must be an integer of at least 0, got -1"
    ):
        PLAN.perturb(table, rng=-1)


def test_at_a_huge_budget_reports_are_the_codes():
    table = people(400)
    found = plan_for(counts(), 700.0, "grr").perturb(table)
    assert found["age"].to_pylist() == np.digitize(table["age"], [40, 60]).tolist()


def test_small_batches_are_written_in_large_row_groups(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(20):
        pq.write_table(people(50, seed=part), folder / f"{part:02}.parquet")
    path = tmp_path / "reports.parquet"
    assert perturb_file(PLAN, folder, path) == 1000
    assert pq.ParquetFile(path).num_row_groups == 1


def test_progress_is_told(tmp_path):
    told = []
    perturb_file(
        PLAN, people(300), tmp_path / "r.parquet", progress=lambda *a: told.append(a)
    )
    assert told == [(300, 300)]


# Whole files or none ------------------------------------------------------------------


def bad_at_the_end(rows):
    table = people(rows)
    jobs = [*table["job"].to_pylist()[:-1], "a secret value"]
    return table.set_column(1, "job", [jobs])


def test_a_rejected_record_leaves_nothing(tmp_path):
    with pytest.raises(
        DomainError, match=r"record 200,000: column 'job' has a value outside"
    ):
        perturb_file(PLAN, bad_at_the_end(200_000), tmp_path / "reports.parquet")
    assert not list(tmp_path.iterdir())


def test_a_rejected_record_leaves_what_was_there(tmp_path):
    path = tmp_path / "reports.parquet"
    path.write_bytes(b"old")
    with pytest.raises(DomainError):
        perturb_file(PLAN, bad_at_the_end(10), path)
    assert path.read_bytes() == b"old"
    assert perturb_file(PLAN, people(10), path) == 10
    assert [p.name for p in tmp_path.iterdir()] == ["reports.parquet"]


KILLED = """
import sys, time
import numpy as np
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.collection.perturb_table import perturb_file
from seepage.workflow.within_limits import calibrate
import pyarrow as pa

domain = Domain([Attribute("a", ("0", "1"))])
plan = calibrate(PairCounts(domain, [[1, 1]], []), 1.0, guarantee="worst")

def wait(done, total):
    if done > 400_000:
        print("writing", flush=True)
        # a signal just before one long sleep would not cut it short
        for _ in range(600):
            time.sleep(0.1)

perturb_file(plan, pa.table({"a": [0, 1] * 500_000}), sys.argv[1], progress=wait)
"""


@pytest.mark.posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_killed_run_leaves_no_output(tmp_path, name):
    path = tmp_path / "reports.parquet"
    run = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"writing\n"
        assert not path.exists()
        process.send_signal(signal.Signals[name])
        process.wait(timeout=30)
    assert process.returncode != 0
    assert not path.exists()
    left = list(tmp_path.iterdir())
    assert len(left) == 1
    assert all(p.name.startswith(".reports.parquet.") for p in left)


def test_the_key_is_not_overwritten(tmp_path):
    path = tmp_path / "key"
    content = "00" * 32
    path.write_text(content)
    data = people(3).append_column("id", pa.array(["a", "b", "c"]))
    with pytest.raises(InputError, match="the output must not be the key"):
        perturb_file(PLAN, data, path, identifier="id", key=path)
    assert path.read_text() == content


def test_the_records_are_not_overwritten(tmp_path):
    path = tmp_path / "people.parquet"
    links = tmp_path / "links"
    pq.write_table(people(10), path)
    links.mkdir()
    (links / "link.parquet").symlink_to(path)
    for data in (path, links / "link.parquet", tmp_path, links):
        with pytest.raises(InputError, match="the output must not be the data"):
            perturb_file(PLAN, data, path)
    assert pq.read_table(path).equals(people(10))


MEMORY = """
import re, sys
from pathlib import Path
import pyarrow as pa
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.workflow.within_limits import calibrate
from seepage.collection.perturb_table import perturb_file
from seepage.collection.report_leakage import analyse_reports
import scipy.special

domain = Domain([Attribute(n, tuple("0123")) for n in "ab"])
pairs = PairCounts(domain, [[4] * 4] * 2, [1] * 16)
plan = calibrate(pairs, 2.0, mechanism="oue", guarantee="worst")
warm = pa.table({"a": [0, 1, 2, 3] * 50_000, "b": [0, 1, 2, 3] * 50_000})
perturb_file(plan, warm, sys.argv[2])
plan.estimate(sys.argv[2]); analyse_reports(plan, sys.argv[2])


def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])


before = peak()
perturb_file(plan, sys.argv[1], sys.argv[2])
plan.estimate(sys.argv[2]); analyse_reports(plan, sys.argv[2])
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is counted by Linux"
)
def test_memory_does_not_grow_with_the_records(tmp_path):
    codes = np.random.default_rng(1).integers(0, 4, (2, 4_000_000), dtype=np.uint8)
    pq.write_table(
        pa.table({"a": codes[0], "b": codes[1]}),
        tmp_path / "in.parquet",
        row_group_size=1 << 17,
    )
    run = [
        sys.executable,
        "-c",
        MEMORY,
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
    ]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown = int(done.stdout) / 1024
    size = 4_000_000 * 2 * 8 / 2**20
    assert grown < size / 2, f"{grown:.0f} MB more, reports have {size:.0f}"
