"""`find_design`: the forms, budgets and shares with the least error within all limits."""

from typing import Any

from seepage._options import takes
from seepage.data.inputs import as_records
from seepage.designs.design import Design
from seepage.designs.design_options import DesignOptions
from seepage.designs.design_search import search_design
from seepage.errors import Setting, Text
from seepage.totals.guarantees import check_whole_table


@takes(DesignOptions)
def find_design(data: Any, options: DesignOptions) -> Design:
    """Return the most accurate collection by forms whose totals provably stay within the limit.

    By default for the population that the records are a random sample of, at confidence 95 %.

    A form is a set of attributes with a mechanism and a budget each.  Everyone gets one form, drawn
    independently of the record.  The leakage of its reports about attribute k is at most the form's
    total, computed for every attribute of the table, asked or not [theory-forms].

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`.  A sample of records is enough for
        `scope="population"` and raises for `scope="table"`.

    Returns
    -------
    Design
        Forms with budgets, shares and totals, expected errors, the optimality gap over the forms
        considered, and a comparison with other strategies within the same limit.

    Notes
    -----
    Shares are A-optimal by a multiplicative algorithm; new forms come by column generation.  The
    pool of forms contains every attribute alone and all attributes together, so neither SMP nor the
    calibrated collection has a smaller weighted error, up to the gap.

    The leakage of a form about the whole record is up to the sum of its budgets, `record`; and an
    adversary who knows other attributes of the person can learn more than the total unless they are
    `known`.

    For the population a union bound covers all forms of a size, so that the selection among them
    costs no confidence, with equal budgets in each form [theory-population].

    Cost: 0.05 ms to count a form of binary attributes and 0.1 ms for its totals about 40
    attributes, after 6 ms for 115,000 distinct records; some thousands of forms.  For the
    population also six evaluations of 10 ms for every form that the screen finds improving.

    Examples
    --------
    Two fair coins and whether they differ: any two may be asked with the whole limit each, all
    three may not.

    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> found = sp.find_design(coins, 1.0, scope="table")
    >>> sorted(form.attributes for form in found.forms)
    [('a', 'b'), ('a', 'differ'), ('b', 'differ')]
    >>> round(float(found.totals.max()), 6), round(found.record, 6)
    (1.0, 2.0)
    """
    return designed(data, options)


def designed(data: Any, options: DesignOptions) -> Design:
    """Return the design of `find_design`."""
    records = as_records(data, **options.records_options(options.seed))
    hint = Text("give the table itself, or ", Setting("scope", "population"))
    check_whole_table(records, "exact", "designs for the table", options.scope, hint)
    return search_design(records, options)
