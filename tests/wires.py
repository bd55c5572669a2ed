"""Wires, exact chances and vectors that the tests of clients share."""

import hashlib
import json
import math
import shutil
import subprocess
from collections import defaultdict
from fractions import Fraction
from itertools import accumulate, pairwise, product
from pathlib import Path

import numpy as np
import pytest

import seepage
from seepage.channel.domain import Attribute
from seepage.mechanisms.direct import GRR, Exponential
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.subset_selection import SubsetSelection
from seepage.mechanisms.transition_matrix import MatrixMechanism
from seepage.mechanisms.unary import OUE, RAPPOR
from seepage.plan.wire import attribute_wire, mechanism_wire

CLIENT = Path(seepage.__file__).parent / "collection" / "client"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="Node is not installed: `make node`"
)

MECHANISMS = {
    "grr": GRR(5, 1.3),
    "exp": Exponential(3, 2.0),
    "ss": SubsetSelection(7, 0.4),
    "oue": OUE(4, 1.0),
    "rappor": RAPPOR(3, 0.7),
    "matrix": MatrixMechanism([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]),
}
"""One of each type that a client can draw, whose k mostly does not divide 2^64."""


def evenly(words, parts):
    """How many of so many words fall to each part, in exact integers."""
    ends = [-(-words * part // parts) for part in range(parts + 1)]
    return [high - low for low, high in pairwise(ends)]


def exact_chances(channel, code):
    """P(report given value) of a channel of the wire, as exact fractions by report."""
    chances = defaultdict(Fraction)
    k = channel["k"]
    if channel["draw"] == "direct":
        keep = int(channel["keep"])
        for value, count in enumerate(evenly(CERTAIN - keep, k)):
            chances[value] = Fraction(count + keep * (value == code), CERTAIN)
    elif channel["draw"] == "matrix":
        for output, count in enumerate(channel["thresholds"][code]):
            chances[output] = Fraction(int(count), CERTAIN)
    elif channel["draw"] == "bits":
        true = int(channel["true"])
        other = int(channel["other"])
        for bits in product((0, 1), repeat=k):
            parts = [
                Fraction(limit if bit else CERTAIN - limit, CERTAIN)
                for bit, limit in zip(
                    bits, [true if v == code else other for v in range(k)], strict=True
                )
            ]
            chances[tuple(v for v in range(k) if bits[v])] += math.prod(parts)
    else:
        for forced in (True, False):
            weight = Fraction(int(channel["force"]), CERTAIN)
            for subset, part in _subsets(
                k, channel["size"], code if forced else None
            ).items():
                chances[subset] += (weight if forced else 1 - weight) * part
    return dict(chances)


def _subsets(k, size, forced):
    """The exact chances of subsets by steps of Fisher and Yates."""
    row = list(range(k))
    if forced is not None:
        row[0], row[forced] = row[forced], row[0]
    states = {tuple(row): Fraction(1)}
    for index in range(forced is not None, size):
        following = defaultdict(Fraction)
        for state, chance in states.items():
            for step, count in enumerate(evenly(CERTAIN, k - index)):
                moved = list(state)
                moved[index], moved[index + step] = moved[index + step], moved[index]
                following[tuple(moved)] += chance * Fraction(count, CERTAIN)
        states = following
    subsets = defaultdict(Fraction)
    for state, chance in states.items():
        subsets[tuple(sorted(state[:size]))] += chance
    return subsets


def shares(*parts):
    """Cumulative shares out of 2^64, as a wire has them."""
    whole = [int(part * CERTAIN) for part in parts]
    whole[-1] = CERTAIN - sum(whole[:-1])
    return [str(end) for end in accumulate(whole)]


def attribute(name, k):
    return {"name": name, "values": [f"{name}{value}" for value in range(k)]}


def wire_of(attributes, forms):
    return {
        "format": "seepage collection",
        "version": 1,
        "attributes": attributes,
        "forms": forms,
    }


def one_question_wire(mechanism):
    """The wire of a collection that asks one question."""
    question = {"attribute": "x", **mechanism_wire(mechanism)}
    form = {"until": str(CERTAIN), "type": "product", "questions": [question]}
    return wire_of([attribute("x", mechanism.k)], [form])


RAW = [
    Attribute(
        "days", ("0", "1 to 5", "6 or more"), (-math.inf, 1, 6, math.inf), (("*", "0"),)
    ),
    Attribute("size", ("(missing)", "[0, 1)", "[1, 2.5)", "[2.5, 4]"), (0, 1, 2.5, 4)),
    Attribute("dose", ("[0, 1)", "[1, 2]"), (0, 1, 2), (("(missing)", "[1, 2]"),)),
    Attribute("job", ("nurse", "(other)", "(missing)")),
    Attribute("rank", ("low", "mid to top"), (), (("mid", "mid to top"), ("*", "low"))),
    Attribute("sex", ("F", "M")),
    Attribute("mood", ("bad", "good"), shares=(30, 70)),
    Attribute("town", ("ulm", "(other)"), (), (("bern", "(other)"),), (99, 1)),
    Attribute(
        "hours",
        ("up to 4", "5 or more"),
        (-math.inf, 5, math.inf),
        (("refused", "(missing)"),),
        (0, 100),
        protects_missing=True,
    ),
]
"""Attributes that code raw values: of intervals, merged ones, unseen ones, or none."""


def raw_wire():
    """The wire of a collection that asks for all attributes of `RAW`, whose reports are
    true.
    """
    questions = [
        {
            "attribute": one.name,
            "k": one.size,
            "draw": "direct",
            "keep": str(CERTAIN - 1),
        }
        for one in RAW
    ]
    form = {"until": str(CERTAIN), "type": "product", "questions": questions}
    return wire_of([attribute_wire(one) for one in RAW], [form])


def three_forms_wire():
    """Three forms: two questions, one question, and one report of two answers
    together.
    """
    sizes = {"a": 5, "b": 7, "c": 3}
    rng = np.random.default_rng(1)
    together = MatrixMechanism(rng.dirichlet(np.full(6, 9.0), sizes["c"] * sizes["a"]))
    first, second, third = shares(0.5, 0.3, 0.2)
    joint = {
        "type": "matrix",
        "attributes": ["c", "a"],
        "thresholds": mechanism_wire(together)["thresholds"],
    }
    return wire_of(
        [attribute(name, k) for name, k in sizes.items()],
        [
            {
                "until": first,
                "type": "product",
                "questions": [
                    {"attribute": "b", **mechanism_wire(SubsetSelection(7, 0.4))},
                    {"attribute": "a", **mechanism_wire(GRR(5, 1.3))},
                ],
            },
            {
                "until": second,
                "type": "product",
                "questions": [{"attribute": "c", **mechanism_wire(OUE(3, 2.0))}],
            },
            {**joint, "until": third},
        ],
    )


def open_forms_wire():
    """Three forms, of whose questions a person may leave two open."""
    wire = three_forms_wire()
    attributes = {one["name"]: one for one in wire["attributes"]}
    attributes["a"]["shares"] = [20, 0, 79, 0, 1]
    attributes["c"]["shares"] = [50, 25, 25]
    return wire


def client_file(wire):
    """What a client loads: the wire form and its digest."""
    content = json.dumps(
        wire, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return {"collection": hashlib.sha256(content.encode()).hexdigest(), "wire": wire}


def install_client(folder):
    """Copy the module into a folder where Node takes it for an ES module; return its
    path.
    """
    (folder / "package.json").write_text('{"type": "module"}')
    return shutil.copy(CLIENT / "seepage.js", folder)


class Client:
    """A process of Node that runs jobs of `client_driver.mjs`, to be closed."""

    def __init__(self, module):
        driver = Path(__file__).with_name("client_driver.mjs")
        self._node = subprocess.Popen(
            [NODE, driver, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, **job):
        self._node.stdin.write(json.dumps(job) + "\n")
        self._node.stdin.flush()
        done = self._node.stdout.readline()
        assert done, "Node has ended"
        done = json.loads(done)
        assert "result" in done, done["stack"]
        return done["result"]

    def close(self):
        self._node.communicate()
