"""Which file systems are refused for a database."""

from pathlib import Path

import pytest

from report_examples import PLAN
from seepage._core.errors import InputError
from seepage.app import local_folder
from seepage.app.local_folder import Mount, check_local, file_system_of, read_mounts
from seepage.app.report_store import ReportStore

MOUNTINFO = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:25 / /proc rw - proc proc rw
41 22 0:40 / /srv/data rw,relatime shared:9 master:2 - nfs4 nas:/export rw
42 41 254:1 / /srv/data/local rw - xfs /dev/vdb rw
43 22 0:41 / /mnt/my\040share rw - cifs //nas/x rw
44 22 0:42 / /home/ada/remote rw - fuse.sshfs ada@host: rw
45 22 0:43 / /home/ada/stick rw - fuseblk /dev/sdb1 rw
46 42 0:44 / /srv/data/local rw - 9p host rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/srv", "ext4"),
        ("/srv/database", "ext4"),
        ("/srv/data", "nfs4"),
        ("/srv/data/a/b", "nfs4"),
        ("/srv/data/local/x", "9p"),
        ("/mnt/my share/x", "cifs"),
        ("/home/ada/remote", "fuse.sshfs"),
        ("/home/ada/stick", "fuseblk"),
    ],
)
def test_the_longest_mount_decides_and_the_last_of_equal_ones(folder, kind):
    assert file_system_of(Path(folder), read_mounts(MOUNTINFO)) == kind


def test_a_line_of_another_form_is_ignored():
    assert read_mounts("nonsense\n\n22 1 0:1 / /a - ext4 x rw\n") == [
        Mount("/a", "ext4")
    ]


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p", "virtiofs"])
def test_a_network_file_system_is_refused(tmp_path, monkeypatch, kind):
    folder = tmp_path / "share"
    folder.mkdir()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / {folder.resolve()} rw - {kind} x rw\n")
    monkeypatch.setattr(local_folder, "MOUNTS", mounts)
    check_local(tmp_path)
    with pytest.raises(InputError, match=f"must be on a local disk, .* is on {kind}"):
        ReportStore(PLAN, folder / "reports.db")
    assert not list(folder.iterdir())
