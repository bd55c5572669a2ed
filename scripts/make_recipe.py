"""Write the recipe of conda-forge for a release: `scripts/make_recipe.py
dist/*.tar.gz`.

Requirements are those of `pyproject.toml`, the checksum that of the source distribution
as PyPI has it; the recipe is written beside it.  The owner of the repository, which
GitHub states to the workflow that releases, is its maintainer.  `conda-smithy
recipe-lint` checks it; the first one is then a pull request to conda-forge's
staged-recipes, and the later ones are made there by its bots.
"""

import hashlib
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

RENAMED = {"lazy_loader": "lazy-loader"}
"""Names of packages on conda-forge that are not those of PyPI."""

NOBODY = "to-be-stated"
"""The maintainer where nobody states whose repository is built."""

RECIPE = """\
schema_version: 1

context:
  version: "{version}"
  python_min: "{python}"

package:
  name: {name}
  version: ${{{{ version }}}}

source:
  url: {folder}/{name}-${{{{ version }}}}.tar.gz
  sha256: {sha256}

build:
  number: 0
  noarch: python
  script: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
      - {name} = {entry}

requirements:
  host:
    - python ${{{{ python_min }}}}.*
    - hatchling
    - pip
  run:
    - python >=${{{{ python_min }}}}
{requirements}

tests:
  - python:
      imports:
        - {name}
      pip_check: true
      python_version: ${{{{ python_min }}}}.*
  - requirements:
      run:
        - python ${{{{ python_min }}}}.*
    script:
      - {name} --version

about:
  summary: {summary}
  license: {license}
  license_file: LICENSE
  homepage: {homepage}

extra:
  recipe-maintainers:
    - {maintainer}
"""


def recipe(source: Path, repository: str | None = None) -> str:
    """Return the recipe for a source distribution, with the owner of the repository as
    its maintainer.
    """
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    name = project["name"]
    homepage = f"https://pypi.org/project/{name}/"
    maintainer = NOBODY
    if repository is not None:
        homepage = f"https://github.com/{repository}"
        maintainer = repository.partition("/")[0]
    requirements = sorted(map(_requirement, project["dependencies"]))
    return RECIPE.format(
        name=name,
        folder=f"https://pypi.org/packages/source/{name[0]}/{name}",
        version=source.name.removeprefix(f"{name}-").removesuffix(".tar.gz"),
        python=project["requires-python"].removeprefix(">="),
        sha256=hashlib.sha256(source.read_bytes()).hexdigest(),
        entry=project["scripts"][name],
        requirements="\n".join(f"    - {line}" for line in requirements),
        summary=project["description"],
        license=project["license"],
        homepage=homepage,
        maintainer=maintainer,
    )


def _requirement(line: str) -> str:
    """Return a requirement as conda writes it; markers of machines are left out, as
    conda-forge builds all packages for its machines.
    """
    stated = re.fullmatch(r"([\w-]+)>=([\d.]+)(;.*)?", line)
    if stated is None:
        sys.exit(f"make_recipe does not know how conda writes {line!r}")
    name = RENAMED.get(stated[1], stated[1])
    return f"{name} >={stated[2]}"


def write_recipe(source: Path) -> Path:
    """Write the recipe beside a source distribution; return its path."""
    file = source.with_name("recipe.yaml")
    file.write_text(recipe(source, os.environ.get("GITHUB_REPOSITORY")), "utf-8")
    return file


if __name__ == "__main__":
    print(write_recipe(Path(sys.argv[1])))
