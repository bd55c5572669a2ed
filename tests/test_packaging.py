"""What a tag releases: one version everywhere, and a client that works as a package of
npm.
"""

import hashlib
import importlib.util
import json
import re
import shutil
import sys
import tarfile
import tomllib
from types import ModuleType, SimpleNamespace

import pytest

import seepage as sp
from pictures import ROOT, script
from seepage.collection.client_files import CLIENT

release = script("release_check")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_file_states_the_same_version(tmp_path):
    assert release.check_versions(ROOT, f"v{sp.__version__}") == sp.__version__
    with pytest.raises(SystemExit, match="versions differ"):
        release.check_versions(ROOT, "v0.0.1")


def test_the_first_number_of_the_client_is_that_of_the_wire():
    stated = re.search(
        r"^const VERSION = (\d+);", (CLIENT / "seepage.js").read_text(), re.M
    )
    assert dict(release.versions())["package.json"].split(".")[0] == stated[1]


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")))
def test_workflows_run_nothing_that_can_change_unseen(path):
    """Actions by their commit, and no tool in whatever version is newest."""
    text = path.read_text(encoding="utf-8")
    actions = re.findall(r"uses: (\S+)", text)
    assert actions
    assert not [name for name in actions if not re.search("@[0-9a-f]{40}$", name)]
    assert not re.search(r"(pipx run|pip install) (?!\S+==)|\b(uvx|npx)\b", text)


def test_both_packages_are_published_with_provenance():
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert re.search(r"gh-action-pypi-publish@.*\n +with:\n +attestations: true", text)
    assert "npm publish --provenance" in text
    assert not re.search(r"secrets\.|password|NODE_AUTH_TOKEN", text)


def test_users_are_offered_no_extra_of_developers():
    assert set(PROJECT["project"]["optional-dependencies"]) == {"spark"}
    assert set(PROJECT["dependency-groups"]) == {"bench", "dev", "docs"}


def test_the_locks_hold_what_is_asked_for():
    """A requirement that `make lock` has not seen would be missing, or too old."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["spark"]]
    asked += [*groups["dev"], *groups["docs"]]
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    for requirement in asked:
        name = re.match(r"[\w-]+", requirement)[0].replace("_", "-")
        floor = re.search(r">=([\d.]+)", requirement)[1]
        locked = re.search(rf"^{name}==([\d.]+)", lock, re.MULTILINE)[1]
        assert _numbers(locked) >= _numbers(floor), requirement


def test_every_oldest_version_has_its_reason():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text[text.index("\ndependencies = [") : text.index("\n]\n\n[project.opt")]
    lines = listed.splitlines()[2:]
    assert len(lines) == len(PROJECT["project"]["dependencies"])
    assert not [line for line in lines if not re.search(r'", # \w', line)]


def _numbers(version):
    return [int(number) for number in version.strip(".").split(".")]


@pytest.mark.parametrize("repository", [None, "somebody/seepage"])
def test_the_addresses_are_those_of_the_repository_that_is_built(
    repository, monkeypatch
):
    """None where nobody states one: an address that does not exist is worse."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = SimpleNamespace
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    hook = ROOT / PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["path"]
    spec = importlib.util.spec_from_file_location("project_urls", hook)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    if repository:
        monkeypatch.setenv("GITHUB_REPOSITORY", repository)
    metadata = {}
    module.ProjectUrls().update(metadata)
    if repository is None:
        assert metadata == {}
    else:
        assert metadata["urls"]["Source"] == "https://github.com/somebody/seepage"
        assert set(metadata["urls"]) == {"Source", "Issues", "Changelog", "Security"}


def test_the_recipe_of_conda_forge_asks_for_what_the_package_does(tmp_path):
    yaml = pytest.importorskip("yaml")
    source = tmp_path / "seepage-1.2.3.tar.gz"
    source.write_bytes(b"made")
    recipe = yaml.safe_load(script("make_recipe").recipe(source, "somebody/seepage"))
    assert recipe["context"] == {"version": "1.2.3", "python_min": "3.11"}
    assert recipe["source"]["sha256"] == hashlib.sha256(b"made").hexdigest()
    assert recipe["about"]["homepage"] == "https://github.com/somebody/seepage"
    assert recipe["extra"] == {"recipe-maintainers": ["somebody"]}
    python, *rest = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    asked = {line.split(";")[0] for line in PROJECT["project"]["dependencies"]}
    renamed = {line.replace(" ", "").replace("lazy-", "lazy_") for line in rest}
    assert renamed == asked
    [script_line] = recipe["build"]["python"]["entry_points"]
    assert script_line == "seepage = " + PROJECT["project"]["scripts"]["seepage"]


def test_the_recipe_is_not_sent_to_pypi():
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert re.search(r"run: rm .*dist/recipe\.yaml", text)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_the_packed_client_works_in_an_empty_project(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_REPOSITORY", "somebody/seepage")
    plan = sp.calibrate("adult", 3.0, columns=["sex", "income"], guarantee="worst")
    plan.write_client(tmp_path / "client")
    archive = release.pack_client(ROOT, tmp_path, tmp_path / "client" / "plan.json")
    assert archive.name == f"seepage-{sp.__version__}.tgz"
    with tarfile.open(archive) as packed:
        names = {"LICENSE", "README.md", "package.json", "seepage.d.ts", "seepage.js"}
        assert set(packed.getnames()) == {f"package/{name}" for name in names}
        described = json.load(packed.extractfile("package/package.json"))
    assert (
        described["repository"]["url"] == "git+https://github.com/somebody/seepage.git"
    )
