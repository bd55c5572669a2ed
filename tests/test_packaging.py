"""What a tag releases: one version everywhere, and a client that works as a package of
npm.
"""

import json
import re
import shutil
import tarfile

import pytest

import seepage as sp
from pictures import ROOT, script
from seepage.collection.client_files import CLIENT

release = script("release_check")


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
    assert not re.search(r"pipx run (?!\S+==)|\b(uvx|npx)\b", text)


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
