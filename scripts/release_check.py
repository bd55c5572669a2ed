"""Check that this commit can be released: `make release-check`, with `TAG=v1.0.0` for
that tag.

In a clean clone: versions agree; wheel and sdist build, have valid metadata, and the
wheel works in an empty environment; the client packs, and works in an empty project of
npm; all tests pass, which build the documentation and run its notebooks and the
commands of README.  What is released is left in `dist/`, with the recipe of conda-forge
for it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILDERS = ("build==1.6.1", "twine==7.0.0")
CLIENT = Path("src") / "seepage" / "collection" / "client"
IMPORTED = """
import { loadPlan, memoryStorage, Respondent } from "seepage";
import { readFile } from "node:fs/promises";

const plan = await loadPlan(await readFile(process.argv[2], "utf8"));
const person = new Respondent(plan, { storage: memoryStorage() });
const { questions } = await person.form();
const answers = Object.fromEntries(
  questions.map(({ attribute, values }) => [attribute, values[0]]),
);
console.log(Object.keys(await person.report(answers)).join(" "));
"""


def versions(root: Path = ROOT) -> Iterator[tuple[str, str | None]]:
    """Yield every place that states the version, and the version that it states."""
    package = (root / "src" / "seepage" / "__init__.py").read_text(encoding="utf-8")
    yield "src/seepage/__init__.py", _found(r'^__version__ = "(.+)"$', package)
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    yield "CHANGELOG.md", _found(r"^## (\d\S*)", changelog)
    yield (
        "CITATION.cff",
        _found(r"^version: (.+)$", (root / "CITATION.cff").read_text("utf-8")),
    )
    yield (
        "package.json",
        json.loads((root / CLIENT / "package.json").read_text("utf-8"))["version"],
    )


def _found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.MULTILINE)
    return match and match[1]


def check_versions(root: Path, tag: str | None) -> str:
    """Return the version that all places state; end if they differ, or if the tag
    does.
    """
    stated = {
        **dict(versions(root)),
        **({"the tag": tag.removeprefix("v")} if tag else {}),
    }
    if len(set(stated.values())) != 1:
        sys.exit(f"versions differ: {stated}")
    return str(next(iter(stated.values())))


def pack_client(root: Path, folder: Path, plan: Path) -> Path:
    """Return the client packed with its licence, tried in an empty project.

    npm publishes it only if `repository` is that of the workflow, which GitHub states.
    """
    with tempfile.TemporaryDirectory() as temporary:
        package = Path(temporary) / "package"
        shutil.copytree(root / CLIENT, package)
        shutil.copy2(root / "LICENSE", package)
        if repository := os.environ.get("GITHUB_REPOSITORY"):
            address = f"repository.url=git+https://github.com/{repository}.git"
            _run("npm", "pkg", "set", "repository.type=git", address, cwd=package)
        packed = _run(
            "npm", "pack", "--silent", "--pack-destination", folder, cwd=package
        )
    archive = folder / packed.strip()
    with tempfile.TemporaryDirectory() as empty:
        project = Path(empty)
        (project / "package.json").write_text(
            '{"private": true, "type": "module"}', "utf-8"
        )
        (project / "try.js").write_text(IMPORTED, "utf-8")
        _run("npm", "install", "--silent", archive, cwd=project)
        told = _run("node", "try.js", plan, cwd=project)
    if not told.startswith("plan id form report"):
        sys.exit(f"the packed client drew {told!r}")
    return archive


def _run(*words: str | Path, cwd: Path) -> str:
    """Return what a command prints; its complaints are shown."""
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}")
    return done.stdout


def _say(what: str) -> None:
    print(what, flush=True)


def main(tag: str | None = None) -> None:
    """Check everything in a clean clone of this commit."""
    with tempfile.TemporaryDirectory() as temporary:
        clone = Path(temporary) / "clone"
        made = Path(temporary) / "dist"
        _run("git", "clone", "--quiet", ROOT, clone, cwd=ROOT)
        _say(f"version {check_versions(clone, tag)}")
        venv.create(Path(temporary) / "venv", with_pip=True)
        python = Path(temporary) / "venv" / "bin" / "python"
        _run(python, "-m", "pip", "install", "--quiet", *BUILDERS, cwd=clone)
        _run(python, "-m", "build", "--outdir", made, cwd=clone)
        _run(python, "-m", "twine", "check", "--strict", *made.iterdir(), cwd=clone)
        _say("wheel and sdist: metadata is valid")
        _say(
            _run(
                python, "scripts/make_wheel.py", *made.glob("*.whl"), cwd=clone
            ).strip()
        )
        [source] = made.glob("*.tar.gz")
        _run(python, "scripts/make_recipe.py", source, cwd=clone)
        _run("make", "test", cwd=clone)
        _say("documentation, notebooks, README and tests: pass")
        seepage = clone / ".venv" / "bin" / "seepage"
        plan = Path(temporary) / "plan.json"
        limits = ["--limit", "3", "--guarantee", "worst", "-o", str(plan)]
        _run(
            seepage, "calibrate", "adult", "--columns", "sex,income", *limits, cwd=clone
        )
        _run(seepage, "client", plan, "-o", Path(temporary) / "client", cwd=clone)
        client = pack_client(clone, made, Path(temporary) / "client" / "plan.json")
        _say(f"{client.name}: works")
        (ROOT / "dist").mkdir(exist_ok=True)
        for file in made.iterdir():
            shutil.copy2(file, ROOT / "dist" / file.name)
    _say("ready: the files are in dist/")


if __name__ == "__main__":
    main(*sys.argv[1:2])
