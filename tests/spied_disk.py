"""A disk that tells what SQLite writes and synchronises, and that can fail.

SQLite reaches files through a virtual file system [sqlite.org/vfs.html].  `SpiedDisk`
makes a copy of the default one the default, whose writes and synchronisations call
Python.  No code of the package knows of it.
"""

import _sqlite3
import ctypes
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_int64, c_void_p

SQLITE_FULL = 13
SQLITE_IOERR_FSYNC = 1034

OPEN_MAIN_DB = 0x100
OPEN_WAL = 0x80000

OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
SYNC = CFUNCTYPE(c_int, c_void_p, c_int)

POINTERS = (
    *("xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize", "xLock"),
    *("xUnlock", "xCheckReservedLock", "xFileControl", "xSectorSize"),
    *("xDeviceCharacteristics", "xShmMap", "xShmLock", "xShmBarrier", "xShmUnmap"),
    *("xFetch", "xUnfetch"),
)


class Methods(ctypes.Structure):
    _fields_ = [("iVersion", c_int), *((name, c_void_p) for name in POINTERS)]


class FileSystem(ctypes.Structure):
    _fields_ = [
        ("iVersion", c_int),
        ("szOsFile", c_int),
        ("mxPathname", c_int),
        ("pNext", c_void_p),
        ("zName", c_char_p),
        ("pAppData", c_void_p),
        ("xOpen", c_void_p),
        ("others", c_void_p * 15),
    ]


def library():
    """Return the SQLite library that Python has loaded; None if it is hidden."""
    try:
        sqlite = ctypes.CDLL(_sqlite3.__file__)
        sqlite.sqlite3_vfs_find.restype = POINTER(FileSystem)
    except (AttributeError, OSError):
        return None
    return sqlite


class SpiedDisk:
    """Records ("write", kind) and ("sync", kind), kind "database", "log" or "other".

    Attributes
    ----------
    events
        What happened, in order; a synchronisation when it has ended.
    may_sync
        Synchronisations of the log wait until it is set.
    error
        What writes and synchronisations of the log return, by "write" and "sync".
    """

    def __init__(self, sqlite):
        self._sqlite = sqlite
        self._default = sqlite.sqlite3_vfs_find(None)
        self._kept = []
        self._kinds = {}
        self.events = []
        self.error = {}
        self.may_sync = threading.Event()
        self.may_sync.set()
        self._copy = FileSystem.from_buffer_copy(self._default.contents)
        self._copy.zName = b"spied"
        self._open = OPEN(self._default.contents.xOpen)
        self._callback = OPEN(self._opened)
        self._copy.xOpen = ctypes.cast(self._callback, c_void_p)

    def __enter__(self):
        assert self._sqlite.sqlite3_vfs_register(byref(self._copy), 1) == 0
        return self

    def __exit__(self, *_):
        self.may_sync.set()
        self._sqlite.sqlite3_vfs_unregister(byref(self._copy))
        self._sqlite.sqlite3_vfs_register(self._default, 1)

    def _opened(self, system, name, file, flags, out):
        result = self._open(system, name, file, flags, out)
        if result == 0:
            kind = "log" if flags & OPEN_WAL else "other"
            self._kinds[file] = "database" if flags & OPEN_MAIN_DB else kind
            self._spy(ctypes.cast(file, POINTER(POINTER(Methods))))
        return result

    def _spy(self, file):
        methods = Methods.from_buffer_copy(file.contents.contents)
        write = WRITE(methods.xWrite)
        sync = SYNC(methods.xSync)

        def spied_write(address, content, size, offset):
            kind = self._kinds[address]
            if kind == "log" and "write" in self.error:
                return self.error["write"]
            self.events.append(("write", kind))
            return write(address, content, size, offset)

        def spied_sync(address, flags):
            kind = self._kinds[address]
            if kind == "log":
                self.may_sync.wait(20)
                if "sync" in self.error:
                    return self.error["sync"]
            result = sync(address, flags)
            self.events.append(("sync", kind))
            return result

        callbacks = WRITE(spied_write), SYNC(spied_sync)
        methods.xWrite, methods.xSync = (ctypes.cast(c, c_void_p) for c in callbacks)
        self._kept.append((methods, callbacks))
        file[0] = ctypes.pointer(methods)
