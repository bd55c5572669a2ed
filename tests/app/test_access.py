"""Who may speak to the app: this machine's browser, once it has shown the token."""

import pytest

from seepage.app.access import HEADERS


def test_the_token_becomes_a_strict_cookie(app, visitor):
    status, headers, _ = visitor.enter(app.address)
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    port = app.address.split(":")[2].split("/")[0]
    assert cookie.startswith(f"seepage_{port}=")
    assert app.address.partition("token=")[2] not in cookie


def test_the_token_works_once(app, visitor, guest):
    status, _, text = visitor.enter(app.address)
    assert status == 403
    assert "used already" in text
    assert guest.send("GET", "/")[0] == 303


@pytest.mark.parametrize("token", ["", "x", "%00", "ä" * 40])
def test_another_token_is_refused(app, visitor, token):
    wrong = f"{app.address.partition('=')[0]}={token}".encode("ascii", "ignore")
    assert visitor.enter(wrong.decode())[0] == 403


def test_nothing_is_shown_without_the_cookie(visitor):
    for path in ("/", "/static/app.js", "/s/x/data", "/s/x/files/1/plan.zip"):
        status, _, text = visitor.send("GET", path)
        assert status == 403
        assert "works once" in text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_of_another_site_comes_again_as_ones_own(app, visitor, site):
    """A browser keeps the cookie back at first; without one nothing more is shown."""
    headers = {"Sec-Fetch-Site": site}
    status, _, text = visitor.send("GET", "/", Cookie=None, **headers)
    assert (status, 'content="0;url=/"' in text) == (200, True)
    assert visitor.send("GET", "/s/x/data", **headers)[0] == 403
    assert visitor.send("POST", "/", **headers)[0] == 403
    assert visitor.send("GET", "/", **{"Sec-Fetch-Site": "same-origin"})[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""]
)
def test_another_host_is_refused(guest, host):
    """As of a site that rebinds its own name to this machine."""
    assert guest.send("GET", "/", Host=host)[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", None, ""])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_another_origin_changes_nothing(guest, origin, method):
    study = guest.study()
    status, _, text = guest.send(
        method, f"{study}/dataset", "name=survey", Origin=origin
    )
    assert status == 403
    assert "own pages" in text
    assert "survey" not in guest.send("GET", f"{study}/columns")[2]


def test_every_answer_has_the_headers(app, visitor, guest):
    answers = [
        visitor.send("GET", "/"),
        guest.send("GET", f"{guest.study()}/data"),
        guest.send("GET", "/static/app.css"),
        guest.send("GET", "/nowhere"),
    ]
    for _, headers, _ in answers:
        for name, value in HEADERS.items():
            assert headers[name.lower()] == value
        assert "unsafe" not in headers["content-security-policy"]


def test_the_app_listens_on_this_machine_alone(app):
    assert app.address.startswith("http://127.0.0.1:")
