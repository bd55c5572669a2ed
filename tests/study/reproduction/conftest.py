"""The data of the reproduction, read once."""

import pytest

from real_data import pairs_of
from seepage.study.reproduction.paper_data import Data


class CountedOnce(Data):
    """The data, with pair counts that all tests of a process share."""

    def pairs(self, name):
        return pairs_of(name)


@pytest.fixture(scope="session")
def data():
    return CountedOnce()
