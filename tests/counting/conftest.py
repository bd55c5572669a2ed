"""A local Spark session, and a cluster of one master and two workers on this
machine.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import seepage

collect_ignore = ["spark_daemon.py"]  # run by Spark; it imports pyspark


@pytest.fixture(scope="session")
def needs_spark():
    pytest.importorskip("pyspark", reason="pyspark is not installed (extra `spark`)")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or later, and there is none")


SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a Java machine that compiles little and collects in one thread: half the
time."""


@pytest.fixture(scope="session")
def spark(needs_spark):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")  # results are merged at once
        .config("spark.ui.showConsoleProgress", "false")
        .config(
            "spark.sql.codegen.wholeStage", "false"
        )  # compiling takes longer than small jobs
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.python.daemon.module", "spark_daemon")
        .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parent))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", SHORT_LIVED)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Cluster:
    """A standalone master and two workers of one core each, whose Python has core
    packages only.
    """

    def __init__(self, folder):
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.master = f"spark://127.0.0.1:{_free_port()}"
        self.python = bare_python(folder / "python")
        self.environment = os.environ | {
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": str(self.python),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        self._processes = []

    def start(self):
        port = self.master.rpartition(":")[2]
        log = self._launch("master.Master", "--port", port)
        _wait_for(log, "I have been elected leader")
        for number in (1, 2):
            place = (
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                self.folder / str(number),
            )
            log = self._launch("worker.Worker", *place, self.master)
            _wait_for(log, "Successfully registered with master")

    def _launch(self, name, *arguments):
        log = self.folder / f"{name}{len(self._processes)}.log"
        command = [self.home / "bin/spark-class", f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        with log.open("w") as out:
            self._processes.append(
                subprocess.Popen(
                    [str(part) for part in command],
                    env=self.environment,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
            )
        return log

    def lost_executors(self):
        """How many executors ended by a signal, as the workers' logs say."""
        logs = "".join(log.read_text() for log in self.folder.glob("worker*.log"))
        return logs.count("exitStatus 137")

    def stop(self):
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(20)


@pytest.fixture(scope="module")
def cluster(needs_spark, tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        started.start()
        yield started
    finally:
        started.stop()


def bare_python(folder):
    """Make a Python with this package and its core dependencies, and nothing else."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for distribution in _core_distributions("seepage", {}).values():
        for top in {path.parts[0] for path in distribution.files}:
            found = Path(distribution.locate_file(top))
            if (
                top not in ("..", "__pycache__")
                and found.exists()
                and not (site / top).exists()
            ):
                (site / top).symlink_to(found)
    if not (site / "seepage").exists():
        (site / "seepage").symlink_to(Path(seepage.__file__).parent)
    python = folder / "bin/python"
    probe = (
        "from importlib.util import find_spec as f; print(f('pandas'), f('pyspark'))"
    )
    found = subprocess.run(
        [python, "-c", probe], capture_output=True, text=True, check=True
    )
    assert found.stdout == "None None\n"
    return python


def _core_distributions(name, known):
    found = metadata.distribution(name)
    if found.metadata["Name"].lower() not in known:
        known[found.metadata["Name"].lower()] = found
        for text in found.requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                _core_distributions(needed.name, known)
    return known


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(log, line, seconds=60):
    end = time.monotonic() + seconds
    while line not in log.read_text():
        if time.monotonic() > end:
            raise AssertionError(
                f"no {line!r} in {seconds} s:\n{log.read_text()[-2000:]}"
            )
        time.sleep(0.1)
