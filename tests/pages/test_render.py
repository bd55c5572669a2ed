"""Pages from templates: what is in a table never becomes markup or a control
sequence.
"""

import pyarrow as pa

import seepage as sp
from seepage.pages.render import render_page

ESCAPES = "\x1b[2J\x9b31m\x07"


def test_control_characters_are_printed_as_such(tmp_path):
    page = render_page("questionnaire.html", ESCAPES)
    assert "<title>\\x1b[2J\\x9b31m\\x07</title>" in page


def test_no_escape_sequence_of_a_name_is_in_a_page(tmp_path):
    name = f"sex{ESCAPES}"
    table = pa.table({name: ["f", "m"] * 100, "job": ["a\x1b[2J", "b", "b", "b"] * 50})
    sp.analyse(table, 1.0, limit=2.0).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "\\x1b[2J" in page
    assert not {"\x1b", "\x07", "\x9b"} & set(page)
