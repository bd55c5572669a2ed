"""The shares of a column's values, for its picture: few values each, many in bins."""

import numpy as np

from seepage.channel.no_answer import MIN_SHARE_RECORDS
from seepage.tables.kinds import ANSWERS
from seepage.tables.profile import Profile

MOST_VALUES = 10
"""Maximum number of values that are shown apart; the rarest of more are one."""

BINS = 10
"""Number of bins of equal width of a number with more values."""

OTHERS = "all others"
"""Label of the values that are not shown apart."""

ValueShares = tuple[tuple[str, float], ...]
"""Labels of values or bins, each with its share of the records that have a value."""


ValueLabels = tuple[tuple[str, int | None], ...]
"""Labels of values, each with its share in whole percent; None if few people have it.
"""

MOST_LABELS = 50
"""Maximum number of values of an answer that are listed."""


def value_labels(profile: Profile, kind: str) -> ValueLabels:
    """Return the values of an answer that has few; nothing of others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from seepage.tables.profile import profile_of
    >>> column = pa.array(["no"] * 60 + ["yes"] * 3)
    >>> profile = profile_of("ill", column, fields=False, markers=frozenset())
    >>> value_labels(profile, "answer")
    (('no', 95), ('yes', None))
    """
    if kind not in ANSWERS or not profile.present or profile.values > MOST_LABELS:
        return ()
    if kind == "number" and profile.values > MOST_VALUES:
        return ()
    pairs = list[tuple[str, int | None]]()
    for label, count in zip(profile.labels, profile.counts.tolist(), strict=True):
        share = None
        if count >= MIN_SHARE_RECORDS:
            share = round(100 * count / profile.present)
        pairs.append((label, share))
    if not profile.texts:
        numbers = profile.numbers.tolist()
        order = sorted(range(len(pairs)), key=numbers.__getitem__)
        return tuple(pairs[place] for place in order)
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def value_shares(profile: Profile, kind: str) -> ValueShares:
    """Return the shares of the values of an answer; nothing of other kinds.

    Values of identifiers, texts and dates would point to people.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from seepage.tables.profile import profile_of
    >>> column = pa.array(["yes", "no", "no", "no"])
    >>> profile = profile_of("ill", column, fields=False, markers=frozenset())
    >>> value_shares(profile, "answer"), value_shares(profile, "free text")
    ((('no', 0.75), ('yes', 0.25)), ())
    """
    if kind not in ANSWERS or not profile.present:
        return ()
    is_numeric = not profile.texts
    if is_numeric and profile.values > MOST_VALUES:
        return _binned(profile)
    shares = (profile.counts / profile.present).tolist()
    pairs = list(zip(profile.labels, shares, strict=True))
    if is_numeric:
        numbers = profile.numbers.tolist()
        order = sorted(range(len(pairs)), key=numbers.__getitem__)
        return tuple(pairs[place] for place in order)
    pairs.sort(key=lambda pair: -pair[1])
    if len(pairs) <= MOST_VALUES:
        return tuple(pairs)
    shown = pairs[: MOST_VALUES - 1]
    rest = sum(share for _, share in pairs[MOST_VALUES - 1 :])
    return (*shown, (OTHERS, rest))


def _binned(profile: Profile) -> ValueShares:
    """Return the shares of a column's numbers in bins of equal width, infinite ones
    beside them.
    """
    finite = np.isfinite(profile.numbers)
    people = profile.counts[finite]
    quarters = profile.numbers[finite] / 4  # whose range is finite too
    counts, edges = np.histogram(quarters, bins=BINS, weights=people)
    shares = (counts / profile.present).tolist()
    ends = [f"{edge:.3g}" for edge in (4 * edges).tolist()]
    binned = [
        (f"{low} to {high}", share)
        for low, high, share in zip(ends, ends[1:], shares, strict=False)
    ]
    infinite = zip(
        profile.numbers[~finite].tolist(), profile.counts[~finite].tolist(), strict=True
    )
    beside = [(f"{number:g}", count / profile.present) for number, count in infinite]
    return (*binned, *beside)
