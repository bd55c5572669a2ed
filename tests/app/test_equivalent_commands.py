"""The command and the Python that the app shows do what the app did."""

import shlex

import pytest

from command import run
from seepage._core.odds import limit_as_typed
from seepage.app.equivalent_commands import plan_command, plan_python

KEYWORDS = {
    "columns": ("ill", "my age", "sex"),
    "person": "id",
    "bins": {"my age": [0.0, 18.0, 120.0], "sex": "quantile:5"},
    "missing_markers": {"ill": ("refused", "?")},
    "order": {"ill": ("no", "a bit, or so", "yes")},
    "limit": "7.4x",
    "looks": 20,
    "want": ("ill x my age",),
    "left_out": ("my age", "age, in years", 'a "nick" name', '"so", he said', " b"),
    "public": ("sex",),
    "precision": 0.03,
    "largest": 2,
    "never": (("ill", "my age"), ("age, in years", "sex")),
    "title": "Health 'o' \"survey\"; rm",
}


class CalledError(Exception):
    """Carries the keywords that a function was called with."""


@pytest.fixture
def design(monkeypatch):
    """Record what `design` is called with."""
    calls = []

    def record(data, **keywords):
        calls.append((data, keywords))
        raise CalledError

    # In this order: what is restored is what the name stood for at first.
    monkeypatch.setattr("seepage.design", record)
    monkeypatch.setattr("seepage.workflow.within_limits.design", record)
    return calls


def plain(value):
    """Return lists for tuples, so that both ways of giving names are equal."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def test_the_command_gives_the_same_keywords(design):
    words = shlex.split(plan_command("people.csv", KEYWORDS))
    assert words[:2] == ["seepage", "design"]
    with pytest.raises(CalledError):
        run(*words[1:])
    ((data, keywords),) = design
    keywords.pop("progress")
    assert keywords["missing_markers"].pop("*") == []
    assert data == "people.csv"
    keywords["limit"] = limit_as_typed(keywords["limit"])
    assert plain(keywords) == plain(KEYWORDS)


def test_the_python_gives_the_same_keywords(design):
    source = plan_python("people.csv", KEYWORDS)
    with pytest.raises(CalledError):
        exec(source, {})
    assert design == [("people.csv", KEYWORDS)]
