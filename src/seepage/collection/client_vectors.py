"""Test vectors: bytes and what they must become, so that another client can be checked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from seepage import _checks
from seepage.collection.wire_draws import WORD, draw_form, form_bytes, perturb_record
from seepage.mechanisms.randomness import Randomness

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
