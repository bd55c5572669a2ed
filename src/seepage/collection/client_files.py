"""Files for clients: the questionnaire, or a folder with module, types, plan and test
vectors.

The questionnaire is one self-contained page that asks the questions, perturbs and
sends.
"""

import math
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.files import write_folder
from seepage._core.number_grammar import number_of_text
from seepage.collection.reference_client import (
    WORD,
    answer_code,
    draw_form,
    form_bytes,
    perturb_record,
)
from seepage.mechanisms.randomness import Randomness
from seepage.plan.plan_content import PlanContent
from seepage.plan.wire import Wire

CLIENT = Path(__file__).with_name("client")
"""Folder of the JavaScript module and of the parts of the page."""


MAX_VECTORS = 1_000_000
"""Maximum number of test vectors for the draw of the form, and for each form."""


PACKAGE = (
    b'{"name": "seepage-client", "private": true, "type": "module", '
    b'"main": "seepage.js"}\n'
)
"""The client's package.json."""


def client_plan(plan: PlanContent) -> dict[str, Any]:
    """Return the client plan: the wire form of a plan with its digest."""
    return {
        "format": "seepage client plan",
        "version": 1,
        "collection": plan.collection,
        "wire": plan.wire,
    }


# The folder of a client ---------------------------------------------------------------


def client_vectors(wire: Wire, count: int = 100, *, rng: Any = 0) -> dict[str, Any]:
    """Return test vectors for clients: bytes with the form drawn, and answers with
    bytes and their reports.

    Parameters
    ----------
    wire
        The wire form, see `Plan.wire`.
    count
        Number of vectors for the draw of the form, and for the reports of each form.
    rng
        Seed of answers, raw values among them, and of bytes; all are uniform.

    Returns
    -------
    dict
        `forms`: bytes in hexadecimal and the number of the form; `records`: `form`,
        `answers`, `bytes` and the `report` that `perturb_record` returns for them.

    Examples
    --------
    >>> question = {"attribute": "ill", "draw": "direct", "k": 2, "keep": str(2**63)}
    >>> form = {"until": str(2**64), "type": "product", "questions": [question]}
    >>> wire = {
    ...     "attributes": [{"name": "ill", "values": ["no", "yes"]}],
    ...     "forms": [form],
    ... }
    >>> client_vectors(wire, 1)["records"][0]["report"]
    {'form': 1, 'reports': {'ill': 1}}
    """
    vectors = checks.integer(count, "count", 1, MAX_VECTORS)
    generator = checks.generator(rng)
    source = Randomness(generator)
    words = [source.bytes(WORD).tobytes() for _ in range(vectors)]
    forms = [[data.hex(), draw_form(wire, data)] for data in words]
    records = []
    for form in range(1, len(wire["forms"]) + 1):
        records += [
            _record_vector(wire, form, generator, source) for _ in range(vectors)
        ]
    return {"forms": forms, "records": records}


def _record_vector(
    wire: Wire, form: int, rng: np.random.Generator, source: Randomness
) -> dict[str, Any]:
    """Return a client's test vector: answers of one person drawn uniformly, bytes, and
    the report of them.
    """
    answers = {}
    for attribute in wire["attributes"]:
        values = _raw_values(attribute)
        answers[attribute["name"]] = values[int(rng.integers(len(values)))]
    data = source.bytes(form_bytes(wire, form)).tobytes()
    report = perturb_record(wire, form, answers, data)
    return {"form": form, "answers": answers, "bytes": data.hex(), "report": report}


def _raw_values(attribute: Wire) -> list[str | float | None]:
    """Return an attribute's values for test vectors, and such that clients must code:
    merged, numbers, unseen.
    """
    edges = [edge for edge in attribute.get("edges", ()) if "inf" not in edge]
    texts = [*attribute["values"], *edges]
    spelled = [number_of_text(text) for text in texts]
    numbers = [number for number in spelled if number is not None]
    raw: list[str | float | None] = list(attribute["values"])
    raw += dict(attribute.get("merged", ()))
    raw += edges
    for number in numbers:
        if math.isfinite(number) and answer_code(attribute, number) is not None:
            raw.append(number)
    if "other" in attribute:
        raw += ["never seen", "-1e308", None]
    if "shares" in attribute:
        raw += ["(missing)", None]
    return raw


def write_client(
    plan: PlanContent,
    folder: str | os.PathLike[str],
    *,
    vectors: int = 100,
    force: bool = False,
) -> list[Path]:
    """Write the files of a client into a folder, which is created if it does not exist.

    Parameters
    ----------
    plan
        The plan; clients must be able to draw its mechanisms, see `docs/wire.md`.
    folder
        The folder of `seepage.js`, `seepage.d.ts`, `package.json`, `plan.json` and
        `vectors.json`.
    vectors
        Number of test vectors for the draw of the form, and for the reports of each
        form.
    force
        Replace files of the same names that are not of a client.

    Returns
    -------
    list of Path
        The paths of the files.
    """
    wire = plan.wire
    checks.integer(vectors, "vectors", 1, MAX_VECTORS)
    header = {"format": "seepage test vectors", "plan": plan.collection}
    test_vectors = header | client_vectors(wire, vectors)
    contents = {
        "seepage.js": (CLIENT / "seepage.js").read_bytes(),
        "seepage.d.ts": (CLIENT / "seepage.d.ts").read_bytes(),
        "package.json": PACKAGE,
        "plan.json": msgspec.json.encode(client_plan(plan)) + b"\n",
        "vectors.json": msgspec.json.encode(test_vectors) + b"\n",
    }
    return write_folder(folder, contents, "a client", force=force)
