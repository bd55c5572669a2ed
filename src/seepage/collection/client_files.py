"""A plan for clients as files: module, types, plan and test vectors in one folder."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seepage import _checks
from seepage._files import whole_file
from seepage.collection.questionnaire import CLIENT, client_plan
from seepage.collection.wire_draws import WORD, draw_form, form_bytes, perturb_record
from seepage.errors import InputError
from seepage.mechanisms.randomness import Randomness
from seepage.plan.plan import Plan

MOST_VECTORS = 1_000_000


def client_vectors(wire: Mapping[str, Any], count: int = 100, *, seed: int = 0) -> dict[str, Any]:
    """Return pairs of bytes and forms, and of answers with bytes and reports.

    Parameters
    ----------
    wire
        What `Plan.wire` returns.
    count
        How many pairs for the draw of the form, and for the reports of each form.
    seed
        Of answers and bytes; both are uniform.

    Returns
    -------
    dict
        `forms`: bytes in hexadecimal and the number of the form; `records`: `form`, `answers`,
        `bytes` and the `report` that `perturb_record` makes of them.

    Examples
    --------
    >>> question = {"attribute": "ill", "draw": "direct", "k": 2, "keep": str(2**63)}
    >>> form = {"until": str(2**64), "type": "product", "questions": [question]}
    >>> wire = {"attributes": [{"name": "ill", "values": ["no", "yes"]}], "forms": [form]}
    >>> client_vectors(wire, 1)["records"][0]["report"]
    {'form': 1, 'reports': {'ill': 1}}
    """
    pairs = _checks.integer(count, "count", 1, MOST_VECTORS)
    rng = np.random.default_rng(_checks.integer(seed, "seed", 0))
    source = Randomness(rng)
    words = [source.bytes(WORD).tobytes() for _ in range(pairs)]
    records = [
        _record(wire, form, rng, source)
        for form in range(1, len(wire["forms"]) + 1)
        for _ in range(pairs)
    ]
    return {"forms": [[data.hex(), draw_form(wire, data)] for data in words], "records": records}


def _record(
    wire: Mapping[str, Any], form: int, rng: np.random.Generator, source: Randomness
) -> dict[str, Any]:
    answers = {
        attribute["name"]: attribute["values"][int(rng.integers(len(attribute["values"])))]
        for attribute in wire["attributes"]
    }
    data = source.bytes(form_bytes(wire, form)).tobytes()
    report = perturb_record(wire, form, answers, data)
    return {"form": form, "answers": answers, "bytes": data.hex(), "report": report}


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
