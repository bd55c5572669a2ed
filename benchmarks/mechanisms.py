"""Mechanisms: against pure-ldp and multi-freq-ldpy, which handle one report at a time.

The peers are measured on fewer reports and scaled: their time is in proportion.  They
need older companions than a fresh install gives them: the dependency group `bench`.
"""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import Figure, at_least, best_of, seconds
from seepage.mechanisms.mechanism_registry import mechanism, registered

EPSILON = 1.0
DELTA = 1e-6
SIZES = (16, 128)
REPORTS = 1_000_000
PEER_REPORTS = {"perturb": 20_000, "estimate": 2_000}

PERTURB = {"grr": 30.0, "oue": 10.0, "olh": 50.0, "she": 4.0, "ss": 10.0}
ESTIMATE = {"grr": 50.0, "oue": 10.0, "olh": 40.0}
"""How many times faster than the best peer, at least."""

INFER_SECONDS = 2.0
STREAMED = 10_000_000
STREAM_BYTES = 1e9
LARGEST = "she"
"""The mechanism with the largest reports."""

Integers = NDArray[np.int64]


class Peer(NamedTuple):
    """One mechanism of another package."""

    package: str
    perturb: Callable[[int], Any]
    estimate: Callable[[list[Any]], object]


def main() -> Iterator[Figure]:
    """Measure perturb, estimate and infer on a million reports, and the largest
    memory.
    """
    missing = {package: reason for package in PACKAGES if (reason := _missing(package))}
    for package, reason in missing.items():
        yield Figure(f"{package}: {reason}", "skipped: pip install --group bench")
    for k in SIZES:
        codes = np.random.default_rng(1).integers(0, k, REPORTS)
        offers = [
            PACKAGES[package](k) for package in PACKAGES if package not in missing
        ]
        for name in PERTURB:
            peers = [offer[name] for offer in offers if name in offer]
            yield from _beside_peers(name, k, codes, peers)
    yield from _infer(SIZES[-1])
    yield _memory(LARGEST, SIZES[-1])


def full() -> Iterator[Figure]:
    """Measure the memory of perturbing ten million values with every other
    mechanism.
    """
    for name in registered():
        if name != LARGEST:
            yield _memory(name, SIZES[-1])


# The peers ----------------------------------------------------------------------------


def _missing(package: str) -> str:
    """Return why a package cannot be used, or nothing."""
    try:
        PACKAGES[package](SIZES[0])
    except ImportError as reason:
        return str(reason)
    return ""


def _pure_ldp(k: int) -> dict[str, Peer]:
    oracles = importlib.import_module("pure_ldp.frequency_oracles")

    def peer(kind: str, **options: bool) -> Peer:
        settings = {"epsilon": EPSILON, "d": k, "index_mapper": int, **options}
        server = partial(getattr(oracles, f"{kind}Server"), **settings)

        def estimate(reports: list[Any]) -> object:
            collector = server()
            collector.aggregate_all(reports)
            return collector.estimate_all(range(k), suppress_warnings=True)

        client = getattr(oracles, f"{kind}Client")(**settings)
        return Peer("pure-ldp", client.privatise, estimate)

    return {
        "grr": peer("DE"),
        "oue": peer("UE", use_oue=True),
        "olh": peer("LH", use_olh=True),
        "she": peer("HE"),
    }


def _multi_freq_ldpy(k: int) -> dict[str, Peer]:
    def peer(kind: str, *sizes: int, **options: bool) -> Peer:
        module = importlib.import_module(
            f"multi_freq_ldpy.pure_frequency_oracles.{kind}"
        )
        client, aggregator = (getattr(module, f"{kind}_{part}") for part in PARTS)
        return Peer(
            "multi-freq-ldpy",
            lambda code: client(code, k, EPSILON),
            lambda reports: aggregator(reports, *sizes, EPSILON, **options),
        )

    return {
        "grr": peer("GRR", k),
        "oue": peer("UE"),
        "olh": peer("LH", k),
        "she": peer("HE", k, use_thresh=False),
        "ss": peer("SS", k),
    }


PARTS = ("Client", "Aggregator_MI")
PACKAGES = {"pure-ldp": _pure_ldp, "multi-freq-ldpy": _multi_freq_ldpy}


# The measurements ---------------------------------------------------------------------


def _beside_peers(
    name: str, k: int, codes: Integers, peers: list[Peer]
) -> Iterator[Figure]:
    """Yield how much faster than the best peer a million reports are made and estimated
    from.
    """
    ours = mechanism(name, k, EPSILON)
    reports = ours.perturb(codes, 2)
    calls: dict[str, Callable[[], object]] = {
        "ours perturb": partial(ours.perturb, codes, 2),
        "ours estimate": partial(ours.estimate, reports),
    }
    for peer in peers:
        calls |= _peer_calls(peer, codes)
    best = best_of(calls)
    for task, targets in (("perturb", PERTURB), ("estimate", ESTIMATE)):
        what = f"{task} {name}, k = {k}, {REPORTS:,} reports"
        taken = best[f"ours {task}"]
        if not peers:
            yield Figure(what, seconds(taken))
            continue
        scale = REPORTS / PEER_REPORTS[task]
        theirs, fastest = min(
            (best[f"{peer.package} {task}"], peer.package) for peer in peers
        )
        named = f"{fastest} (scaled from {PEER_REPORTS[task]:,})"
        figure = at_least(what, taken, named, theirs * scale, targets.get(name, 1.0))
        yield figure if name in targets else figure._replace(target="", met=None)


def _peer_calls(peer: Peer, codes: Integers) -> dict[str, Callable[[], object]]:
    """Return what is timed of a peer; it has run once, since some of it is compiled."""
    some = codes[: PEER_REPORTS["perturb"]].tolist()
    few = [peer.perturb(code) for code in some[: PEER_REPORTS["estimate"]]]
    peer.estimate(few)
    return {
        f"{peer.package} perturb": lambda: [peer.perturb(code) for code in some],
        f"{peer.package} estimate": lambda: peer.estimate(few),
    }


def _infer(k: int) -> Iterator[Figure]:
    """Yield how long it takes to guess a million values, for every mechanism."""
    codes = np.random.default_rng(3).integers(0, k, REPORTS)
    for name in registered():
        ours = _make(name, k)
        reports = ours.perturb(codes, 4)
        taken = best_of({"infer": partial(ours.infer, reports, 5)}, repeats=2)["infer"]
        yield Figure(
            f"infer {name}, k = {k}, {REPORTS:,} reports",
            seconds(taken),
            target=f"under {INFER_SECONDS:g} s",
            met=taken < INFER_SECONDS,
        )


def _make(name: str, k: int) -> Any:
    return mechanism(name, k, EPSILON, DELTA if registered()[name].approximate else 0.0)


STREAM = """
import re, sys
from pathlib import Path
import numpy as np
from benchmarks.mechanisms import _make
generator = np.random.default_rng(6)
codes = generator.integers(0, int(sys.argv[2]), int(sys.argv[3]), dtype=np.uint8)
ours = _make(sys.argv[1], int(sys.argv[2]))
parts = np.array_split(codes, -(-len(codes) >> 16))
print(ours.estimate(ours.perturb(part, 7) for part in parts).records)
print(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def _memory(name: str, k: int) -> Figure:
    """Return the most memory that another process takes to perturb and estimate in
    batches.

    From Linux's own count; `getrusage` would start from the memory of this process.
    """
    command = [sys.executable, "-c", STREAM, name, str(k), str(STREAMED)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    records, kilobytes = map(int, printed.split())
    taken = kilobytes * 1024
    return Figure(
        f"memory to perturb {records:,} values in batches, {name}, k = {k}",
        f"{taken / 1e6:,.0f} MB",
        target=f"under {STREAM_BYTES / 1e6:,.0f} MB",
        met=taken < STREAM_BYTES,
    )
