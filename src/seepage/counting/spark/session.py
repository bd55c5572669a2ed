"""Spark sessions, and Spark's errors in one line."""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seepage._core import checks
from seepage._core.errors import InputError, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CAUSES = {
    "stopped SparkContext": "no master answers there",
    "JAVA_GATEWAY_EXITED": (
        "Java did not start; it must be 17 or later (JAVA_HOME), and the master one "
        "such as local[2] or spark://host:7077"
    ),
    "No module named 'seepage'": (
        "its executors have no seepage; install it there, or name the Python that has "
        "it (PYSPARK_PYTHON)"
    ),
}
"""What parts of Spark's messages mean."""


def spark_session(master: str | None = None) -> "SparkSession":
    """Return the running Spark session of any thread, or start one that stays for later
    calls.

    Parameters
    ----------
    master
        Master URL of a session started here: `local[2]`, `spark://host:7077`, ...; by
        default all cores of this machine.
    """
    checks.need("pyspark", "seepage[spark]", "Spark")
    with without_pandas_warning():
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        session: SparkSession | None = SparkSession.getActiveSession()
        if session is None and SparkContext._active_spark_context is not None:
            session = SparkSession.builder.getOrCreate()
        return session or _start_session(SparkSession.builder, master)


def _start_session(builder: Any, master: str | None) -> "SparkSession":
    """Start a Spark session."""
    address = master or "local[*]"
    builder = builder.appName("seepage").config("spark.ui.enabled", "false")
    if address.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.log.level", "ERROR")
    if master or "SPARK_REMOTE" not in os.environ:
        builder = builder.master(address)
    problems: tuple[type[Exception], ...] = (*spark_errors(), OSError)
    try:
        session: SparkSession = builder.getOrCreate()
    except problems as problem:
        raise InputError(
            f"Spark does not start at {address}: {cause_of(problem)}"
        ) from None
    return session


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Suppress PySpark's warning about the version of pandas, which is not used
    here.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="PySpark does not yet fully support pandas"
        )
        yield


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that PySpark raises: its own, and those of Java."""
    from pyspark.errors import PySparkException

    return PySparkException, import_module("py4j.protocol").Py4JError


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn exceptions of Spark into a TableError with a message of one line."""
    try:
        yield
    except spark_errors() as problem:
        raise TableError(f"Spark failed: {cause_of(problem)}") from None
    except (ConnectionError, EOFError):
        raise TableError(
            "Spark's Java virtual machine died while counting; give it more memory "
            "(spark.driver.memory)"
        ) from None


def cause_of(problem: Exception) -> str:
    """Return what a known error of Spark means, or the line of its message that states
    the cause.
    """
    message = str(problem)
    for sign, meaning in CAUSES.items():
        if sign in message:
            return meaning
    report = message.partition("JVM stacktrace:")[0]
    lines = [line.strip() for line in report.splitlines() if line.strip()]
    reading = [line for line in lines if "Encountered error while reading file" in line]
    raised = [
        line for line in lines if re.match(r"[\w.]+(Error|Exception)(: |$)", line)
    ]
    return (reading or raised[-1:] or lines or ["no reason given"])[0][:300]
