"""Files that the browser sends: the raw body of a request, streamed to a private
folder.

The name that a file has in the browser is shown, and never opened.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from seepage._core.errors import InputError

MAX_BYTES = 2 << 30
"""Maximum size of a file that is dropped."""

MAX_NAME = 255
"""Maximum number of characters of a file's name."""


class ReceivedFile(NamedTuple):
    """A file that arrived whole: its size, and the SHA-256 of its bytes."""

    size: int
    digest: str


def uploaded_name(request: Request) -> str:
    """Return the last part of the name that an uploaded file has in the browser."""
    name = request.query_params.get("name", "")
    name = name.replace("\\", "/").rpartition("/")[2]
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise InputError(
            f"a file must have a name of at most {MAX_NAME} printable characters"
        )
    return name


async def receive_file(request: Request, path: Path) -> ReceivedFile:
    """Write an upload, the raw body of a request, to a file, whole or not at all."""
    if _announced_size(request) > MAX_BYTES:
        raise _too_large()
    part = path.with_name(f"{path.name}.part")
    digest = hashlib.sha256()
    size = 0
    try:
        with part.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_BYTES:
                    raise _too_large()
                digest.update(chunk)
                await run_in_threadpool(file.write, chunk)
        if not size:
            raise InputError("the file is empty")
        part.replace(path)
    except ClientDisconnect:
        raise InputError("the file did not arrive whole") from None
    except OSError as problem:
        raise InputError(f"the file could not be kept: {problem.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return ReceivedFile(size, digest.hexdigest())


def _announced_size(request: Request) -> int:
    """Return the size that an upload announces; 0 if it announces none."""
    text = request.headers.get("content-length", "")
    if not text.isdecimal():
        return 0
    return int(text)


def _too_large() -> InputError:
    """Return the error for an upload that is too large."""
    return InputError(
        "a file must have at most 2 GB; name a larger one where you start the app"
    )
