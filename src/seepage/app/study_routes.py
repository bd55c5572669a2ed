"""Addresses of a study: the path below it, the method, and the function that
answers.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from seepage.app.study import Study

StudyHandler: TypeAlias = Callable[[Study, Request], Awaitable[Response]]
"""Answers a request of one study."""


@dataclass(frozen=True)
class StudyRoute:
    """An address below `/s/<study>/`.

    Parameters
    ----------
    path
        The path below the study, with the parameters of Starlette.
    handle
        The function that answers.
    method
        The method of the request.
    """

    path: str
    handle: StudyHandler
    method: str = "GET"
