"""Published data sets that tests read, counted once in a process."""

import os
from functools import cache

import pytest

import seepage as sp

real_data = pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"), reason="SEEPAGE_DATA does not name the folder of the data"
)

pairs_of = cache(sp.load_pairs)
"""The pair counts of a data set by its name; they are immutable."""
