"""The confidence that several statements share by a union bound."""

import math


def divided(confidence: float, statements: int) -> float:
    """Return the confidence of each of some statements by a union bound, 1 - (1 -
    confidence) / statements, rounded up: all hold together.

    Examples
    --------
    >>> divided(0.95, 3), divided(0.95, 1), divided(0.9, 2)
    (0.9834, 0.95, 0.95)
    """
    share = (1 - confidence) / statements
    digits = 2 - math.floor(math.log10(share))
    return round(
        1 - math.floor(share * 10.0**digits * (1 + 1e-9)) / 10.0**digits, digits
    )


def halved(confidence: float) -> float:
    """Return the confidence of each of two statements by a union bound, not rounded.

    Examples
    --------
    >>> round(halved(0.95), 3)
    0.975
    """
    return 1 - (1 - confidence) / 2
