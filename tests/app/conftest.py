import pytest

from spied_disk import SpiedDisk, library


@pytest.fixture
def disk():
    """A disk that tells what SQLite does; opened before the database."""
    sqlite = library()
    if sqlite is None:
        pytest.skip("needs a SQLite library whose functions are visible")
    with SpiedDisk(sqlite) as spied:
        yield spied
