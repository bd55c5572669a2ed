"""What the second step finds out about columns, and what decisions change at once."""

import numpy as np
import pyarrow as pa
import pytest
from app_steps import table_file

from seepage.app.column_choices import (
    ColumnChoice,
    answers_by_value,
    reading_keywords,
)
from seepage.app.column_work import SHOWN_VALUES, check_columns, reread_column


def checked(path):
    def progress(done, total):
        assert done <= total

    return check_columns(str(path), [], {}, path.parent, progress=progress)


@pytest.fixture
def towns(tmp_path):
    rng = np.random.default_rng(4)
    shares = [0.4, 0.3, 0.2, 0.1]
    columns = {
        "town": np.array(["a", "b", "c", "d"])[rng.choice(4, 6_000, p=shares)],
        "age": rng.integers(0, 90, 6_000),
    }
    return table_file(tmp_path, pa.table(columns))


def test_a_long_table_is_counted_whole(tmp_path):
    """Its kinds are told from the first records, and the page says from how many."""
    rows = 140_000
    ill = np.array(["no", "yes"])[np.random.default_rng(1).integers(0, 2, rows)]
    check = checked(table_file(tmp_path, pa.table({"ill": ill, "well": ill})))
    assert check.records == rows
    assert 100_000 < check.checked < rows
    assert check.part < check.checked


def test_values_that_are_not_shown_are_counted(towns):
    town, age = checked(towns).columns
    assert ([value for value, _ in town.values], town.others) == (list("abcd"), 0)
    assert (len(age.values), age.others) == (SHOWN_VALUES, 90 - SHOWN_VALUES)


def test_merged_values_are_one_answer_at_once(towns):
    town, _ = checked(towns).columns
    merges = answers_by_value("abcd", {"c": "d", "d": "c"}, has_others=False)
    keywords = reading_keywords({"town": ColumnChoice("ask", merges=merges)})
    reread = reread_column(str(towns), town, keywords, towns.parent)
    shares = dict(reread.asked.answers)
    assert list(shares) == ["a", "b", "c or d"]
    before = dict(town.asked.answers)
    assert shares["c or d"] == pytest.approx(before["c"] + before["d"])
