"""The work of the third step, and the page that it writes."""

from app_steps import table_file

import seepage as sp
from seepage.app.leak_work import ANALYSIS_PAGE, analyse_part, write_analysis_page


def no_progress(done, total):
    pass


def test_the_full_page_names_no_file_of_the_app(tmp_path):
    """Its next step is one of the app; the part that was analysed is soon removed."""
    folder = tmp_path / "private"
    folder.mkdir()
    names = ["coffee", "sleep", "income"]
    path = table_file(tmp_path, sp.make_survey(2_000, rng=1).select(names))
    found = analyse_part(str(path), names, {}, folder, progress=no_progress)
    assert found.questions == 3
    assert (
        write_analysis_page(folder, "people.csv", progress=no_progress) == ANALYSIS_PAGE
    )
    page = (folder / ANALYSIS_PAGE).read_text(encoding="utf-8")
    assert str(tmp_path) not in page
    assert "part.csv" not in page
    assert "<code>seepage open</code>" in page
    assert "analyse people.csv" in page
