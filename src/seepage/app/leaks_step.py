"""The third step: what the questions give away, at a limit that a slider sets."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from seepage._core.odds import least_odds, limit_in_nats
from seepage._core.text import factor
from seepage.app import leak_work
from seepage.app.equivalent_commands import analyse_command, analyse_python
from seepage.app.form_entries import entry_at
from seepage.app.plan_wish import LIMIT_ODDS
from seepage.app.step_pages import page_part, redirect_to, saved_page, step_page
from seepage.app.study import Study
from seepage.app.study_routes import StudyRoute
from seepage.app.summaries import AnalysisSummary, TotalRange
from seepage.app.tasks import BackgroundTask

SHOWN_ROWS = 15
"""Questions that are drawn."""

MARGIN = 1.08
"""Length of the axis as a factor of the longest bar."""


@dataclass(frozen=True)
class VerdictRow:
    """A question and its bar.

    Parameters
    ----------
    name
        The question.
    state
        "over" or "within" the limit, or "open".
    odds
        How many times the odds change: at most if it is within the limit, else at
        least.
    width
        The length of the bar, in %.
    """

    name: str
    state: str
    odds: str
    width: float


@dataclass(frozen=True)
class LimitVerdict:
    """How many questions give away more than a limit, and each as a bar.

    Parameters
    ----------
    rows
        The questions, the most telling first.
    odds
        The limit in words.
    limit
        The place of the limit, in %.
    """

    rows: tuple[VerdictRow, ...]
    odds: str
    limit: float

    def number(self, state: str) -> int:
        """Return how many questions are in a state of the verdict that the leaks step
        shows.
        """
        return sum(row.state == state for row in self.rows)

    @property
    def shown(self) -> tuple[VerdictRow, ...]:
        """The questions that the leaks step draws."""
        return self.rows[:SHOWN_ROWS]


def verdict_at(analysis: AnalysisSummary, odds: float) -> LimitVerdict:
    """Return the verdict of an analysis at a limit, as the leaks step shows it."""
    limit = limit_in_nats(f"{odds:g}x")
    longest = MARGIN * max([limit, *(total.lower for total in analysis.totals)])
    rows = [_verdict_row(total, limit, longest) for total in analysis.totals]
    return LimitVerdict(
        rows=tuple(rows), odds=f"{odds:g}", limit=round(100 * limit / longest, 2)
    )


def _verdict_row(total: TotalRange, limit: float, longest: float) -> VerdictRow:
    """Return the bar of a question in the leaks step."""
    state = "open"
    odds = least_odds(total.lower)
    if total.upper <= limit:
        state = "within"
        odds = factor(total.upper)
    elif total.lower > limit:
        state = "over"
    width = round(100 * min(total.lower, longest) / longest, 2)
    return VerdictRow(total.name, state, odds, width)


async def show_leaks(study: Study, request: Request) -> Response:
    """Show the leaks step: what each question gives away."""
    if not study.columns:
        return redirect_to(study, "columns")
    assert study.source is not None
    study.take_results()
    if study.analysis is None and "leaks" not in {*study.tasks, *study.faults}:
        start_analysis(study)
    name = study.source.name
    return step_page(
        study,
        "leaks",
        odds_stops=LIMIT_ODDS,
        verdict=_current_verdict(study),
        command=analyse_command(name, _analysed_as(study), study.odds),
        python=analyse_python(name, _analysed_as(study), study.odds),
    )


def _analysed_as(study: Study) -> dict[str, Any]:
    """Return the keywords of the leaks step's analysis of all records, as the columns
    are decided.
    """
    roles = study.role_keywords
    reading = {**roles, **study.reading}
    kept = ("drop", "keep", "person", "bins", "missing_markers")
    return {name: reading[name] for name in kept if name in reading}


def start_analysis(study: Study) -> None:
    """Start to compute the leaks: what the questions give away."""
    task = BackgroundTask.start(
        "computing what each answer gives away",
        study.folder,
        leak_work.analyse_part,
        data=study.data,
        used=study.used,
        reading=study.exploring,
        folder=study.folder,
    )
    study.start_task("leaks", task)


async def start_again(study: Study, request: Request) -> Response:
    """Start the analysis of leaks again after it failed or was stopped."""
    start_analysis(study)
    return redirect_to(study, "leaks")


def _current_verdict(study: Study) -> LimitVerdict | None:
    """Return the leaks step's verdict at the limit of the slider; None before there is
    one.
    """
    study.take_results()
    if study.analysis is None:
        return None
    return verdict_at(study.analysis, study.odds)


async def show_verdict(study: Study, request: Request) -> Response:
    """Return the leaks step's verdict at another limit of the slider."""
    entry_at(request.query_params, "limit", LIMIT_ODDS, "limit")
    study.entries["limit"] = request.query_params["limit"]
    return page_part("app/verdict.html", study, verdict=_current_verdict(study))


def _table_name(study: Study) -> str:
    """Return the name of the table in the leaks step's commands."""
    assert study.source is not None  # it was analysed
    return study.source.name


async def show_analysis(study: Study, request: Request) -> Response:
    """Show the whole page of the analysis, from the leaks step."""
    return saved_page(study.folder / leak_work.ANALYSIS_PAGE)


async def link_analysis(study: Study, request: Request) -> Response:
    """Return the leaks step's link to the whole page, which is written when the link is
    shown.
    """
    study.take_results()
    is_written = (study.folder / leak_work.ANALYSIS_PAGE).exists()
    if not is_written and not {"analysis", "leaks"} & {*study.tasks, *study.faults}:
        task = BackgroundTask.start(
            "writing the whole analysis",
            study.folder,
            leak_work.write_analysis_page,
            folder=study.folder,
            name=_table_name(study),
        )
        study.start_task("analysis", task)
    return page_part(
        "app/analysis_link.html",
        study,
        is_written=is_written,
        fault=study.faults.get("analysis"),
    )


LEAKS_ROUTES = (
    StudyRoute("leaks", show_leaks),
    StudyRoute("leaks", start_again, "POST"),
    StudyRoute("verdict", show_verdict),
    StudyRoute("analysis", link_analysis),
    StudyRoute("analysis.html", show_analysis),
)
"""Addresses of the third step."""
