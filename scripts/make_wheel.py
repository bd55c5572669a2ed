"""Build the wheel into dist/, or take the one that is given, and try it: `make wheel`.

In a new virtual environment with nothing but the wheel and what it depends on, outside
the clone, `seepage analyse adult` runs, and README's first Python example prints what
README shows.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]


def build(python: Path, folder: Path) -> Path:
    """Return the wheel of this clone, made by pip."""
    _run(
        python,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        folder,
        ROOT,
    )
    return max(folder.glob("seepage-*.whl"), key=lambda path: path.stat().st_mtime)


def check_files(wheel: Path) -> None:
    """Check that the wheel has all files of the package, and nothing beside them."""
    sources = ROOT / "src"
    wanted = {
        path.relative_to(sources).as_posix()
        for path in (sources / "seepage").rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in (".nbi", ".nbc")
    }
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if held != wanted:
        sys.exit(f"{wheel.name} differs from src/: {sorted(held ^ wanted)[:5]}")


def try_out(python: Path, folder: Path) -> None:
    """Run the command and the example, as somebody who has only installed the wheel."""
    seepage = python.with_name("seepage")
    told = _run(seepage, "analyse", "adult", cwd=folder)
    if not told.startswith("adult: 48,842 records, 15 attributes"):
        sys.exit(f"seepage analyse adult printed {told[:200]!r}")
    code, shown = example()
    printed = _run(python, "-c", code, cwd=folder)
    if printed != shown:
        sys.exit(f"README's example printed\n{printed}where README shows\n{shown}")


def example() -> tuple[str, str]:
    """Return README's first Python example and the output shown under it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n```\n(.*?)```", text, re.DOTALL)
    if found is None:
        sys.exit("README.md has no Python example with its output")
    return found[1], found[2]


def _run(*words: str | Path, cwd: Path = ROOT) -> str:
    """Return what a command prints; end with what it complains about if it fails."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON")
    }
    own.pop("SEEPAGE_DATA", None)
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=own, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(given: Path = ROOT / "dist") -> None:
    """Install and try a wheel, or one that is built into a folder."""
    with tempfile.TemporaryDirectory() as empty:
        venv.create(Path(empty) / "venv", with_pip=True)
        python = Path(empty) / "venv" / "bin" / "python"
        wheel = given if given.suffix == ".whl" else build(python, given)
        check_files(wheel)
        _run(python, "-m", "pip", "install", "--quiet", wheel)
        try_out(python, Path(empty))
    print(
        f"{wheel.relative_to(ROOT) if wheel.is_relative_to(ROOT) else wheel} works "
        "when installed"
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
