"""Texts by which surveys say that a question has no answer."""

TEXTS_FOR_MISSING = {
    "?",
    "na",
    "n/a",
    "#n/a",
    "null",
    "nan",
    ".",
    "-",
    "missing",
    "not available",
}
"""Texts that mean missing wherever they occur, in small letters."""


NO_ANSWER_TEXTS = {
    "refused",
    "refusal",
    "declined",
    "no answer",
    "no response",
    "not answered",
    "not stated",
    "prefer not to say",
    "prefer not to answer",
    "don't know",
    "do not know",
    "dont know",
    "dk",
    "unknown",
    "not known",
    "nk",
}
"""Answers that are none, in small letters: missing beside the numbers of a scale, and
merged with no other answer."""


def means_missing(label: str) -> bool:
    """Return whether a text beside answers means that there is none.

    Examples
    --------
    >>> means_missing("Refused"), means_missing("(missing)"), means_missing("never")
    (True, True, False)
    """
    word = label.strip().lower()
    return word in TEXTS_FOR_MISSING or word in NO_ANSWER_TEXTS or word == "(missing)"
