"""The data of the reproduction, read once, and the numbers of the committed run."""

import json
from pathlib import Path

import pytest

from real_data import pairs_of, records_of
from seepage.study.reproduction.paper_data import Data


class CountedOnce(Data):
    """The data, with pair counts and records that all tests of a process share."""

    @property
    def celeba(self):
        return records_of("celeba")


@pytest.fixture(scope="session")
def data():
    return CountedOnce(pairs_of)


@pytest.fixture(scope="session")
def expected():
    """The numbers of the full run that is committed, by item and name."""
    return json.loads(Path(__file__).with_name("expected.json").read_text())
