"""What the page of an analysis shows first: the verdict in the words of who decides,
what is told about each question as odds, and the strongest leaks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.odds import least_odds, measured_odds, odds_text
from seepage._core.percent import people_of_a_hundred
from seepage._core.text import delta_text, factor, number_of, short_list
from seepage.analysis.analysis import Analysis
from seepage.analysis.verdict import STATES, Judgement, Verdict
from seepage.leakage.leakage import Leakage
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.strongest_leaks import witness_records
from seepage.pages.odds_rows import OddsBars, OddsEntry, State, odds_bars

SHOWN_LEAKS = 6
"""Number of strongest leaks with a picture each."""

SHOWN_ROWS = 14
"""Maximum number of questions in a picture of odds."""

SHOWN_SOURCES = 12
"""Maximum number of answers in the picture of what is told about one question."""

LISTED_ANSWERS = 3
"""Maximum number of answers of one message that a sentence names."""

ANSWER_LENGTH = 60
"""Maximum length of a question or an answer in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A number and what it is; `is_warning` for what is given away."""

    number: str
    text: str
    is_warning: bool = False


@dataclass(frozen=True, kw_only=True)
class AnalysisFinding:
    """The verdict of an analysis in the words of who decides.

    Parameters
    ----------
    state
        Of all limits together: "over", "open", "within", or "told" without limits.
    order, sentence, lead
        What to do; what was found; and the noise that it was found at.
    facts
        Numbers with their sentences.
    """

    state: State
    order: str
    sentence: str
    lead: str
    facts: tuple[Fact, ...]


def by_urgency(verdict: Verdict) -> list[Judgement]:
    """Return the judgements of an analysis as they are viewed, exceeded limits first,
    then by what is told at least.
    """

    def urgency(judgement: Judgement) -> tuple[int, float]:
        """Return how urgent the view of an analysis takes a judgement to be."""
        if judgement.limit is None or judgement.state is None:
            return len(STATES), -judgement.lower
        if judgement.state == "within":
            return STATES.index("within"), judgement.limit - judgement.proof[0]
        return STATES.index(judgement.state), -judgement.lower

    return sorted(verdict.judgements, key=urgency)


def finding_of(analysis: Analysis) -> AnalysisFinding:
    """Return the verdict of an analysis in the words of who decides.

    Examples
    --------
    >>> import seepage as sp
    >>> found = finding_of(sp.analyse("adult", 0.1, limit="20x"))
    >>> found.order, found.sentence
    ('Within the limit', 'None of the 15 questions gives away more than the limit.')
    """
    judged = [j for j in analysis.verdict.judgements if j.state is not None]
    over = [j for j in judged if j.state == "exceeded"]
    undecided = [j for j in judged if j.state == "not certifiable"]
    within = [j for j in judged if j.state == "within"]
    if not judged:
        return _without_limits(analysis)
    all_questions = number_of(len(judged), "question")
    facts = [*_facts_over(over), *_facts_within(analysis, within)]
    if undecided:
        facts.append(_fact_open(undecided))
    if over:
        verb = "gives" if len(over) == 1 else "give"
        sentence = f"{len(over):,} of {all_questions} {verb} away more than the limit."
        return AnalysisFinding(
            state="over",
            order="Do not collect like this",
            sentence=sentence,
            lead=f"{_noise(analysis.matrix)} The answers of a person add up.",
            facts=tuple(facts),
        )
    if undecided:
        return AnalysisFinding(
            state="open",
            order="Do not rely on this yet",
            sentence=_sentence_open(undecided, all_questions),
            lead=f"{_noise(analysis.matrix)} The answers of a person add up.",
            facts=tuple(facts),
        )
    sentence = f"None of the {all_questions} gives away more than the limit."
    if len(judged) == 1:
        sentence = "The question gives away no more than the limit."
    return AnalysisFinding(
        state="within",
        order="Within the limit",
        sentence=sentence,
        lead=_noise(analysis.matrix),
        facts=tuple(facts),
    )


def _sentence_open(undecided: Sequence[Judgement], all_questions: str) -> str:
    """Return in the view of an analysis of how many questions it is not known whether
    the limit holds.
    """
    probable = sum(judgement.probably_exceeded for judgement in undecided)
    if probable:
        verb = "gives" if probable == 1 else "give"
        return (
            f"{probable:,} of {all_questions} probably {verb} away more than the "
            "limit; it is not proven."
        )
    verb = "stays" if len(undecided) == 1 else "stay"
    return (
        f"It is not known whether {len(undecided):,} of {all_questions} {verb} "
        "within the limit."
    )


def _noise(matrix: LeakageMatrix) -> str:
    """Return how much one answer changes the odds, a sentence of an analysis's view."""
    least = float(matrix.epsilons.min())
    most = float(matrix.epsilons.max())
    times = measured_odds(most)
    if measured_odds(least) != times:
        times = f"{measured_odds(least)} to {times}"
    return (
        f"Each answer is sent with noise that changes the odds at most {times} times."
    )


def _facts_over(over: Sequence[Judgement]) -> list[Fact]:
    """Return by how much the limit is exceeded, and how often, for the view of an
    analysis.
    """
    if not over:
        return []
    top = max(over, key=lambda judgement: judgement.lower - (judgement.limit or 0.0))
    what = "questions are"
    if len(over) == 1:
        what = "question is"
    return [
        Fact(
            number=f"{least_odds(top.lower)} ×",
            text=(
                "is what all answers of a person can do to the odds about "
                f"{short(top.attribute)}, at least; {odds_text(top.limit or 0.0)} × is "
                "allowed."
            ),
            is_warning=True,
        ),
        Fact(
            number=f"{len(over):,}",
            text=f"{what} over the limit: messages that do it are known.",
        ),
    ]


def _facts_within(analysis: Analysis, within: Sequence[Judgement]) -> list[Fact]:
    """Return which questions are within the limit for the view of an analysis, by proof
    or with a confidence.
    """
    if not within:
        return []
    verb = "are" if len(within) > 1 else "is"
    names = short_list([short(judgement.attribute) for judgement in within])
    confidences = [
        total.confidence
        for total in analysis.totals.totals
        if total.confidence is not None
        and total.guarantee in {judgement.proof[1] for judgement in within}
    ]
    sure = "proven"
    if confidences:
        sure = f"with {100 * min(confidences):g} % confidence"
    text = f"{verb} within it, {sure}: {names}."
    return [Fact(number=f"{len(within):,}", text=text)]


def _fact_open(undecided: Sequence[Judgement]) -> Fact:
    """Return for the view of an analysis how many questions are neither proven within
    the limit nor over it.
    """
    verb = "are" if len(undecided) > 1 else "is"
    text = (
        f"{verb} not known: no message that is over the limit was found, and nothing "
        "proves that there is none."
    )
    probable = sum(judgement.probably_exceeded for judgement in undecided)
    if probable:
        text += (
            f" {probable:,} of them are probably over it: if answers are independent "
            "of each other given the one that is told about."
        )
    return Fact(number=f"{len(undecided):,}", text=text)


def _without_limits(analysis: Analysis) -> AnalysisFinding:
    """Return the strongest leak, the view of an analysis without limits."""
    leaks = analysis.leaks(1)
    sentence = "No answer is shown to give away another."
    facts = list[Fact]()
    for leak in leaks:
        sentence = f"{short(leak.source)} gives away {short(leak.target)}."
        facts.append(
            Fact(
                number=f"{measured_odds(leak.leakage)} ×",
                text=(
                    f"is what one noisy answer about {short(leak.source)} does to the "
                    f"odds about {short(leak.target)}, at most{delta_text(leak.delta)}."
                ),
                is_warning=True,
            )
        )
    judgements = analysis.verdict.judgements
    top = max(judgements, key=lambda judgement: judgement.lower)
    if _is_witnessed(analysis):
        facts.append(
            Fact(
                number=f"{least_odds(top.lower)} ×",
                text=(
                    "is what all answers of a person can do to the odds about "
                    f"{short(top.attribute)}, at least."
                ),
                is_warning=True,
            )
        )
    number = len(judgements)
    facts.append(
        Fact(
            number=f"{number:,}",
            text=f"{'questions were' if number > 1 else 'question was'} analysed; "
            "no limit was set.",
        )
    )
    return AnalysisFinding(
        state="told",
        order="What is given away",
        sentence=sentence,
        lead=_noise(analysis.matrix),
        facts=tuple(facts),
    )


def _is_witnessed(analysis: Analysis) -> bool:
    """Return whether in an analysis's view reports together are known to tell more than
    an own report.
    """
    return any(
        judgement.lower > epsilon + 1e-6
        for judgement, epsilon in zip(
            analysis.verdict.judgements, analysis.matrix.epsilons.tolist(), strict=True
        )
    )


# Pictures -----------------------------------------------------------------------------


def total_bars(analysis: Analysis) -> OddsBars | None:
    """Return the view of an analysis's totals: what all answers of a person tell about
    each question, as odds; None where all are alike, which is a sentence and no
    picture.
    """
    assumed = _assumed_totals(analysis)
    ordered = by_urgency(analysis.verdict)
    entries = [_total_entry(j, assumed.get(j.attribute)) for j in ordered]
    states = [entry.state for entry in entries]
    entries.sort(
        key=lambda entry: (
            states.index(entry.state),
            -max(entry.value, entry.estimate or 0.0),
        )
    )
    entries = entries[:SHOWN_ROWS]
    if len({entry.text for entry in entries}) < 2 and len(entries) > 1:
        return None
    limits = {judgement.limit for judgement in ordered if judgement.limit is not None}
    if len(limits) != 1:
        return odds_bars(entries)
    (limit,) = limits
    return odds_bars(entries, limit=limit, limit_text=f"{odds_text(limit)} ×")


def _assumed_totals(analysis: Analysis) -> dict[str, float]:
    """Return an analysis's totals that rest on an assumption by question; empty if
    there are none.
    """
    for total in analysis.totals.totals:
        if total.kind == "assumed":
            names = analysis.matrix.domain.names
            return dict(zip(names, total.values.tolist(), strict=True))
    return {}


def _total_entry(judgement: Judgement, assumed: float | None) -> OddsEntry:
    """Return the view of one question's total in an analysis: at least, at most, or
    perhaps.
    """
    name = judgement.attribute
    at_least = f"at least {least_odds(judgement.lower)} ×"
    if judgement.state == "exceeded":
        return OddsEntry(name=name, state="over", value=judgement.lower, text=at_least)
    if judgement.state == "within":
        most = judgement.proof[0]
        text = f"at most {factor(most)} ×"
        return OddsEntry(name=name, state="within", value=most, text=text)
    state: State = "open"
    text = "not known"
    if judgement.state is None:
        state = "told"
        text = at_least
    if assumed is None or assumed <= judgement.lower:
        return OddsEntry(name=name, state=state, value=judgement.lower, text=text)
    return OddsEntry(
        name=name,
        state=state,
        value=judgement.lower,
        estimate=assumed,
        text=f"perhaps {factor(assumed)} ×",
    )


@dataclass(frozen=True, kw_only=True)
class AboutPicture:
    """What each other answer tells about one question, as odds."""

    target: str
    bars: OddsBars
    least: int
    """Minimum number of people who give an answer that is compared."""


def about_picture(analysis: Analysis) -> AboutPicture | None:
    """Return the view of what other answers tell about the target of an analysis's
    strongest leak; None if nothing is told.

    As in the ranking of leaks, among its answers with enough records: an answer of one
    person would make every source tell all.
    """
    matrix = analysis.matrix
    for leak in analysis.leaks(1):
        least = witness_records(matrix.pairs)
        names = [name for name in matrix.domain.names if name != leak.target]
        told = {name: matrix.leak_among(leak.target, name, least) for name in names}
        names.sort(key=lambda name: -told[name].value)
        entries = [
            OddsEntry(
                name=name,
                state="told",
                value=told[name].value,
                text=f"{measured_odds(told[name].value)} "
                f"×{delta_text(told[name].delta)}",
            )
            for name in names[:SHOWN_SOURCES]
        ]
        own = matrix.releases[matrix.domain.index(leak.target)].epsilon
        entries.append(
            OddsEntry(
                name=f"{leak.target} itself",
                state="own",
                value=own,
                text=f"{measured_odds(own)} ×",
            )
        )
        return AboutPicture(target=leak.target, bars=odds_bars(entries), least=least)
    return None


def is_told_by_totals(analysis: Analysis) -> bool:
    """Return whether totals are the first picture of an analysis: limits are set, or
    messages are known that tell more than one answer.
    """
    has_limits = any(limit is not None for limit in analysis.limits)
    return has_limits or _is_witnessed(analysis)


# Leaks --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LeakPicture:
    """What one answer tells about another: a sentence, and two shares in %.

    Parameters
    ----------
    source, target
        The question that is answered, and the one that it gives away.
    sentence
        What is sent how often by people of two kinds.
    odds
        By how much the odds change at most.
    kinds
        The two kinds of people, each with the share of them that the sentence names.
    """

    source: str
    target: str
    sentence: str
    odds: str
    kinds: tuple[tuple[str, int], ...]


def leak_pictures(analysis: Analysis) -> list[LeakPicture]:
    """Return the view of an analysis's strongest leaks, with their pictures, the
    strongest first.
    """
    matrix = analysis.matrix
    pictures = list[LeakPicture]()
    for leak in analysis.leaks(SHOWN_LEAKS):
        among = matrix.leak_among(
            leak.target, leak.source, witness_records(matrix.pairs)
        )
        picture = leak_picture(matrix, leak.target, leak.source, among)
        if picture is not None:
            pictures.append(picture)
    return pictures


def leak_picture(
    matrix: LeakageMatrix, target: str, source: str, leakage: Leakage
) -> LeakPicture | None:
    """Return the view of one leak of an analysis by its witness; None if it has none.

    The shares are those of the noisy answers that are sent, where reports are single
    answers or bounded for all mechanisms; otherwise those of the answers behind them,
    before the noise.
    """
    witness = leakage.witness
    if witness is None:
        return None
    channel = matrix.channel(target, source)
    rows = [
        channel.matrix[channel.given.code(str(value))]
        for value in (witness.likelier, witness.other)
    ]
    likely = [matrix.domain[source].code(str(value)) for value in witness.likely]
    sent = _sent_shares(matrix, source, rows, likely)
    times = f"{measured_odds(leakage.value)} times{delta_text(leakage.delta)}"
    kinds = (short(str(witness.likelier)), short(str(witness.other)))
    answers = f"{_quoted_answers(witness.likely)} as {short(source)}"
    if sent is None:
        shares = [people_of_a_hundred(float(row[likely].sum())) for row in rows]
        verb = "is true of"
        ending = f"after the noise, {times} as often"
    else:
        shares = [people_of_a_hundred(share) for share in sent]
        verb = "is sent by"
        ending = f"{times} as often"
    others = "by" if sent else "of"
    sentence = (
        f"{answers} {verb} {shares[0]} of 100 with {short(target)} “{kinds[0]}” and "
        f"{others} {shares[1]} of 100 with “{kinds[1]}”: {ending}."
    )
    return LeakPicture(
        source=source,
        target=target,
        sentence=sentence,
        odds=measured_odds(leakage.value),
        kinds=tuple(zip(kinds, shares, strict=True)),
    )


def _sent_shares(
    matrix: LeakageMatrix, source: str, rows: Sequence[Floats], likely: Sequence[int]
) -> list[float] | None:
    """Return how large a share of the people in each row sends one of some answers,
    for the view of an analysis; None where reports are not answers.

    A bound over all mechanisms is reached by the one that tells only whether the answer
    is among these, truthfully with probability e^epsilon / (1 + e^epsilon).
    """
    release = matrix.releases[matrix.domain.index(source)]
    if release.mechanism is None:
        if release.delta:
            return None
        honest = 1 / (1 + math.exp(-release.epsilon))
        true_shares = [float(row[likely].sum()) for row in rows]
        return [honest * share + (1 - honest) * (1 - share) for share in true_shares]
    noise = _noise_of_answers(matrix, source)
    if noise is None or len(likely) > 1:
        return None
    return [float(row @ noise[:, likely[0]]) for row in rows]


def _noise_of_answers(matrix: LeakageMatrix, source: str) -> Floats | None:
    """Return how often each answer is sent in place of each other, for the view of an
    analysis; None unless reports are single answers.
    """
    release = matrix.releases[matrix.domain.index(source)]
    sets = release.sets(matrix.view)
    if release.mechanism is None or sets is None or sets.kind != "singletons":
        return None
    noise = np.asarray(release.transition(matrix.view))
    if noise.shape != (release.mechanism.k, release.mechanism.k):
        return None
    return noise


def _quoted_answers(answers: Sequence[Any]) -> str:
    """Return the first answers of a message in quotation marks, as an analysis's view
    has them.
    """
    shown = [f"“{short(str(answer))}”" for answer in answers[:LISTED_ANSWERS]]
    text = " or ".join(shown)
    more = len(answers) - len(shown)
    if more > 0:
        text += f" or one of {more:,} more"
    return text


def short(text: str) -> str:
    """Return a text cut to what fits in a sentence of an analysis's view."""
    if len(text) <= ANSWER_LENGTH:
        return text
    return f"{text[: ANSWER_LENGTH - 1]}…"
