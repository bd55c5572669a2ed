"""Published data sets that tests read, read and counted once in a process."""

import os
from functools import cache

import pytest

import seepage as sp

real_data = pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"),
    reason="SEEPAGE_DATA does not name the folder of the data",
)

pairs_of = cache(sp.load_pairs)
"""The pair counts of a data set by its name; they are immutable."""

table_of = cache(lambda name: sp.dataset(name).read())
"""The records of a data set by its name, as an Arrow table."""

records_of = cache(lambda name: sp.Records.from_data(table_of(name)))
"""The distinct records of all columns of a data set by its name."""
