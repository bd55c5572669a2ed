"""Every public callable checks its arguments: junk raises a SeepageError, or is
fine.
"""

import warnings

import pytest

import junk_arguments
from junk_arguments import JUNK, call, callables, examples
from seepage._core.errors import SeepageWarning


def wrong(name):
    """Return what came out of a callable, beside answers and our own errors."""
    found = []
    for key in callables()[name]:
        for kind, value in JUNK.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    warnings.simplefilter(
                        "ignore", SeepageWarning
                    )  # ours, like our errors
                    call(name, key, value)
            except Exception as problem:
                found.append(f"{key}={kind}: {problem!r:.150}")
    return found


@pytest.mark.parametrize("name", callables())
def test_junk_raises_nothing_but_our_errors(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = wrong(name)
    assert not found, "\n".join(found)


def test_the_registry_of_callables_is_not_empty():
    assert sum(map(len, callables().values())) > 350
    assert {"leakage_bound", "Plan.perturb", "PairCounts.channel", "GRR"} <= set(
        callables()
    )
    assert {"LeakageMatrix.__getitem__", "Domain.__getitem__"} <= set(callables())
    assert len(examples()) > 30


@pytest.mark.parametrize(
    ("unchecked", "complaint"),
    [
        (lambda name: name.upper(), "AttributeError"),
        (
            lambda name: warnings.warn("odd", RuntimeWarning, stacklevel=2),
            "RuntimeWarning",
        ),
        (lambda name: _raise(f"{name!r}"[:400]), "dumps the argument"),
    ],
)
def test_unchecked_public_functions_are_found(unchecked, complaint, monkeypatch):
    monkeypatch.setattr(junk_arguments.sp, "registered", unchecked)
    monkeypatch.setattr(junk_arguments, "callables", lambda: {"registered": ["name"]})
    monkeypatch.setitem(globals(), "callables", junk_arguments.callables)
    assert any(complaint in line for line in wrong("registered"))


def _raise(text):
    raise junk_arguments.SeepageError(text)
