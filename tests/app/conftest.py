"""The app as it runs, a browser's requests to it, and a disk that is watched."""

import http.client
from urllib.parse import urlencode, urlsplit

import pytest

import seepage as sp
from spied_disk import SpiedDisk, library


class Visitor:
    """Requests as a browser sends them: with the cookie and the origin of the app."""

    def __init__(self, address):
        self.host = urlsplit(address).netloc
        self.cookie = ""

    def send(self, method, path, body=None, **headers):
        """Return status, headers and text of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        sent = {"Cookie": self.cookie, "Origin": f"http://{self.host}", **headers}
        sent = {name: value for name, value in sent.items() if value is not None}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def raw(self, method, path):
        """Return the bytes of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request(method, path, None, {"Cookie": self.cookie})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return content

    def enter(self, address):
        """Show the token, and keep the cookie."""
        parts = urlsplit(address)
        status, headers, text = self.send("GET", f"{parts.path}?{parts.query}")
        if status == 303:
            self.cookie = headers["set-cookie"].partition(";")[0]
        return status, headers, text

    def study(self):
        """Start a study; return its path."""
        _, headers, _ = self.send("GET", "/")
        return headers["location"].rpartition("/")[0]

    def post(self, path, **fields):
        kind = "application/x-www-form-urlencoded"
        return self.send("POST", path, urlencode(fields), **{"Content-Type": kind})


@pytest.fixture
def app(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with sp.open(browser=False) as running:
        yield running


@pytest.fixture
def visitor(app):
    """A browser that has not shown the token."""
    return Visitor(app.address)


@pytest.fixture
def guest(app):
    """A browser that was let in."""
    guest = Visitor(app.address)
    assert guest.enter(app.address)[0] == 303
    return guest


@pytest.fixture
def disk():
    """A disk that tells what SQLite does; opened before the database."""
    sqlite = library()
    if sqlite is None:
        pytest.skip("needs a SQLite library whose functions are visible")
    with SpiedDisk(sqlite) as spied:
        yield spied


@pytest.fixture
def visit(browser, app):
    """Open the app in a browser of its own; any error or refused answer is a fault."""
    trouble = []
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on(
        "console",
        lambda line: (
            trouble.append(line.text)
            if line.type == "error" and "422" not in line.text  # an entry not taken
            else None
        ),
    )
    page.on(
        "request",
        lambda request: (
            trouble.append(request.url)
            if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:"))
            else None
        ),
    )
    page.goto(app.address)
    yield page
    context.close()
    assert trouble == []
