"""Shares in percent, as pages print them."""


def percent_of_people(share: float) -> str:
    """Return a share in whole percent; "<1" below one."""
    if 0 < share < 0.01:
        return "<1"
    return f"{100 * share:.0f}"


def percent_text(share: float) -> str:
    """Return a share in percent with one decimal; no minus before zero.

    Examples
    --------
    >>> percent_text(0.4949), percent_text(-0.0001), percent_text(-0.006)
    ('49.5', '0.0', '-0.6')
    """
    text = f"{100 * share:.1f}"
    if text == "-0.0":
        return "0.0"
    return text


def percent_near_ends(share: float) -> str:
    """Return a share in percent, on one line; with a decimal near 0 and 100 %."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return "under 0.1\N{NO-BREAK SPACE}%"
    if 99.9 < percent < 100:
        return "over 99.9\N{NO-BREAK SPACE}%"
    digits = 0 if 10 <= percent <= 99 or percent in (0, 100) else 1
    return f"{percent:.{digits}f}".removesuffix(".0") + "\N{NO-BREAK SPACE}%"


def people_of_a_hundred(share: float) -> int:
    """Return a share as a number of 100 people, 0 and 100 only where it is exact."""
    if 0 < share < 1:
        return min(99, max(1, round(100 * share)))
    return round(100 * share)
