"""The command and the Python that the app shows do what the app did."""

import shlex

import pytest

from command import run
from seepage.app.equivalent import equivalent_command, equivalent_python

KEYWORDS = {
    "columns": ("ill", "my age", "sex"),
    "person": "id",
    "bins": {"my age": [0.0, 18.0, 120.0], "sex": "quantile:5"},
    "missing_markers": {"ill": ("refused", "?")},
    "limit": 2.00148,
    "confidence": 0.9975,
    "left_out": ("my age",),
    "public": ("sex",),
    "precision": 0.03,
    "largest": 2,
    "never": (("ill", "my age"),),
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

    monkeypatch.setattr("seepage.workflow.within_limits.design", record)
    monkeypatch.setattr("seepage.design", record, raising=False)
    return calls


def plain(value):
    """Return lists for tuples, so that both ways of giving names are equal."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def test_the_command_gives_the_same_keywords(design):
    words = shlex.split(equivalent_command("people.csv", KEYWORDS))
    assert words[:2] == ["seepage", "design"]
    with pytest.raises(CalledError):
        run(*words[1:])
    ((data, keywords),) = design
    keywords.pop("progress")
    assert keywords["missing_markers"].pop("*") == []
    assert data == "people.csv"
    assert plain(keywords) == plain(KEYWORDS)


def test_the_python_gives_the_same_keywords(design):
    source = equivalent_python("people.csv", KEYWORDS)
    with pytest.raises(CalledError):
        exec(source, {})
    assert design == [("people.csv", KEYWORDS)]
