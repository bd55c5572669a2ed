"""Run the default tests with other versions: `make test-newest`, `make test-oldest`.

The newest versions of all dependencies that `pyproject.toml` admits, or the oldest ones
of the dependencies that it names, are installed into an environment of their own below
`build/`, for the Python that runs this script (`make test-newest PYTHON=python3.13`).
It needs uv.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESOLUTIONS = {"newest": ("--upgrade",), "oldest": ("--resolution", "lowest-direct")}


def install(versions: str, folder: Path) -> Path:
    """Return the Python of a new environment with the package and these versions of the
    rest.
    """
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        sys.exit("test_versions needs uv: pip install uv")
    subprocess.run(
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder],
        check=True,
    )
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    group = f"{ROOT / 'pyproject.toml'}:dev"
    wanted: list[str | Path] = [
        *RESOLUTIONS[versions],
        "--group",
        group,
        "--editable",
        ROOT,
    ]
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--python", python, *wanted], check=True
    )
    return python


def main() -> int:
    """Install the versions asked for and run the tests; further arguments are
    pytest's.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", choices=RESOLUTIONS)
    given, further = parser.parse_known_args()
    name = "python{}.{}-{}".format(*sys.version_info[:2], given.versions)
    python = install(given.versions, ROOT / "build" / name)
    tests = ["-q", "-n", "2", "--dist", "worksteal", "-m", "not slow", *further]
    return subprocess.run([python, "-m", "pytest", *tests], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
