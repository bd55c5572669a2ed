"""Every exported name is documented, has an example where it computes, and is loaded
lazily.
"""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import seepage as sp

PUBLIC = [name for name in sp.__all__ if not name.startswith("__")]
ROOT = Path(__file__).parents[1]
REFERENCE = {
    page.name: page.read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs" / "reference").glob("*.md"))
}


def test_there_are_public_names():
    assert len(PUBLIC) >= 20


def test_lazy_names_and_exports_agree():
    stub = (ROOT / "src/seepage/__init__.pyi").read_text(encoding="utf-8")
    assert set(re.findall(r" as (\w+),?$", stub, re.M)) == set(PUBLIC)
    assert dir(sp) == sorted(sp.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_exported_name_is_documented(name):
    exported = getattr(sp, name)
    assert inspect.getdoc(exported), f"{name} has no docstring"
    assert f"[`{name}" in REFERENCE["index.md"], (
        f"{name} is not in docs/reference/index.md"
    )
    full = [
        page for page, text in REFERENCE.items() if f"\n::: seepage.{name}\n" in text
    ]
    assert len(full) == 1, f"{name} is not in one page of docs/reference"


def test_the_reference_is_current():
    spec = importlib.util.spec_from_file_location(
        "make", ROOT / "scripts" / "make_reference.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.pages() == REFERENCE, "run scripts/make_reference.py"


def test_the_reference_shows_the_signature_of_every_function():
    griffe = pytest.importorskip("griffe")
    extension = griffe.load_extensions(ROOT / "scripts" / "reference_signatures.py")
    package = griffe.load(
        "seepage",
        search_paths=[ROOT / "src"],
        extensions=extension,
        allow_inspection=False,
    )
    functions = {
        name: getattr(sp, name)
        for name in PUBLIC
        if inspect.isfunction(getattr(sp, name))
    }
    assert {"analyse", "calibrate", "count_pairs", "design", "leakage_matrix"} <= set(
        functions
    )
    for name, function in functions.items():
        shown = package[function.__module__.removeprefix("seepage.")][name]
        assert [one.name.lstrip("*") for one in shown.parameters] == [
            *inspect.signature(function).parameters
        ]
        assert shown.docstring.value == inspect.getdoc(function)


@pytest.mark.parametrize(
    "name", [n for n in PUBLIC if inspect.isfunction(getattr(sp, n))]
)
def test_exported_function_has_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(sp, name))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute leakage_of_everything"):
        sp.leakage_of_everything  # noqa: B018


def test_every_name_can_be_loaded_at_once():
    """As SPEC 1 asks: with EAGER_IMPORT a name that cannot be loaded ends the import.

    Names are loaded in the order of a set, so in another one for each hash seed.
    """
    loaded = "import sys, seepage; print('seepage.totals.total' in sys.modules)"
    done = {
        (eager, seed): subprocess.run(
            [sys.executable, "-W", "error", "-c", loaded],
            env={**os.environ, "EAGER_IMPORT": eager, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        for eager, seed in [("", "1"), ("1", "1"), ("1", "2"), ("1", "3")]
    }
    for (eager, _), process in done.items():
        assert process.stdout == f"{bool(eager)}\n", process.stderr


HELP = """
import sys
from seepage.cli import COMMANDS, main

for name in ["", *COMMANDS]:
    try:
        main([*name.split(), "--help"])
    except SystemExit as end:
        assert not end.code, name
    heavy = HEAVY & {module.split(".")[0] for module in sys.modules}
    assert not heavy, f"{name} --help imports {heavy}"
"""


def test_help_does_not_load_the_heavy_parts():
    """Help of every command is quick; NumPy alone takes longer to import than all of
    it.
    """
    heavy = {
        "numpy",
        "scipy",
        "pyarrow",
        "numba",
        "pandas",
        "altair",
        "jinja2",
        "msgspec",
        "rich",
    }
    done = subprocess.run(
        [sys.executable, "-c", HELP.replace("HEAVY", repr(heavy))],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: seepage") == 19


COUNTED = """
import sys
from seepage.cli import main

try:
    main(["analyse", "adult"])
except SystemExit as end:
    assert not end.code
print({"pandas", "narwhals", "altair"} & set(sys.modules))
"""


def test_an_analysis_of_bundled_counts_loads_no_readers_of_frames():
    """It takes under a second; pandas and Narwhals alone take .3 s."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "set()"
