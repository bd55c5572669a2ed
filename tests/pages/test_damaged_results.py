"""Saved results that were edited or damaged: one InputError, never another
exception.
"""

import base64
import copy
import json
import math
import zlib
from pathlib import Path

import numpy as np
import pytest

import seepage as sp
from command import run
from seepage._core.errors import InputError
from seepage.analysis.analysis import sealed
from seepage.pages import analysis_page as page

SAVED = (Path(__file__).parent / "result.json").read_text(encoding="utf-8")
JUNK = [
    None,
    True,
    -1,
    7,
    0.5,
    1e308,
    "x",
    "NaN",
    "inf",
    "-inf",
    [],
    {},
    [[]],
    [None],
    {"x": 1},
]


def _saved():
    return json.loads(SAVED)


ORIGINAL = _saved()


def _places(node, path=()):
    """Yield the path of every part of a value; of lists the first and the last
    entry.
    """
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


PLACES = [path for path in _places(ORIGINAL) if path]


def _rejected(result, place):
    place.write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError):
        sp.Analysis.load(place)


@pytest.mark.parametrize("key", sorted({path[0] for path in PLACES}))
def test_any_edit_is_rejected(tmp_path, key):
    """Whatever stands in its place, and where it is left out."""
    for path in PLACES:
        if path[0] == key:
            for edited in (_edited(path, junk) for junk in [..., *JUNK]):
                if edited != ORIGINAL:
                    _rejected(edited, tmp_path / "result.json")


def test_extreme_numbers_are_drawn(tmp_path):
    result = _saved()
    result["totals"]["independent"]["totals"][1:] = ["inf", 1e308]
    result["totals"]["witness"]["totals"][0] = 0.0
    result["experienced"]["quantiles"] = [[[0.0] * 3, [1e308] * 3, ["inf"] * 3]] * 3
    (tmp_path / "result.json").write_text(json.dumps(sealed(result)), encoding="utf-8")
    text = page.report_page(sp.Analysis.load(tmp_path / "result.json"))
    assert text.count('class="picture"') == 1
    assert "at most 4.1 ×" in text
    assert "1000000000" in text


def _counts(change):
    result = _saved()
    numbers = np.frombuffer(
        zlib.decompress(base64.b64decode(result["counts"])), dtype="<i8"
    )
    changed = change(numbers.copy()).tobytes()
    return {
        **result,
        "counts": base64.b64encode(zlib.compress(changed)).decode("ascii"),
    }


def _with(**more):
    return {**_saved(), **more}


def _with_total(**more):
    result = _saved()
    result["totals"]["exact"] |= more
    return result


EDITED = "was edited, its content does not match its checksum; analyse anew"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (_with(counts=_saved()["counts"][:-8]), EDITED),
        (_counts(lambda n: np.zeros(1 << 20, dtype="<i8")), EDITED),
        (_counts(lambda n: n * 2), EDITED),
        (_with(records=3), EDITED),
        (_with(checksum="0" * 64), EDITED),
        (_with(epsilon="1"), r"Expected `float \| array`, got `str` - at `\$.epsilon`"),
        (_with(view="all"), r"at `\$.view`"),
        (_with(cpl=[[0.0] * 3, [0.0], [0.0] * 3]), r"all of one length - at `\$.cpl`"),
        (_with(cpl=[["NaN"] * 3] * 3), EDITED),
        (_with(totals={"sure": _saved()["totals"]["exact"]}), EDITED),
        (_with_total(totals=[1.0, 1.0, 1.0]), EDITED),
        (_with_total(kind="proven"), "Invalid enum value 'proven'"),
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


def test_totals_are_shown_as_saved_and_the_page_says_so(tmp_path):
    """The checksum guards against mistakes, not against forgery."""
    result = _saved()
    result["totals"]["exact"]["totals"] = [1.01] * len(result["attributes"])
    (tmp_path / "result.json").write_text(json.dumps(sealed(result)), encoding="utf-8")
    loaded = sp.Analysis.load(tmp_path / "result.json")
    assert set(loaded.totals["exact"].values.tolist()) == {1.01}
    text = page.report_page(loaded)
    assert f"saved by version {result['seepage']}, totals not recomputed" in text


def test_infinite_evidence_is_loaded_as_numbers(tmp_path):
    result = _saved()
    found = result["totals"]["witness"]["evidence"][0]
    found |= {"own": "inf", "held_out": "-inf", "value": "inf"}
    (tmp_path / "result.json").write_text(json.dumps(sealed(result)), encoding="utf-8")
    loaded = sp.Analysis.load(tmp_path / "result.json").totals["witness"].evidence[0]
    assert (loaded.own, loaded.held_out, loaded.value) == (
        math.inf,
        -math.inf,
        math.inf,
    )
    assert not loaded.beyond_own


@pytest.mark.parametrize("size", [0, 1, 100, 2000, -1])
def test_a_truncated_file_is_rejected(tmp_path, size):
    (tmp_path / "result.json").write_bytes(SAVED.encode().rstrip()[:size])
    done = run("report", "result.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "is no JSON" in done.stderr
    assert "; an analysis is written as JSON" in done.stderr
    assert len(done.stderr.splitlines()) == 1
