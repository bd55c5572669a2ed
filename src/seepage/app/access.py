"""Who may speak to the app: this machine's browser, once it has shown the token.

The app listens on the loopback address alone.  Other sites that the same browser shows
can still send requests there, so that three things are checked for each one: the Host,
which is another name where a site rebinds its own (DNS rebinding); the Origin of all
that changes something; and a cookie, which other sites cannot send (SameSite=Strict)
and scripts cannot read (HttpOnly).  The cookie is had for the token in the address that
is printed, once.
"""

import secrets
from collections.abc import Mapping
from hmac import compare_digest
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = ("GET", "HEAD")
"""Methods that change nothing, and need no Origin."""

OTHER_SITES = ("cross-site", "same-site")
"""What browsers say of a request that a page of another site began: a notebook."""

COME_AGAIN = """\
<!doctype html><html lang="en"><head><title>seepage</title>
<meta http-equiv="refresh" content="0;url=/"></head><body></body></html>
"""
"""A page that begins the same request again, as a page of the app.  A browser keeps a
SameSite=Strict cookie back from a request that another site began, even where the
cookie was just set on the way: a notebook's link with the token would lead nowhere."""

PAGE_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
"""Content security policy of the app's pages: no inline script or style."""

SAVED_PAGE_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
"""Policy of saved pages that are shown: they have their own, and no origin."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every answer."""


class Access:
    """ASGI middleware that lets the browser in that has shown the token.

    Parameters
    ----------
    app
        The application behind it.
    port
        The port that the app listens on.
    token
        The token of the address; it is taken once.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        """Guard the access to the app by a token, which is used once."""
        self._app = app
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"seepage_{port}"
        self._token: str | None = token
        self._secret = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by access control, or let it through to the app."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = self._answer(scope)
        if answer is None:
            await self._app(scope, receive, _with_headers(send))
        else:
            await answer(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> Response | None:
        """Return what access control answers to a request that goes no further; None
        for one that may.
        """
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return _refusal("this address is not that of the app")
        if scope["method"] not in SAFE_METHODS:
            origin = headers.get("origin", "")
            if origin != f"http://{host}":
                return _refusal("only the app's own pages may change something")
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if token and scope["path"] == "/":
            return self._entrance(token[0])
        cookies = cookie_parser(headers.get("cookie", ""))
        if not self._has_secret(cookies):
            is_entrance = scope["path"] == "/" and scope["method"] == "GET"
            if is_entrance and headers.get("sec-fetch-site") in OTHER_SITES:
                return HTMLResponse(COME_AGAIN)
            return _refusal(
                "open the address that was printed when the app started; it works "
                "once, in one browser"
            )
        return None

    def _entrance(self, token: str) -> Response:
        """Return the cookie that gives access for the token, which is then used up."""
        expected = self._token
        if expected is None or not compare_digest(token.encode(), expected.encode()):
            return _refusal("this address was used already: start the app again")
        self._token = None
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            self._cookie, self._secret, httponly=True, samesite="strict", path="/"
        )
        return response

    def _has_secret(self, cookies: Mapping[str, str]) -> bool:
        """Return whether a request has the cookie of access, compared in constant
        time.
        """
        value = cookies.get(self._cookie, "")
        return compare_digest(value.encode(), self._secret.encode())


def _refusal(reason: str) -> Response:
    """Return the answer to a request without access, status 403 with one line."""
    return PlainTextResponse(f"{reason}\n", status_code=403)


def _with_headers(send: Send) -> Send:
    """Return `send` that adds the headers of every answer, and the policy of pages."""

    async def send_with_headers(message: Message) -> None:
        """Send an answer with the headers that restrict access."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Content-Security-Policy", PAGE_POLICY)
        await send(message)

    return send_with_headers
