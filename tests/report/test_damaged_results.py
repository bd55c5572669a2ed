"""Saved results that were edited or damaged: one InputError, never another exception."""

import base64
import contextlib
import copy
import json
import math
import zlib
from pathlib import Path

import numpy as np
import pytest

import seepage as sp
from command import run
from seepage import report as page
from seepage.errors import InputError

SAVED = Path(__file__).parent / "result.json"
JUNK = [None, True, -1, 7, 0.5, 1e308, "x", "NaN", "inf", "-inf", [], {}, [[]], [None], {"x": 1}]


def _saved():
    return json.loads(SAVED.read_text(encoding="utf-8"))


def _places(node, path=()):
    """Yield the path of every part of a value; of lists the first and the last entry."""
    yield path
    if isinstance(node, dict):
        for key, part in node.items():
            yield from _places(part, (*path, key))
    elif isinstance(node, list):
        for index in {0, len(node) - 1} if node else ():
            yield from _places(node[index], (*path, index))


def _edited(path, junk):
    result = _saved()
    node = result
    for key in path[:-1]:
        node = node[key]
    if junk is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = copy.deepcopy(junk)
    return result


def _read(result, place, budgets):
    """Load a result and write its page; only an InputError may be raised.

    Without pictures, which take half a second: see `test_extreme_numbers_are_drawn`.  Leakages at
    other budgets do not depend on totals and on what people experience.
    """
    place.write_text(json.dumps(result), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(InputError):
        patch.setattr(page, "_people_picture", lambda analysis: None)
        patch.setattr(page, "_totals_picture", lambda analysis: None)
        patch.setattr(page, "_about_picture", lambda analysis: None)
        if not budgets:
            patch.setattr(page, "leakage_grid", lambda matrix: [matrix])
        analysis = sp.Analysis.load(place)
        analysis._repr_html_()
        page.report_page(analysis)


MORE = ("exact", "merged", "worst", "sampled", "independent", "sum")
NOT_READ = {"cpl_deltas", "dpl", "worst", "direction", "unseen", "constant"}
NOT_READ |= {"strongest", "interval", "leaks", "verdict", "same", "tcpl"}
PLACES = [
    path for path in _places(_saved()) if path and not NOT_READ & {path[0], path[-1], *path[2:3]}
]


def test_no_place_is_left_out_that_is_read(tmp_path):
    place = tmp_path / "result.json"
    whole, edited = _saved(), _saved()
    for part in (edited, *edited["totals"].values()):
        for key in NOT_READ & part.keys():
            part[key] = {"x": 1}
    pages = []
    for result in (whole, edited):
        place.write_text(json.dumps(result), encoding="utf-8")
        pages.append(page.report_page(sp.Analysis.load(place)))
    assert edited != whole
    assert pages[0] == pages[1]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("key", sorted({path[0] for path in PLACES} - {"totals"}))
def test_any_edit_is_read_or_rejected(tmp_path, key, every):
    _edit_all([path for path in PLACES if path[0] == key], every, tmp_path)


@pytest.mark.parametrize(
    ("guarantee", "every"),
    [("witness", 6), *(pytest.param(n, 1, marks=pytest.mark.slow) for n in ("witness", *MORE))],
)
def test_any_edit_of_a_total_is_read_or_rejected(tmp_path, guarantee, every):
    _edit_all([path for path in PLACES if path[:2] == ("totals", guarantee)], every, tmp_path)


def _edit_all(paths, every, folder):
    """Put each `every`th junk into each place, other ones into the next; leave each place out."""
    for number, path in enumerate(paths):
        for junk in [..., *JUNK[number % every :: every]]:
            budgets = path[0] not in ("experienced", "totals")
            _read(_edited(path, junk), folder / "result.json", budgets)


def test_extreme_numbers_are_drawn(tmp_path):
    result = _saved()
    result["totals"]["independent"]["totals"][1:] = ["inf", 1e308]
    result["totals"]["witness"]["totals"][0] = 0.0
    result["experienced"]["quantiles"] = [[[0.0] * 3, [1e308] * 3, ["inf"] * 3]] * 3
    (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
    text = page.report_page(sp.Analysis.load(tmp_path / "result.json"))
    assert text.count('class="picture"') == 2
    assert "1000000000" in text


def _counts(change):
    result = _saved()
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(result["counts"])), dtype="<i8")
    changed = change(numbers.copy()).tobytes()
    return {**result, "counts": base64.b64encode(zlib.compress(changed)).decode("ascii")}


def _with(**more):
    return {**_saved(), **more}


def _with_total(**more):
    result = _saved()
    result["totals"]["exact"] |= more
    return result


def _with_totals(value, *names):
    result = _saved()
    for name in names or result["totals"]:
        result["totals"][name]["totals"] = [value] * len(result["attributes"])
    return result


def _with_kind(name, kind):
    result = _saved()
    result["totals"][name]["kind"] = kind
    return result


CUT = _saved()["counts"]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (_with(counts=CUT[:-8]), "counts do not fit|cannot be read"),
        (_with(counts=CUT[: len(CUT) // 2]), "counts do not fit|cannot be read"),
        (_with(counts=CUT[:-1]), "cannot be read"),
        (_with(counts=""), "counts do not fit"),
        (_with(counts="é" + CUT), "cannot be read"),
        (_with(counts="AAAA"), "cannot be read"),
        (_counts(lambda n: n[:-1]), "counts do not fit its domain"),
        (_counts(lambda n: np.append(n, 0)), "counts do not fit its domain"),
        (_counts(lambda n: np.zeros(1 << 20, dtype="<i8")), "counts do not fit its domain"),
        (_counts(lambda n: -n), "must be at least 0"),
        (_counts(lambda n: n * 0 + 2**62), "fit 64 bits"),
        (_counts(lambda n: n * 2), "do not match its digest"),
        (_with(records=3), "do not match its digest"),
        (_with(domain=[]), "at least one attribute"),
        (_with(attributes=["sex", "race", "sex"]), "not those of the domain"),
        (_with(epsilon=[1.0]), "one for each of the 3 attributes, got 1"),
        (_with(epsilon="1"), r"Expected `float \| array`, got `str` - at `\$.epsilon`"),
        (_with(epsilon=-1.0), ">= 0"),
        (_with(view="all"), r"at `\$.view`"),
        (_with(cpl=[[0.0] * 3] * 2), r"cpl has the shape \(2, 3\), not \(3, 3\)"),
        (_with(cpl=[[0.0] * 3, [0.0], [0.0] * 3]), r"all of one length - at `\$.cpl`"),
        (_with(cpl=[["NaN"] * 3] * 3), r"numbers >= 0 - at `\$.cpl`"),
        (_with(totals={"sure": _saved()["totals"]["exact"]}), "no guarantee 'sure'"),
        (_with(refuted={"worst": ["age"]}), "no attribute 'age'"),
        (_with(smoothing={"least": 1}), "Invalid enum value 'least'"),
        (_with_total(totals=[1.0, 2.0]), r"totals of exact has the shape \(2,\), not \(3,\)"),
        (_with_total(totals=[1.0, 2.0, None]), "Expected numbers >= 0"),
        (_with_total(deltas=[0.0, 0.0, 2.0]), "<= 1"),
        (_with_total(kind="proven"), "Invalid enum value 'proven'"),
        (_with_totals(0.01), "was edited: the .* total of 'sex' must be at least "),
        (_with_totals(1.01, "exact"), "was edited: the exact total"),
        (_with_totals(2.99, "worst"), "was edited: the worst total of 'sex' must be at least 3"),
        (_with_totals(1.0, "independent"), "was edited: the independent total"),
        (_with_kind("independent", "certified"), "independent totals are assumed, not certified"),
        (_with_total(evidence=[None]), r"evidence of exact has the shape \(1,\)"),
    ],
)
def test_an_edited_result_is_rejected_in_one_line(tmp_path, result, message):
    (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        sp.Analysis.load(tmp_path / "result.json")
    done = run("report", "result.json", "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "page.html").exists()


def test_infinite_evidence_is_loaded_as_numbers(tmp_path):
    result = _saved()
    found = result["totals"]["witness"]["evidence"][0]
    found |= {"own": "inf", "held_out": "-inf", "value": "inf"}
    (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
    loaded = sp.Analysis.load(tmp_path / "result.json").totals["witness"].evidence[0]
    assert (loaded.own, loaded.held_out, loaded.value) == (math.inf, -math.inf, math.inf)
    assert not loaded.beyond_own


@pytest.mark.parametrize("size", [0, 1, 100, 2000, -1])
def test_a_truncated_file_is_rejected(tmp_path, size):
    (tmp_path / "result.json").write_bytes(SAVED.read_bytes().rstrip()[:size])
    done = run("report", "result.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "is no JSON" in done.stderr
    assert "; an analysis is written as JSON" in done.stderr
    assert len(done.stderr.splitlines()) == 1
