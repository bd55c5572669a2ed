"""Published files: found plain or gzipped, rejected if altered, fetched from a real
server.
"""

import gzip
import hashlib
import http.server
import io
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from seepage._core.errors import InputError, TableError
from seepage.datasets.catalogue import DATASETS, dataset
from seepage.datasets.download import fetch
from seepage.datasets.published_file import PublishedFile

CONTENT = b"a,b\n1,2\n"
FILE = PublishedFile("folder/table.csv", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path))
    (tmp_path / "folder").mkdir()
    return tmp_path


def test_reads_plain_and_gzipped(folder):
    assert not FILE.locate().exists()
    (folder / "folder/table.csv.gz").write_bytes(gzip.compress(CONTENT))
    assert FILE.locate().name == "table.csv.gz"
    assert FILE.read() == CONTENT
    (folder / "folder/table.csv").write_bytes(CONTENT)
    assert FILE.locate().name == "table.csv"
    assert FILE.read() == CONTENT


def test_a_missing_file_raises(folder):
    with pytest.raises(
        TableError, match=r"folder/table.csv cannot be read: No such file"
    ):
        FILE.read()


def test_an_altered_file_raises(folder):
    (folder / "folder/table.csv").write_bytes(CONTENT + b"3,4\n")
    with pytest.raises(
        TableError, match=r"table.csv is not the published file: its sha256 must"
    ):
        FILE.read()


def test_a_truncated_gzip_raises(folder):
    (folder / "folder/table.csv.gz").write_bytes(gzip.compress(CONTENT * 99)[:-9])
    with pytest.raises(TableError, match=r"table.csv.gz is truncated"):
        FILE.read()


def test_a_damaged_gzip_raises(folder):
    packed = bytearray(gzip.compress(bytes(range(256)) * 99))
    packed[len(packed) // 2] ^= 255
    (folder / "folder/table.csv.gz").write_bytes(packed)
    with pytest.raises(
        TableError, match=r"table.csv.gz is truncated, damaged or not a gzip file"
    ):
        FILE.read()


def test_a_file_without_permission_raises(folder, monkeypatch):
    def deny(path):
        raise PermissionError(13, "Permission denied", str(path))

    (folder / "folder/table.csv").write_bytes(CONTENT)
    monkeypatch.setattr(Path, "read_bytes", deny)
    with pytest.raises(
        TableError, match=r"table.csv cannot be read: Permission denied"
    ):
        FILE.read()


def test_a_dataset_that_is_not_at_hand_says_where_it_was_looked_for(folder):
    place = folder / "celeba" / "list_attr_celeba.txt"
    with pytest.raises(TableError, match=f"there is no {place}; accept the agreement"):
        dataset("celeba").read()


def test_without_the_variable_the_cache_is_used(tmp_path, monkeypatch):
    monkeypatch.delenv("SEEPAGE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "seepage/folder").mkdir(parents=True)
    (tmp_path / "seepage/folder/table.csv").write_bytes(CONTENT)
    assert FILE.read() == CONTENT


@pytest.fixture
def server():
    """A local server whose answer to every path is a zip of the published file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside/table.csv", CONTENT)
        archive.writestr("broken.csv", b"other")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = packed.getvalue()
            if self.path == "/short":
                body = body[:40]
            self.send_response(404 if self.path == "/none" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=found.serve_forever, args=[0.01])
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.shutdown()
    thread.join()
    found.server_close()


def _known(server, path="/all", files=(FILE,)):
    return replace(dataset("adult"), files=files, archive=server + path)


def test_fetches_with_checksum_and_progress(folder, server):
    seen = []
    places = fetch(_known(server), lambda done, total: seen.append((done, total)))
    assert [place.read_bytes() for place in places] == [CONTENT]
    assert seen[-1][0] == seen[-1][1] > 0
    assert (
        fetch(_known("http://127.0.0.1:1")) == places
    )  # there already: nothing is asked


@pytest.mark.parametrize(
    ("path", "files", "message"),
    [
        (
            "/none",
            (FILE,),
            r"/none: the server answers 404; .* put them into .*folder$",
        ),
        ("/short", (FILE,), "truncated or not a zip"),
        (
            "/all",
            (PublishedFile("f/broken.csv", FILE.sha256),),
            "is not the published file",
        ),
        (
            "/all",
            (PublishedFile("f/absent.csv", FILE.sha256),),
            "does not contain absent.csv",
        ),
    ],
)
def test_a_download_with_another_checksum_raises(folder, server, path, files, message):
    with pytest.raises(TableError, match=message):
        fetch(_known(server, path, files))
    assert [place for place in folder.rglob("*") if place.is_file()] == []


def test_without_a_network_there_is_one_clear_line(folder):
    with pytest.raises(TableError) as raised:
        fetch(_known("http://127.0.0.1:1"))
    assert str(raised.value) == (
        "cannot download http://127.0.0.1:1/all: no connection; try again later, or "
        "take the files from https://archive.ics.uci.edu/dataset/2 and put them into "
        f"{folder / 'folder'}"
    )


def test_a_folder_that_is_a_file(folder, server, monkeypatch):
    (folder / "file").write_bytes(b"")
    monkeypatch.setenv("SEEPAGE_DATA", str(folder / "file"))
    with pytest.raises(
        TableError, match=r"cannot write '.*table.csv': Not a directory"
    ):
        fetch(_known(server))


def test_says_what_to_do_by_hand(folder):
    with pytest.raises(
        TableError, match=r"cannot be downloaded automatically.*accept the agree"
    ):
        fetch(dataset("celeba"))


def test_every_dataset_is_documented():
    assert len(DATASETS) >= 7
    for found in DATASETS.values():
        assert found.title
        assert found.licence
        assert found.citation
        if found.files:
            assert found.address.startswith("https://")
            assert found.archive or found.by_hand


def test_unknown_dataset_has_a_near_miss():
    with pytest.raises(InputError, match="did you mean 'celeba'"):
        dataset("celebA2")
