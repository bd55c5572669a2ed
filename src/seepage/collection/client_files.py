"""A plan for clients as files: module, types, plan and test vectors in one folder."""

import os
from pathlib import Path

import msgspec

from seepage import _checks
from seepage._files import whole_file
from seepage.collection.client_vectors import client_vectors
from seepage.collection.questionnaire import CLIENT, client_plan
from seepage.errors import InputError
from seepage.plan.plan import Plan

PACKAGE = b'{"name": "seepage-client", "private": true, "type": "module", "main": "seepage.js"}\n'


def write_client(plan: Plan, folder: str | os.PathLike[str], *, vectors: int = 100) -> list[Path]:
    """Write all that a client needs into a folder, which is made where there is none.

    Parameters
    ----------
    plan
        The plan; its mechanisms must be ones that a client can draw.
    folder
        Where to write `seepage.js`, `seepage.d.ts`, `package.json`, `plan.json` and
        `vectors.json`.
    vectors
        How many test vectors for the draw of the form, and for the reports of each form.

    Returns
    -------
    list of Path
        The files.
    """
    plan.check_certified()
    wire = plan.wire
    place = _checks.path(folder, "folder")
    contents = {
        **{name: (CLIENT / name).read_bytes() for name in ("seepage.js", "seepage.d.ts")},
        "package.json": PACKAGE,
        "plan.json": msgspec.json.encode(client_plan(plan)) + b"\n",
        "vectors.json": msgspec.json.encode(
            {"plan": plan.collection, **client_vectors(wire, vectors)}
        )
        + b"\n",
    }
    _check_ours(place)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"cannot make the folder {str(place)!r}: {problem.strerror}") from None
    for name, content in contents.items():
        with whole_file(place / name) as file:
            file.write(content)
    return [place / name for name in contents]


def _check_ours(folder: Path) -> None:
    """Raise where a file would be replaced that this module did not write: the plan itself, say."""
    for name, begin in (("package.json", PACKAGE), ("plan.json", b'{"format":"seepage client')):
        file = folder / name
        if file.exists() and not (file.is_file() and file.read_bytes().startswith(begin)):
            raise InputError(f"{str(file)!r} exists and is no file of a client; take a new folder")
