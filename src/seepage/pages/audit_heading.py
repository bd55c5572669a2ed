"""The heading of an audit on the page of its analysis: the verdict of the audit."""

import math
from dataclasses import dataclass
from typing import Any

from seepage._core.odds import least_odds, measured_odds
from seepage.pages.odds_rows import State


@dataclass(frozen=True, kw_only=True)
class AuditHeading:
    """The verdict of an audit in the words of who decides."""

    state: State
    order: str
    sentence: str
    lead: str


AUDIT_STATES: dict[str, tuple[State, str]] = {
    "holds": ("within", "The claim holds"),
    "refuted": ("over", "The claim does not hold"),
    "not decided": ("open", "Not decided"),
}
"""State and order of each verdict of an audit."""


def audit_heading(audit: Any) -> AuditHeading:
    """Return the heading of an audit on the page of its analysis: its verdict in the
    words of who decides.
    """
    decisive = audit.decisive
    state, order = AUDIT_STATES[audit.verdict]
    is_exact = decisive.lower == decisive.upper
    realised = f"at least {least_odds(decisive.lower)} times"
    if is_exact:
        realised = f"up to {measured_odds(decisive.upper)} times"
    elif audit.verdict == "holds" and math.isfinite(decisive.upper):
        realised = f"at most {measured_odds(decisive.upper)} times"
    sentence = f"What is sent about {decisive.attribute} changes the odds {realised}."
    lead = "No claim was stated."
    if decisive.claim is None:
        state, order = "told", "What the reports tell"
    else:
        lead = f"Claimed are at most {measured_odds(decisive.claim)} times."
    return AuditHeading(state=state, order=order, sentence=sentence, lead=lead)
