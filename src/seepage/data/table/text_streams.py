"""Text files and pipes as streams of UTF-8: decompressed, decoded, runs of blanks made one."""

import codecs
import csv
import io
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

START = 2**18
GZIP = b"\x1f\x8b"
BLOCK = 2**23
"""A header or record must not have more bytes."""

MARK = codecs.BOM_UTF8
QUOTED = re.compile(rb'((?<![^ \r\n])"[^"]*(?:""[^"]*)*(?:"|\Z))')
"""A quoted field where blanks delimit: elsewhere than at its beginning a quote has no meaning."""

NO_TEXT = b"\xff"
"""What no text in UTF-8 contains."""


def open_text(file: Path, encoding: str = "utf-8") -> pa.NativeFile:
    """Return a text file or pipe as a stream of UTF-8, decompressed if it is gzipped."""
    opened = file.open("rb")
    first = opened.read(len(GZIP))
    if file.is_fifo():
        source: Any = join(first, opened)
    else:
        opened.close()
        source = str(file)
    stream = pa.input_stream(source, compression="gzip" if first == GZIP else None)
    return pa.transcoding_input_stream(stream, encoding, "utf-8")


def join(start: bytes, stream: io.BufferedReader) -> io.BufferedReader:
    """Return the bytes of a stream that were read already, and then the rest of it."""
    return io.BufferedReader(_Joined(start, stream), START)


def single_blanks(stream: Any, skip_lines: int) -> io.BufferedReader:
    """Return a text with runs of blanks replaced by one and those at line ends removed.

    What is quoted stays as it is, and so do the lines that are skipped.
    """
    return io.BufferedReader(_SingleBlanks(io.BufferedReader(stream, START), skip_lines), START)


def with_single_blanks(text: str) -> str:
    """Return lines as `single_blanks` does."""
    return _single_blanks(_by_quotes(text.encode())).decode()


class _Changed(io.RawIOBase):
    """A stream made of another one, and closed with it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Return True: this is a stream to read from."""
        return True

    def close(self) -> None:
        """Close both."""
        self._stream.close()
        super().close()


class _Joined(_Changed):
    def __init__(self, start: bytes, stream: io.BufferedReader) -> None:
        super().__init__(stream)
        self._start = io.BytesIO(start)

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes, 0 at the end."""
        return self._start.readinto(buffer) or self._stream.readinto1(buffer)


class _SingleBlanks(_Changed):
    def __init__(self, stream: io.BufferedReader, skip_lines: int) -> None:
        super().__init__(stream)
        self._ready = b"".join(stream.readline() for _ in range(skip_lines))
        self._cut_line = b"" if skip_lines else stream.read(len(MARK)).removeprefix(MARK)

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes, 0 at the end."""
        while not self._ready:
            chunk = self._stream.read(START)
            parts = _by_quotes(self._cut_line + chunk)
            self._cut_line = _cut_off_last_line(parts) if chunk else b""
            self._ready = _single_blanks(parts)
            if not chunk:
                break
            if len(self._cut_line) > BLOCK:
                raise csv.Error(f"a record has more than {BLOCK:,} bytes; is a quote not closed?")
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _by_quotes(text: bytes) -> list[bytes]:
    """Return the parts of a text, by turns outside quotes and quoted."""
    return QUOTED.split(text) if b'"' in text else [text]


def _cut_off_last_line(parts: list[bytes]) -> bytes:
    """Remove what follows the last line end outside quotes, and return it.

    A carriage return at the very end does not count: the rest of the line end may follow.
    """
    for place in range(len(parts) - 1, -1, -2):
        text = parts[place]
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        if end:
            last = b"".join([text[end:], *parts[place + 1 :]])
            parts[place:] = [text[:end]]
            return last
    last = b"".join(parts)
    parts[:] = [b""]
    return last


def _single_blanks(parts: list[bytes]) -> bytes:
    """Return lines with single blanks outside quotes."""
    if any(NO_TEXT in part for part in parts):
        b"".join(parts).decode()
    lines = NO_TEXT.join(parts[::2]).replace(b"\r\n", b"\n")
    while b"  " in lines:
        lines = lines.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        lines = lines.replace(b" " + end, end).replace(end + b" ", end)
    parts[::2] = lines.strip(b" ").split(NO_TEXT)
    return b"".join(parts)
