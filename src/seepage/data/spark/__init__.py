"""Counting with Spark: the same kernel on the executors, the same integer counts.

Here are Spark's sessions and its errors; `jobs` runs jobs over a table, `engine` counts.
"""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seepage.errors import InputError, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_session(master: str | None = None) -> "SparkSession":
    """Return the running Spark session of any thread, or start one that stays for later calls.

    Parameters
    ----------
    master
        Master URL of a session started here: `local[2]`, `spark://host:7077`, ...; by default all
        cores of this machine.
    """
    with without_pandas_warning():
        try:
            from pyspark import SparkContext
            from pyspark.sql import SparkSession
        except ImportError:
            raise InputError(
                "Spark needs the package pyspark, which is not installed: pip install "
                "seepage[spark]"
            ) from None
        session: SparkSession | None = SparkSession.getActiveSession()
        if session is None and SparkContext._active_spark_context is not None:
            # The session of another thread, which is not active in this one.
            session = SparkSession.builder.getOrCreate()
        return session or _start_session(master)


def _start_session(master: str | None) -> "SparkSession":
    """Start a session."""
    from pyspark.sql import SparkSession

    address = master or "local[*]"
    builder: Any = SparkSession.builder.appName("seepage").config("spark.ui.enabled", "false")
    if address.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.log.level", "ERROR")
    if master or "SPARK_REMOTE" not in os.environ:
        builder = builder.master(address)
    problems: tuple[type[Exception], ...] = (*spark_errors(), OSError)
    try:
        session: SparkSession = builder.getOrCreate()
    except problems as problem:
        raise InputError(f"Spark does not start at {address}: {_reason(str(problem))}") from None
    return session


def _reason(message: str) -> str:
    if "stopped SparkContext" in message:
        return "no master answers there"
    if "JAVA_GATEWAY_EXITED" in message:
        return (
            "Java did not start; it must be 17 or later (JAVA_HOME), and the master one such as "
            "local[2] or spark://host:7077"
        )
    return message.strip().splitlines()[0]


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Suppress PySpark's warning about the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that PySpark raises: its own, and those of Java."""
    from pyspark.errors import PySparkException

    return PySparkException, import_module("py4j.protocol").Py4JError


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn exceptions of Spark into a TableError with a message of one line."""
    from pyspark.errors import PythonException

    try:
        yield
    except spark_errors() as problem:
        python = isinstance(problem, PythonException)
        raise TableError(_one_line(str(problem), python=python)) from None
    except (ConnectionError, EOFError):
        raise TableError(
            "Spark's Java virtual machine died while counting; give it more memory "
            "(spark.driver.memory)"
        ) from None


def _one_line(message: str, *, python: bool) -> str:
    """Return the line of Spark's error message that states the cause.

    Parameters
    ----------
    message
        The error message.
    python
        Whether Python raised it, on an executor: then the table need not be the cause.
    """
    report = message.partition("JVM stacktrace:")[0]
    lines = [line.strip() for line in report.splitlines() if line.strip()]
    if any("No module named 'seepage'" in line for line in lines):
        return (
            "Spark's executors have no seepage; install it there, or name the Python that has it "
            "(PYSPARK_PYTHON)"
        )
    reading = [line for line in lines if "Encountered error while reading file" in line]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception)(: |$)", line)]
    shown = (reading or raised[-1:] or lines or ["no reason given"])[0][:300]
    if reading or not (python or "ExecutorLostFailure" in message):
        return f"Spark cannot read the table: {shown}"
    return f"Spark's executors failed: {shown}"
