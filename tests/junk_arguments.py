"""Junk for every public callable; nothing but a SeepageError may come out.

Used by `test_junk_arguments` on a fixed grid, and by `scripts/fuzz.py` at random.
Public callables are the public functions and constructors, and the methods of one
example of each public class and of each kind of result.
"""

import inspect
import math
import random
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import FunctionType
from typing import Any, is_typeddict

import numpy as np
import pandas as pd
import pyarrow as pa

import seepage as sp
from seepage._core.errors import SeepageError
from seepage.tables.table_options import TableOptions
from signatures import own_keywords, unpacked_keywords


class Odd:
    """An object that nothing expects, and whose repr must not be echoed."""

    def __repr__(self) -> str:
        return "ODD " * 5_000


JUNK: dict[str, Any] = {
    "none": None,
    "true": True,
    "negative": -1,
    "zero": 0,
    "endless range": range(10**12),
    "list that contains itself": [],
    "mapping that contains itself": {},
    "lone surrogate": "a\ud800",
    "huge integer": 10**400,
    "endless integer": 10**5_000,
    "nan": math.nan,
    "infinity": math.inf,
    "huge": 1e308,
    "complex": 1j,
    "empty text": "",
    "text": "no such thing",
    "control characters": "\0\x1b[31m",
    "long text": "x" * 5_000,
    "bytes": b"bytes",
    "empty list": [],
    "list of none": [None],
    "ragged": [[1.0, 2.0], [3.0]],
    "empty mapping": {},
    "odd mapping": {"no such": Odd()},
    "set": {1, 2},
    "mixed": (1, "two"),
    "empty array": np.array([]),
    "nan matrix": np.array([[0.5, 0.5], [np.nan, 1.0]]),
    "objects": np.array(["a", None], dtype=object),
    "frame": pd.DataFrame({"a": [1, 2]}),
    "type": object,
    "function": len,
    "odd": Odd(),
}

JUNK["list that contains itself"].append(JUNK["list that contains itself"])
JUNK["mapping that contains itself"]["a"] = JUNK["mapping that contains itself"]

HOOKS = {
    *("draw", "guess", "contributions", "tally", "frequencies", "supported", "packed"),
    *(
        "log_likelihood",
        "likelihood_ratio",
        "report_of",
        "array",
        "from_array",
        "field",
    ),
    *("chart_rows", "of"),
}
"""What mechanisms and kinds of reports define for the library, which calls it after its
checks."""

FEWER = ("surrogates", "replicas", "mechanisms")
"""Arguments with a default that is more work than junk for the others needs."""

READING = {field.name for field in fields(TableOptions)}
"""Arguments that are checked only where a table is read."""

SPECIAL_METHODS = ("__getitem__", "__contains__", "__call__")


@cache
def people() -> Any:
    """Return a small table."""
    return pa.table(
        {"sex": ["F", "M", "M", "F"] * 5, "smoker": ["y", "n", "y", "y"] * 5}
    )


@cache
def counted() -> sp.Records:
    """Return the small table read and counted, for all but the options of reading."""
    records = sp.Records.from_data(people())
    records.pairs()
    return records


@cache
def examples() -> dict[str, Any]:
    """Return one example of each public class and of each kind of result."""
    pairs = sp.count_pairs(people())
    plan = sp.calibrate(people(), 2.0)
    reports = plan.perturb(people(), rng=1)
    analysis = sp.analyse(people(), 1.0)
    channel = pairs.channel("sex", "smoker")
    grr = sp.GRR(2, 1.0)
    found = [
        *(
            pairs,
            pairs.domain,
            pairs.domain["sex"],
            channel,
            sp.Records.from_data(people()),
        ),
        *(
            plan,
            plan.check(people()),
            plan["sex"],
            analysis,
            analysis.matrix,
            analysis.totals,
            analysis.verdict,
        ),
        sp.analyse(people(), 1.0, mechanism="grr", people=5).experienced,
        plan.estimate(reports),
        plan.table(reports, "sex", by="smoker"),
        sp.regress(people(), "smoker ~ 1", randomiser=[[0.95, 0.05], [0.05, 0.95]]),
        *(sp.total_leakage(people(), 1.0), sp.leakage_curve(channel, [1.0])),
        *(sp.leakage_bound(channel, 1.0), sp.leakage_bound(channel, 1.0).witness),
        sp.compare_limits(people(), [1.0, 2.0], effort=0.02),
        *(sp.benchmark_analysers(people()), sp.benchmark_mechanisms(people(), [1.0])),
        *(
            sp.correlation_matrix(people(), "mi"),
            sp.stream_leakage(channel.matrix, 1.0, steps=2),
        ),
        sp.estimate_leakage(
            people(), 1.0, mechanism="grr", replicas=2, surrogates=10, rng=1
        ),
        *(grr, grr.perturb([0, 1], rng=1), grr.estimate(grr.perturb([0, 1], rng=1))),
        *(
            sp.MatrixMechanism([[0.9, 0.1], [0.2, 0.8]]),
            sp.BasicRAPPOR(2),
            sp.Gaussian(2, 1.0, 0.1),
        ),
        *(
            sp.mechanism(name, 2, 1.0)
            for name in ("rappor", "oue", "blh", "olh", "she", "ss")
        ),
        *(
            sp.audit({"k": 2, "keep": 0.6}, 1.0),
            sp.Randomiser.read({"k": 2, "keep": 0.6}),
        ),
    ]
    return {type(example).__name__: example for example in found}


@cache
def _arguments() -> dict[str, Any]:
    correlation = [[0.9, 0.1], [0.2, 0.8]]
    pairs = counted().pairs()
    return {
        "data": people(),
        "pairs": pairs,
        "parts": [pairs, pairs],
        "domain": pairs.domain,
        "epsilon": 1.0,
        "epsilons": [1.0],
        "limit": 2.0,
        "limits": [2.0],
        "sources": "sex",
        "leakage": 0.1,
        "k": 2,
        "n": 2,
        "channel": correlation,
        "G": correlation,
        "matrix": correlation,
        "codes": [0, 1],
        "given": pairs.domain["sex"],
        "output": pairs.domain["smoker"],
        "delta": 0.1,
        "marginals": [pairs.marginal(0), pairs.marginal(1)],
        "attributes": pairs.domain,
        "counts": [[10, 0], [5, 5]],
        "values": ("a", "b"),
        "path": "out.svg",
        "target": "sex",
        "source": "smoker",
        "first": "sex",
        "second": "smoker",
        "rows": 1,
        "columns": 0,
        "names": {"sex": "gender"},
        "metric": "mi",
        "rng": 1,
        "surrogates": 10,
        "replicas": 2,
        "mechanism": "grr",
        "mechanisms": ["grr"],
        "reports": sp.calibrate(people(), 2.0).perturb(people(), rng=1),
        "name": "sex",
    }


@cache
def valid(name: str) -> dict[str, Any]:
    """Return valid arguments of a public callable, as far as it needs any beside the
    junk.
    """
    known = _arguments().copy()
    owner = name.partition(".")[0]
    if owner in ("mechanism", "load_pairs", "dataset"):
        known["name"] = "grr" if owner == "mechanism" else "survey"
    if owner in ("GRR", "MatrixMechanism"):
        known["reports"] = sp.GRR(2, 1.0).perturb([0, 1], rng=1)
    if owner == "Records" and "codes" in inspect.signature(public(name)).parameters:
        known["codes"] = [[0, 0], [1, 1]]
    return {
        key: known[key]
        for key, parameter in inspect.signature(public(name)).parameters.items()
        if key in known
        and (parameter.default is inspect.Parameter.empty or key in FEWER)
    }


def public(name: str) -> Callable[..., Any]:
    """Return a public callable by its name, such as `leakage_bound` or
    `Plan.perturb`.
    """
    owner, _, method = name.partition(".")
    found: Callable[..., Any] = (
        getattr(examples()[owner], method) if method else getattr(sp, owner)
    )
    return found


@cache
def callables() -> dict[str, list[str]]:
    """Return every public callable with its named parameters."""
    names = [name for name in sp.__all__ if callable(getattr(sp, name))]
    names = [name for name in names if not inspect.isabstract(getattr(sp, name))]
    names = [name for name in names if not is_typeddict(getattr(sp, name))]
    names = [name for name in names if not name.endswith(("Error", "Warning"))]
    seen = set()
    for owner, example in examples().items():
        for method in dir(type(example)):
            defined = inspect.getattr_static(type(example), method)
            wanted = method in SPECIAL_METHODS or not (
                method in HOOKS or method.startswith("_")
            )
            if isinstance(defined, (classmethod, staticmethod)):
                defined = defined.__func__
            if wanted and isinstance(defined, FunctionType) and defined not in seen:
                seen.add(defined)
                names.append(f"{owner}.{method}")
    return {name: named for name in names if (named := _parameters(name))}


def _parameters(name: str) -> list[str]:
    function = public(name)
    return [*own_keywords(function), *unpacked_keywords(function)]


def call(name: str, key: str, value: Any) -> None:
    """Call a public callable with junk for one argument, and for those it needs beside
    it.
    """
    parameters = inspect.signature(public(name)).parameters
    needed = {
        other: value
        for other in callables()[name]
        if other in parameters and parameters[other].default is inspect.Parameter.empty
    }
    given = {**needed, **valid(name), key: value}
    if given.get("data") is people() and key not in READING:
        given["data"] = counted()
    try:
        answer = public(name)(**given)
        if inspect.isgenerator(answer):
            list(answer)
    except SeepageError as problem:
        message = str(problem)
        assert len(message) <= 500, "the message is long"
        assert "\n" not in message, "the message has several lines"
        assert message.count("ODD") <= 25, "the message dumps the argument"


def call_with_junk(rng: random.Random) -> None:
    """Call a public callable that is drawn at random with junk that is."""
    name = rng.choice(list(callables()))
    call(name, rng.choice(callables()[name]), rng.choice(list(JUNK.values())))
