"""The data of the reproduction, read once."""

import pytest

from seepage.study.reproduction.paper_data import Data


@pytest.fixture(scope="session")
def data():
    return Data()
