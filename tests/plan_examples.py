"""People, domains and plans that the tests of plans share."""

import numpy as np
import pyarrow as pa

from seepage.collection.report_source import reports_schema
from seepage.data.counting import count_pairs
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.plan import make_plan

DOMAIN = Domain(
    [
        Attribute("sex", ("F", "M")),
        Attribute("job", ("clerk", "nurse", "smith", "other")),
        Attribute("age", ("[18, 40)", "[40, 60)", "[60, 90]"), (18, 40, 60, 90)),
        Attribute("ill", ("no", "yes")),
    ]
)


def people(rows, seed=1):
    """A table of people whose attributes depend on each other, no value rare."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    usual = np.where(sex == "F", "nurse", "smith")
    job = np.where(rng.random(rows) < 0.5, usual, rng.choice(["clerk", "other"], rows))
    age = rng.integers(18, 91, rows)
    ill = np.where(rng.random(rows) < np.where(age >= 60, 0.7, 0.2), "yes", "no")
    return pa.table({"sex": sex, "job": job, "age": age, "ill": ill})


def counts(rows=2000):
    return count_pairs(people(rows), domain=DOMAIN)


def plan_for(pairs, epsilon=1.0, mechanism=None, **settings):
    """A plan whose totals are generous and whose limits are above them."""
    budgets = np.broadcast_to(epsilon, len(pairs.domain))
    total = float(np.sum(budgets)) + 1e-6
    return make_plan(
        pairs,
        epsilon,
        mechanism=mechanism,
        limit=total,
        guarantee="worst",
        totals=[total] * len(pairs.domain),
        **settings,
    )


def table_of(joint):
    """Pair counts and coded records of a joint table of two attributes."""
    joint = np.asarray(joint)
    domain = Domain(
        Attribute(name, tuple(f"{name}{i}" for i in range(size)))
        for name, size in zip("ab", joint.shape, strict=True)
    )
    pairs = PairCounts(domain, [joint.sum(axis=1), joint.sum(axis=0)], joint.ravel())
    cells = np.repeat(np.arange(joint.size), joint.ravel())
    return pairs, np.divmod(cells, joint.shape[1])


def collected(plan, codes, rng):
    """The reports of coded columns, as `Plan.perturb` would return them."""
    arrays = [
        made.perturb(column, rng=rng).array()
        for made, column in zip(plan.mechanisms.values(), codes, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=reports_schema(plan))
