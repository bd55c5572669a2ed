"""Randomisers that give their value away by two reports that are hard to tell apart."""

import csv
import importlib
import json
import math
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

SAMPLES = 400
CLAIM = 1.0

OBJECTS: tuple[tuple[Any, Any], ...] = (
    (0.0, -0.0),
    ("1", 1),
    (1, 1.0),
    (True, 1),
    ("a", "a\0"),
    ("a", "a "),
    ("é", "e\u0301"),
    (2.0**53, 2**53 + 1),
    (10**30, float(10**30)),
    ([1], "[1]"),
    ([1], (1,)),
    (None, "null"),
    (None, "None"),
    (None, math.nan),
    (b"1", "1"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1}, frozenset({1})),
    (Decimal("1"), Decimal("1.0")),
    (Fraction(1, 2), 0.5),
    ([0.0, 1], [-0.0, 1]),
    ("", None),
    ("\ud800", "\udfff"),
    (math.inf, 1e308),
)
"""Pairs of reports of a function that everybody who receives them can tell apart."""

FIELDS = (
    ("00", "0"),
    ("1.0", "1"),
    ("1e0", "1"),
    ("12345678901234567890", "12345678901234567891"),
    ("True", "true"),
    ("", "NaN"),
    ("NA", "nan"),
    ("-0", "0"),
    ("+1", "1"),
    ("0.1", "0.10000000000000001"),
    ("2020-01-01", "2020-01-01 00:00:00"),
    ("01" * 16, "01" * 15 + "1"),
    ("a", "A"),
)
"""Pairs of fields of a text file."""


def randomiser_of(rng: random.Random, reports: tuple[Any, Any]) -> Callable[[Any], Any]:
    """Return a function that sends one of two reports, nearly always its value's
    own.
    """
    first, second = reports
    noise = rng.choice([0.0, 0.01])

    def randomise(value: Any) -> Any:
        is_first = (value == "a") != (rng.random() < noise)
        return first if is_first else second

    return randomise


def check_refuted(found: Any, reports: tuple[Any, Any]) -> None:
    """Raise unless an audit refutes the claim."""
    if found.verdict != "refuted":
        raise AssertionError(f"{reports!r}: {found!r}")


def audits(rng: random.Random, folder: Path) -> None:
    """Audit a randomiser that gives everything away, sampled in one of several ways."""
    ways = [_function, _text_file, _parquet, _arrays, _module]
    rng.choices(ways, [6, 6, 3, 3, 1])[0](rng, folder)


def _options(rng: random.Random, reports: tuple[Any, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {"claim": CLAIM, "rng": rng.randrange(100)}
    has_parts = any(isinstance(report, list | tuple) for report in reports)
    if rng.random() < 0.5 and not has_parts and "" not in reports:
        options["reports"] = list(reports)
    return options


def _function(rng: random.Random, _: Path) -> None:
    import seepage as sp

    reports = rng.choice(OBJECTS)
    options = _options(rng, reports)
    found = sp.audit(
        randomiser_of(rng, reports), values=["a", "b"], samples=SAMPLES, **options
    )
    check_refuted(found, reports)


def _rows(rng: random.Random, reports: tuple[Any, Any]) -> list[tuple[str, Any]]:
    randomise = randomiser_of(rng, reports)
    return [(value, randomise(value)) for value in ("a", "b") for _ in range(SAMPLES)]


def _text_file(rng: random.Random, folder: Path) -> None:
    import seepage as sp

    reports = rng.choice(FIELDS)
    path = folder / "samples.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["value", "report"])
        writer.writerows(_rows(rng, reports))
    check_refuted(sp.audit(path, **_options(rng, reports)), reports)


def _parquet(rng: random.Random, folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import seepage as sp

    pairs = [*FIELDS, (0.0, -0.0), (2**53, 2**53 + 1), (b"1", b"01"), (None, "None")]
    reports = rng.choice(pairs)
    values, sent = zip(*_rows(rng, reports), strict=True)
    path = folder / "samples.parquet"
    pq.write_table(pa.table({"value": list(values), "report": list(sent)}), path)
    data = path if rng.random() < 0.5 else pq.read_table(path).to_pandas()
    check_refuted(sp.audit(data, **_options(rng, reports)), reports)


def _arrays(rng: random.Random, _: Path) -> None:
    import numpy as np

    import seepage as sp

    reports = rng.choice([*FIELDS, (0.0, -0.0), (2**53, 2**53 + 1), (True, False)])
    values, sent = zip(*_rows(rng, reports), strict=True)
    check_refuted(sp.audit((np.array(values), np.array(sent)), claim=CLAIM), reports)


def _module(rng: random.Random, folder: Path) -> None:
    """Sample a module in a process of its own; one that ends early has no verdict."""
    import seepage as sp

    first, second = rng.choice([(0, -0.0), ("1", 1), ([1], "[1]"), ("a", "a ")])
    wires = importlib.import_module("wires")
    script = wires.NODE is not None and rng.random() < 0.5
    ending = "process.exit(0)" if script else "raise SystemExit(0)"
    ends_at = rng.choice(["", "", "import", "call"])
    body = ending if ends_at == "call" else ""
    top = ending if ends_at == "import" else ""
    if script:
        path = folder / "client.mjs"
        path.write_text(
            f"{top}\nconsole.log('noise');\nexport function randomise(value) {{ {body};"
            f" return value === 'a' ? {_javascript(first)} : "
            f"{_javascript(second)}; }}\n"
        )
    else:
        path = folder / "client.py"
        path.write_text(
            f"{top}\nprint('noise')\ndef randomise(value):\n    {body or 'pass'}\n"
            f"    return {first!r} if value == 'a' else {second!r}\n"
        )
    try:
        found = sp.audit(path, CLAIM, values=["a", "b"], samples=SAMPLES)
    except sp.InputError:
        if not ends_at:
            raise
        return
    if ends_at:
        raise AssertionError(f"a module that ends at its {ends_at} has {found!r}")
    check_refuted(found, (first, second))


def _javascript(report: Any) -> str:
    if isinstance(report, float):
        return repr(report)
    return json.dumps(report)
