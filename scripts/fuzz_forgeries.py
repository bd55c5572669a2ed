"""Forged plans: claims that their own forms refute, with the digest that fits them."""

import importlib
import itertools
import math
import random
from pathlib import Path
from typing import Any

from fuzz_designs import chances

Rows = list[list[float]]

SETTINGS = (
    "known",
    "columns",
    "too rare",
    "protected",
    "fixing records",
    "people",
    "precision",
    "objective",
    "title",
    "author",
    "want",
    "design",
    "seed",
    "scope",
    "records",
)
"""Settings that a plan states."""

JUNK: tuple[Any, ...] = (
    None,
    "x",
    -1,
    0,
    1e300,
    [],
    [1],
    ["sex"],
    {},
    {"a": 1},
    {"same": {"a": "b"}},
    True,
    "\x1b[2J",
    [["sex"]],
)
"""Values of settings."""


def draw_plan(rng: random.Random) -> Any:
    """Return an honest plan of one or two forms over three attributes of two values."""
    import seepage as sp
    from seepage.channel.domain import Attribute, Domain
    from seepage.designs.forms.form import Form

    names = ("sex", "ill", "job")
    domain = Domain(Attribute(name, ("no", "yes")) for name in names)
    records = sp.Records(domain, [[0, 0, 0], [1, 0, 1], [0, 1, 1]], [50, 30, 20])
    guarantee = rng.choice(["exact", "worst"])
    forms = []
    for _ in range(rng.randint(1, 2)):
        channel = draw_channel(rng, rng.sample(names, rng.randint(1, 2)))
        forms.append(Form.of(channel, guarantee, [channel.record + 1e-9] * len(names)))
    claim: dict[str, Any] = {"scope": "table"}
    if rng.random() < 0.5:
        claim = {"scope": "population", "confidence": 0.95}
    examples = importlib.import_module("plan_examples")
    return examples.plan_of_forms(records.pairs(), forms, **claim)


def draw_channel(rng: random.Random, names: list[str]) -> Any:
    """Return a product, a random matrix, or one that sends nearly the answers."""
    import numpy as np

    from seepage.designs.forms.form_channels import MatrixChannel, ProductChannel
    from seepage.designs.forms.question import Question
    from seepage.mechanisms.transition_matrix import MatrixMechanism

    cells = 2 ** len(names)
    if rng.random() < 0.4:
        questions = [
            Question(
                attribute=name,
                mechanism=rng.choice(["grr", "oue", "ss"]),
                epsilon=rng.choice([0.3, 1.0, 4.0, 9.0]),
            )
            for name in names
        ]
        return ProductChannel(questions=tuple(questions))
    rest = rng.choice([1e-6, 0.01, 0.3])
    rows = (1 - rest) * np.eye(cells) + rest / cells
    if rng.random() < 0.5:
        drawn = [[rng.random() ** 3 + 1e-3 for _ in range(cells)] for _ in range(cells)]
        rows = np.array([np.divide(row, sum(row)) for row in drawn])
    return MatrixChannel.of(names, MatrixMechanism(rows))


def rows_of(wire: Any, form: Any) -> tuple[list[str], Rows]:
    """Return the names and P(report | answers) of a form, from its wire form."""
    if form["type"] == "matrix":
        thresholds = form["thresholds"]
        return form["attributes"], [[int(p) / 2**64 for p in row] for row in thresholds]
    rows: Rows = [[1.0]]
    for question in form["questions"]:
        own = [[float(p) for p in row] for row in chances(question)]
        rows = [
            [a * b for a, b in itertools.product(row, other)]
            for row, other in itertools.product(rows, own)
        ]
    return [question["attribute"] for question in form["questions"]], rows


def least_total(rows: Rows, axis: int, questions: int) -> float:
    """Return the least leakage about an asked attribute whatever the distribution.

    The largest ln min_z W[z, S] / max_z' W[z', S] over all sets S of reports, with z of
    one value and z' of another.
    """
    reports = len(rows[0])
    stride = 2 ** (questions - 1 - axis)
    of_value = [
        [row for z, row in enumerate(rows) if z // stride % 2 == v] for v in (0, 1)
    ]
    least = 0.0
    for members in itertools.product((0, 1), repeat=reports):
        if not any(members):
            continue
        likely = [
            [sum(itertools.compress(row, members)) for row in of_value[v]]
            for v in (0, 1)
        ]
        for x in (0, 1):
            high = max(likely[1 - x])
            if min(likely[x]) > 0:
                ratio = math.inf if high == 0 else min(likely[x]) / high
                least = max(least, math.log(ratio))
    return least


def forgeries(rng: random.Random, folder: Path) -> None:
    """Forge a plan: it must not load with a total that every distribution refutes."""
    kinds = [_lower_total, _add_delta, _junk_setting]
    rng.choices(kinds, [4, 1, 4])[0](rng, draw_plan(rng), folder / "plan.json")


def _loads(plan: Any, path: Path) -> Any:
    """Return a plan that was saved and loaded; None where it does not load."""
    import seepage as sp

    plan.save(path)
    try:
        return sp.Plan.load(path)
    except sp.InputError:
        return None


def _forged(plan: Any, number: int, **claim: Any) -> Any:
    import msgspec

    forms = list(plan.forms)
    forms[number] = msgspec.structs.replace(forms[number], **claim)
    return msgspec.structs.replace(plan, forms=tuple(forms))


def _lower_total(rng: random.Random, plan: Any, path: Path) -> None:
    number = rng.randrange(len(plan.forms))
    form = plan.forms[number]
    asked, rows = rows_of(plan.description, plan.description["forms"][number])
    if len(rows[0]) > 9:
        return  # too many sets of reports
    index = rng.randrange(len(plan.domain))
    name = plan.domain.names[index]
    least = 0.0
    if form.guarantee == "worst":
        columns = list(zip(*rows, strict=True))
        least = max(math.log(max(column) / min(column)) for column in columns)
    elif name in asked:
        least = least_total(rows, asked.index(name), len(asked))
    share = rng.choice([0.0, 0.5, 0.99, 1 + 1e-6])
    totals = list(form.totals)
    totals[index] = least * share
    loaded = _loads(_forged(plan, number, totals=totals), path)
    if share < 1 and least > 1e-6 and loaded is not None:
        raise AssertionError(
            f"{form!r} tells at least {least} about {name!r}, and {totals[index]} loads"
        )
    if share > 1 and loaded is None and form.is_product and form.guarantee != "worst":
        raise AssertionError(f"{form!r}: {totals[index]} about {name!r} does not load")


def _add_delta(rng: random.Random, plan: Any, path: Path) -> None:
    number = rng.randrange(len(plan.forms))
    deltas = [0.0] * len(plan.domain)
    deltas[rng.randrange(len(deltas))] = rng.choice([1e-300, 1e-9, 0.5])
    if _loads(_forged(plan, number, total_deltas=deltas), path) is not None:
        raise AssertionError(f"a plan without deltas loads with {deltas}")


def _junk_setting(rng: random.Random, plan: Any, path: Path) -> None:
    """Put junk into a setting: it raises one line, or the page can be made."""
    import msgspec

    import seepage as sp
    from seepage.cli.plan_text import design_summary
    from seepage.pages.plan_page import plan_page
    from seepage.plan.left_out import left_out_sentence

    key = rng.choice(SETTINGS)
    settings = {key: rng.choice(JUNK)}
    try:
        provenance = msgspec.structs.replace(plan.provenance, settings=settings)
        forged = msgspec.structs.replace(plan, provenance=provenance)
    except sp.InputError:
        return
    loaded = _loads(forged, path)
    if loaded is None:
        return
    shown = [plan_page(loaded), repr(loaded), design_summary(loaded)]
    if loaded.provenance.known and left_out_sentence(loaded).count("known") != 1:
        raise AssertionError(f"{settings}: {shown[1]}")
    if "\x1b" in "".join(shown):
        raise AssertionError(f"{settings}: control characters are shown")
