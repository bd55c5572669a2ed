"""Skip patterns: attributes that are missing exactly where another has some values."""

import numpy as np

from seepage._core.text import short_list
from seepage.channel.domain import MISSING, Attribute
from seepage.channel.pairs import PairCounts


def skip_patterns(pairs: PairCounts) -> list[str]:
    """Return a sentence for each attribute that is missing exactly where another has
    some values.

    Its report tells these values, whatever else it says; a ranking of leaks leaves
    witnesses that are missing values out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import seepage as sp
    >>> people = pa.table(
    ...     {"smoker": ["no", "yes", "yes", "no"], "packs": [None, "1", "2", None]}
    ... )
    >>> skip_patterns(sp.count_pairs(people))
    ['packs -> smoker: a skip pattern, packs is missing exactly where smoker is no']
    """
    sentences = []
    for source in pairs.domain:
        if not _is_missing_somewhere(pairs, source):
            continue
        for target in pairs.domain:
            values = _values_that_skip(pairs, target, source)
            if values and values != [MISSING]:
                sentences.append(
                    f"{source.name} -> {target.name}: a skip pattern, {source.name} is "
                    f"missing exactly where {target.name} is {short_list(values)}"
                )
    return sentences


def _is_missing_somewhere(pairs: PairCounts, source: Attribute) -> bool:
    """Return whether an attribute may be skipped: it is missing in at least one
    record.
    """
    if MISSING not in source.values:
        return False
    return bool(pairs.marginal(source.name)[source.code(MISSING)])


def _values_that_skip(
    pairs: PairCounts, target: Attribute, source: Attribute
) -> list[str]:
    """Return the values of the target under which the source is skipped.

    None unless they, and no other values, decide that the source is missing.
    """
    if target.name == source.name:
        return []
    missing = pairs.table(target.name, source.name)[:, source.code(MISSING)]
    people = pairs.marginal(target.name)
    is_decided = bool(((missing == 0) | (missing == people)).all())
    if not is_decided or (missing == people).all():
        return []
    return [target.values[code] for code in np.flatnonzero(missing)]
