"""How far a reader walks: the size of the package, and the files that four journeys run through.

A journey is one thing that a user does, from Python or from the command line.  A file counts if a
function of it is called on the way; importing it does not count, so each journey is walked once
before it is traced.
"""

import argparse
import ast
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import seepage

PACKAGE = Path(seepage.__file__).parent


def size() -> tuple[int, int]:
    """Return the number of modules and of lines of code: no blank, comment or docstring lines."""
    files = sorted(PACKAGE.rglob("*.py"))
    return len(files), sum(len(code_lines(file.read_text(encoding="utf-8"))) for file in files)


def javascript() -> tuple[int, int]:
    """Return the lines of JavaScript of the client with its questionnaire, and of other pages."""
    client = PACKAGE / "collection" / "client"
    counted = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in _scripts()}
    inside = sum(lines for file, lines in counted.items() if file.is_relative_to(client))
    return inside, sum(counted.values()) - inside


def _scripts() -> list[Path]:
    return [file for file in PACKAGE.rglob("*") if file.suffix in (".js", ".mjs")]


def code_lines(text: str) -> list[str]:
    """Return the lines of a module that are neither blank, comment nor docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return [
        line
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in documented
    ]


def walked(journey: Callable[[], Any]) -> list[str]:
    """Return the files of the package in which a function is called during a journey."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(PACKAGE)):
            found.add(str(Path(name).relative_to(PACKAGE)))

    journey()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        journey()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(found)


def analyse_csv(folder: Path) -> Callable[[], Any]:
    """Return the journey from a CSV file to its analysis."""
    file = _survey(folder)
    return lambda: seepage.analyse(file, 1.0)


def design_frame(folder: Path) -> Callable[[], Any]:
    """Return the journey from a frame to the plan of a designed collection."""
    from pyarrow import csv

    frame = csv.read_csv(_survey(folder)).select(QUESTIONS)
    return lambda: seepage.design(frame, 2.0)


def perturb_and_estimate(folder: Path) -> Callable[[], Any]:
    """Return the journey from a plan and a table to reports and estimated frequencies."""
    file = _survey(folder)
    plan = seepage.calibrate(file, 2.0, mechanism="grr", columns=QUESTIONS)
    return lambda: plan.estimate(plan.perturb(file))


def command_analyse(folder: Path) -> Callable[[], Any]:
    """Return the journey of `seepage analyse` on a CSV file."""
    from seepage.cli import main

    file = _survey(folder)
    return lambda: main(["analyse", str(file), "--epsilon", "1", "-o", str(folder / "found.txt")])


def _survey(folder: Path) -> Path:
    from pyarrow import csv

    file = folder / "survey.csv"
    csv.write_csv(seepage.make_survey(2_000), file)
    return file


QUESTIONS = ["coffee", "sleep"]

JOURNEYS = {
    "sp.analyse(csv)": analyse_csv,
    "sp.design(frame)": design_frame,
    "plan.perturb and plan.estimate": perturb_and_estimate,
    "seepage analyse": command_analyse,
}


def main() -> None:
    """Print the size and the length of every journey."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="list the files of each journey")
    arguments = parser.parse_args()
    modules, lines = size()
    client, pages = javascript()
    print(f"src: {modules} modules, {lines:,} lines of code")
    print(f"JavaScript: {client:,} lines of client and questionnaire, {pages:,} of the report page")
    for name, start in JOURNEYS.items():
        with tempfile.TemporaryDirectory() as folder:
            files = walked(start(Path(folder)))
        print(f"{name}: {len(files)} files")
        if arguments.files:
            print("".join(f"  {file}\n" for file in files), end="")


if __name__ == "__main__":
    main()
