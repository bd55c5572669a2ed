"""The layers of ARCHITECTURE.md hold, and every module is named there."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from syntax import PACKAGE, nodes_of, tree_of

ROOT = Path(__file__).parents[1]

LAYERS = [
    "_core",
    "channel",
    "counting",
    "tables.table_options",
    "channel.record_origin",
    "channel.records",
    "tables",
    "channel.recoding",
    "channel.merging",
    "channel.pooling",
    "counting.spark",
    "tables.table_records",
    "datasets",
    "tables.read",
    "tables.check",
    "charts",
    "pages.render",
    "leakage",
    "mechanisms",
    "confidence",
    "leakage.curve",
    "leakage.uncertain_matrix",
    "leakage.matrix",
    "leakage.strongest_leaks",
    "totals",
    "calibration",
    "designs",
    "plan",
    "collection",
    "workflow",
    "analysis",
    "auditing",
    "benchmarks",
    "pages",
    "app",
    "cli",
    "__main__",
]
"""Folders, and modules that stand elsewhere than their folder, in import order."""

KNOTS = {
    "tables.table_options": {"tables"},
    "channel.records": {"tables.table_records"},
    "datasets.published_file": {"tables.read"},
    "tables": {"counting.spark"},
    "tables.data_check": {"pages"},
    "workflow.plan": {"pages"},
    "analysis.analysis": {"pages"},
    "analysis.table_comparison": {"pages"},
    "auditing.audit_result": {"pages"},
}
"""Imports downwards that are left, from inside functions: see ARCHITECTURE.md."""


def _place(module):
    """Return the number of the layer of a module, `leakage.matrix`, the closest one."""
    names = [layer for layer in LAYERS if f"{module}.".startswith(f"{layer}.")]
    assert names, f"{module} has no layer"
    return LAYERS.index(max(names, key=len))


def _top_level(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


class Module(NamedTuple):
    """The imports of a module, those that run, its classes, and all that it defines."""

    imports: list[ast.Import | ast.ImportFrom]
    executed: list[ast.Import | ast.ImportFrom]
    classes: list[str]
    defined: list[str]


@cache
def _module(path):
    tree = tree_of(path)
    module = Module([], [], [], list(_defined(tree)))
    for node, runs in _statements(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports.append(node)
            if runs:
                module.executed.append(node)
        elif isinstance(node, ast.ClassDef):
            module.classes.append(node.name)
    return module


def _statements(node, runs=True):
    """Yield all statements below a node, and whether each runs: not under `if
    TYPE_CHECKING`.
    """
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            for_types = (
                isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            )
            yield child, runs and not for_types
            yield from _statements(child, runs and not for_types)


def _defined(tree):
    """Yield the functions and classes of a module, and methods as `Class.method`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (
                f"{node.name}.{n.name}"
                for n in node.body
                if isinstance(n, ast.FunctionDef)
            )


def _dotted(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _imports(path):
    """Yield the modules of the package that a module imports, without `seepage.`."""
    for node in _module(path).executed:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            package = f"{node.module}."
            if package.startswith("seepage."):
                for alias in node.names:
                    name = f"{package}{alias.name}".removeprefix("seepage.")
                    yield name if name in NAMES else name.rpartition(".")[0]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("seepage."):
                    yield alias.name.removeprefix("seepage.")


MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"
)


NAMES = {_dotted(path) for path in MODULES}


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_point_upwards(path):
    own = _dotted(path)
    allowed = {
        layer
        for module, layers in KNOTS.items()
        if f"{own}.".startswith(f"{module}.")
        for layer in layers
    }
    down = [
        name
        for name in _imports(path)
        if name and _place(name) > _place(own) and LAYERS[_place(name)] not in allowed
    ]
    assert not down, f"{own} imports from lower layers: {down}"


def test_the_check_sees_imports_at_all():
    assert "channel.channel" in set(_imports(PACKAGE / "leakage" / "bound.py"))


def test_every_module_is_in_the_architecture_page():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)/?`", page))
    missing = {_top_level(path) for path in MODULES} - named
    assert not missing


def test_the_architecture_page_names_existing_files_and_functions():
    """Every file of the tables exists, and every function is defined in a file of its
    row.
    """
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+) \| (`[^|]+) \|$", page, re.MULTILINE)
    assert len(rows) > 15
    for functions, files in rows:
        defined = set[str]()
        for name in re.findall(r"`([\w/]+\.py)`", files):
            found = [path for path in MODULES if path.as_posix().endswith(f"/{name}")]
            assert found, f"ARCHITECTURE.md names {name}, which does not exist"
            defined |= {name for path in found for name in _module(path).defined}
        missing = (
            set(re.findall(r"`([A-Za-z_]+(?:\.[a-z_]{3,})?)`", functions)) - defined
        )
        assert not missing, f"not defined in {files}: {missing}"


def _private(name):
    return name.startswith("_") and not name.startswith("__")


def _foreign_private_names(nodes, folder):
    """Yield the private names of modules outside a folder that code imports or
    reads.
    """
    modules = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {
                alias.asname: alias.name for alias in node.names if alias.asname
            }
        elif isinstance(node, ast.ImportFrom):
            modules |= {
                a.asname or a.name: f"{node.module}.{a.name}" for a in node.names
            }
            if (
                node.module.startswith("seepage.")
                and node.module.rpartition(".")[0] != folder
            ):
                yield from (
                    f"{node.module}.{a.name}" for a in node.names if _private(a.name)
                )
    for node in nodes:
        if isinstance(node, ast.Attribute) and _private(node.attr):
            owner = ast.unparse(node.value)
            module = modules.get(owner, owner)
            if module.startswith("seepage.") and module.rpartition(".")[0] != folder:
                yield f"{module}.{node.attr}"


def _tests_elsewhere():
    """Yield each module that has no test file of its name, and the file that tests
    it.
    """
    text = (ROOT / "tests" / "tests_of_modules.toml").read_text(encoding="utf-8")
    for folder, modules in tomllib.loads(text).items():
        for module, file in modules.items():
            yield PACKAGE / folder / f"{module}.py", ROOT / "tests" / file


def _has_own_tests(module):
    return any((ROOT / "tests").rglob(f"test_{module.stem}.py"))


def test_every_module_with_logic_has_tests_of_its_name_or_says_where_they_are():
    elsewhere = dict(_tests_elsewhere())
    untested = [
        module
        for module in MODULES
        if any(isinstance(node, ast.FunctionDef) for node in nodes_of(module))
        and not module.stem.startswith("__")
        and module not in elsewhere
        and not _has_own_tests(module)
    ]
    assert not untested, "name their tests in tests/tests_of_modules.toml"


def test_the_list_of_tests_names_existing_modules_and_tests():
    for module, tests in _tests_elsewhere():
        assert module.exists(), module
        assert tests.exists(), tests


def test_a_private_name_stays_in_its_folder():
    """`_x` may be used by modules of the same folder; `seepage._x` modules by all."""
    for path in MODULES:
        folder = ".".join(("seepage", *path.relative_to(PACKAGE).parts[:-1]))
        found = list(_foreign_private_names(nodes_of(path), folder))
        assert not found, f"{path.relative_to(PACKAGE)} uses {found}"


@pytest.mark.parametrize(
    "code",
    [
        "from seepage.leakage.dinkelbach import _ratios",
        "def f():\n    from seepage.leakage.dinkelbach import _ratios",
        "import seepage.leakage.dinkelbach as s; s._ratios",
        "from seepage.leakage.leakage import dinkelbach; dinkelbach._ratios",
        "import seepage.leakage.dinkelbach; seepage.leakage.dinkelbach._ratios",
        "from seepage import _checks; _checks._nonnegative",
    ],
)
def test_the_check_sees_private_names(code):
    assert list(
        _foreign_private_names(
            [*ast.walk(ast.parse(code))], "seepage.tables.table_options"
        )
    )


def test_a_file_name_means_one_thing():
    """Commands are called as what they run, so `cli` is left out."""
    stems = Counter(
        path.stem
        for path in MODULES
        if path.stem != "__init__" and _top_level(path) != "cli"
    )
    assert not [stem for stem, count in stems.items() if count > 1]


def test_a_class_name_means_one_thing():
    names = Counter(name for path in MODULES for name in _module(path).classes)
    assert not [name for name, count in names.items() if count > 1]


def test_a_public_function_name_means_one_thing():
    """Commands are called as what they run, so `cli` is left out."""
    names = Counter(
        node.name
        for path in MODULES
        if _top_level(path) != "cli"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not _private(node.name)
    )
    assert len(names) > 100
    assert not [name for name, count in names.items() if count > 1]


@pytest.mark.parametrize(
    "way",
    [
        r"force_setattr",
        r"\bvars\(sys\.modules",
        r"\bglobals\(\)",
        r"\.__signature__ =",
        r"inspect\.getdoc|inspect\.cleandoc",
    ],
)
def test_no_code_is_made_by_reflection(way):
    """Signatures, fields and dispatch stand in the source."""
    assert not [
        path for path in MODULES if re.search(way, path.read_text(encoding="utf-8"))
    ]


REFERENCE = re.compile(
    r"[\[(;]\s*(theory(?:-\w+)?|(?<=\[)audit)(?:: ([^\])(;]+))?[\]);]"
)


@pytest.mark.parametrize(
    "page",
    [
        "theory",
        "theory-totals",
        "theory-tables",
        "theory-population",
        "theory-certificate",
        "audit",
    ],
)
def test_docstrings_refer_to_sections_that_exist(page):
    """`[theory: The bound]` is the section "The bound" of docs/theory.md."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^## (.+)$", text, re.MULTILINE))
    found = [
        " ".join(section.split())
        for path in MODULES
        for name, section in REFERENCE.findall(path.read_text(encoding="utf-8"))
        if name == page and section
    ]
    assert found
    assert not set(found) - sections
