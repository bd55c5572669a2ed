"""The syntax of a wanted statistic: `ill x income`, `mean hours`, `mean hours = 1,
2`.
"""

MEAN = "mean "
"""Start of the text of a mean."""


TIMES = " x "
"""Between the attributes of a joint table."""


SCORES = "="
"""Between the attribute of a mean and the scores of its values."""


def names_in(text: str) -> list[str]:
    """Return the attributes that the text of a statistic names.

    A name that contains the sign of a joint table itself is cut there; `parse_want`
    knows the names and joins it again.

    Examples
    --------
    >>> names_in("ill x income"), names_in("mean hours = 10, 30")
    (['ill', 'income'], ['hours'])
    """
    named = text.partition(SCORES)[0].removeprefix(MEAN)
    return [name.strip() for name in named.split(TIMES)]
