"""How many reports per second the receiver makes durable."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import seepage as sp
from benchmarks import Figure

CLIENTS = 20
REPORTS = 20_000
SINGLE = 300
TARGET = 2000


def main() -> list[Figure]:
    """Send reports by many clients, each acknowledged after its commit; best of three.

    Beside it the plain way to make single reports durable: append each to a file and
    synchronise it.
    """
    plan = sp.calibrate("survey", 2.0, columns=["coffee", "sleep"], guarantee="worst")
    received = max(_received_per_second(plan) for _ in range(3))
    appended = max(_appended_per_second(_lines(plan, SINGLE)) for _ in range(3))
    return [
        Figure(
            f"durable reports per second, {CLIENTS} clients",
            f"{received:,.0f}",
            f"append and fsync of each line: {appended:,.0f}",
            f"{received / appended:.1f} x",
            f"at least {TARGET:,}",
            received >= TARGET,
        )
    ]


def _lines(plan: sp.Plan, count: int) -> list[bytes]:
    reports = {"coffee": 1, "sleep": 0}
    return [
        json.dumps(
            {
                "plan": plan.collection,
                "id": os.urandom(16).hex(),
                "form": 1,
                "reports": reports,
            }
        ).encode()
        for _ in range(count)
    ]


def _received_per_second(plan: sp.Plan) -> float:
    """Return the rate at which clients in another process are acknowledged."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "lines.jsonl")
        lines.write_bytes(b"\n".join(_lines(plan, REPORTS)))
        with sp.Receiver(plan, Path(folder, "a.db"), port=0, rate=1e9) as receiver:
            port = str(urlsplit(receiver.address).port)
            command = [sys.executable, "-m", "benchmarks._receiver_clients"]
            done = subprocess.run(
                [*command, port, str(lines), str(CLIENTS)],
                check=True,
                capture_output=True,
                text=True,
            )
            if receiver.store.count != REPORTS:
                raise AssertionError(f"{receiver.store.count} of {REPORTS} are stored")
    return REPORTS / float(done.stdout)


def _appended_per_second(lines: list[bytes]) -> float:
    """Return the rate at which lines are appended to a file, each synchronised."""
    with tempfile.TemporaryFile("ab", buffering=0) as file:
        begin = time.perf_counter()
        for line in lines:
            file.write(line + b"\n")
            os.fsync(file.fileno())
        return len(lines) / (time.perf_counter() - begin)
