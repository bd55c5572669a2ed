"""`Alternative`: another way to keep the limits of a plan, and the error to expect of it."""

import msgspec

from seepage.plan.question import Unbounded


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another way to collect the same attributes within the same limits.

    Parameters
    ----------
    name
        What it is.
    rests_on
        Why its totals stay within the limits, or what must hold for that.
    certified
        Whether they do so without any assumption.
    variances
        By attribute, the variance of an estimate from one person, summed over the values at the
        nominal frequencies, noise and sampling together; from n people it is this over n.
    """

    name: str
    rests_on: str
    certified: bool
    variances: dict[str, Unbounded]
